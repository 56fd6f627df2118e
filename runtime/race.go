package retry

import (
	"context"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// A Race is a hedged attempt of a call, for generated code: see [Call.Race]. Hand-written
// code uses package hedge inside [Do].
type Race struct {
	// Release, if not nil, is called if the second request has succeeded but its result
	// is not used. This includes the case where the first request has panicked.
	Release func()

	race    hedge.Race
	gate    capacity.Gate
	breaker *breaker.Breaker
}

// Race begins an attempt that makes a second request if the first one is slow. It returns
// the context for the first request: see [Call.Attempt]. again is called in a separate
// goroutine for the second request. It must call [Race.Again] and do nothing else. Call
// [Call.Settle] after the first request. If the first request panics, [Call.End] ends the
// race. If h is nil, nothing is hedged.
func (c *Call) Race(ctx context.Context, r *Race, h *hedge.Hedge, again func()) context.Context {
	r.gate, r.breaker, c.race = c.gate, c.breaker, r
	r.race.Release = r.Release
	return r.race.Begin(c.Attempt(ctx), h, again)
}

// Again makes the second request by calling request. It does not call request if the race
// is over, if the request would exceed the extra load of the hedge, if the breaker is not
// closed, or if the gate does not admit the request at once. A second request is never
// used to probe a half-open breaker, because the breaker would learn nothing more from
// it.
func (r *Race) Again(request func(context.Context) error) {
	r.race.Again(func(ctx context.Context) error {
		if r.breaker != nil && !r.breaker.IsClosed() {
			return hedge.ErrRefused
		}
		pass, ok := r.gate.TryEnter()
		if !ok {
			return hedge.ErrRefused
		}
		sample := capacity.Neutral // also after a panic, and for an error, which may come fast
		defer func() { r.gate.Leave(pass, sample, sample) }()
		err := request(ctx)
		if err == nil {
			sample = capacity.Success
		}
		return err
	})
}

// Settle ends the race of an attempt after the first request has returned err. It waits
// until the second request has returned, and reports whose result the attempt uses. If
// the first request has succeeded or its error is permanent, Settle cancels the second
// request. After other errors, the second request may still succeed. If a second request
// was made, Settle reports an [EventHedge]. ctx is the caller's context.
func (c *Call) Settle(ctx context.Context, err error) hedge.Outcome {
	r, failure := c.race, err
	c.race = nil
	if err != nil {
		f := Failure{Err: err}
		if f.classify(c.policy); f.verdict == permanentError || f.verdict == escalatedError {
			failure = nil // an answer, such as "not found", which the second request would get as well
		}
	}
	outcome := r.race.End(failure)
	if outcome != hedge.Single {
		c.reportHedge(ctx, outcome, r.race.Err())
	}
	return outcome
}

// reportHedge reports a second request that has returned err.
func (c *Call) reportHedge(ctx context.Context, outcome hedge.Outcome, err error) {
	observe := observer(ctx)
	if observe == nil {
		return
	}
	e := c.event(&Failure{}, EventHedge)
	e.Attempt++ // the attempt has not ended
	e.Won = outcome == hedge.Second
	if err != nil {
		f := Failure{Err: err, policy: c.policy, facts: c.policy.inspect(err)}
		e.Err, e.Class = unmark(err), f.Class()
	}
	observe(ctx, e)
}
