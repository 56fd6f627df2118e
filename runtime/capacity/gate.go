package capacity

import (
	"context"
	"time"
)

// A Gate combines the limits of one policy. It checks them in this order: the throttle,
// which decides at once, then the rate, then the limiter. Each field may be nil. Any
// number of goroutines may use a Gate.
type Gate struct {
	Throttle *Throttle
	Rate     *Rate
	Limiter  *Limiter
}

// A Pass is the admission of one attempt. It must be returned with [Gate.Leave] or
// [Gate.GiveBack]. The zero Pass admits nothing, and returning it does nothing.
type Pass struct {
	Queued time.Duration // how long the attempt has waited for the rate and the limiter

	admitted bool
	slot     int64     // of the rate
	began    time.Time // for an adaptive limiter only
}

// Admitted reports whether the pass must be returned.
func (p *Pass) Admitted() bool { return p.admitted }

// Enter admits an attempt, and waits if necessary. If it returns an error, there is no
// pass to return. The error is
//   - a [Refusal];
//   - ctx.Err(), if ctx has ended before or during the wait;
//   - context.DeadlineExceeded, if the wait would reach deadline or the deadline of ctx.
//     A zero deadline means no deadline.
//
// If the rate admits an attempt but the limiter does not, the rate's slot becomes free
// again, unless another attempt has taken a later slot. If Enter does not wait and the
// throttle is calm, it takes no lock, and it reads the clock only for a rate or an
// adaptive limiter.
func (g *Gate) Enter(ctx context.Context, deadline time.Time) (Pass, error) {
	if err := ctx.Err(); err != nil {
		return Pass{}, err
	}
	if t := g.Throttle; t != nil && !t.Admit() {
		return Pass{}, Refusal{By: ByThrottle, Name: t.Policy().Name}
	}
	p := Pass{admitted: true}
	ok := true
	if g.Rate != nil {
		p.slot, ok = g.Rate.allow()
	}
	if !ok || g.Limiter != nil && !g.Limiter.TryAcquire() {
		if err := g.wait(ctx, deadline, &p, ok); err != nil {
			return Pass{}, err
		}
	}
	if g.Limiter != nil && g.Limiter.Adaptive() {
		p.began = time.Now()
	}
	return p, nil
}

// wait waits for a slot of the rate, unless p has one, and for a permit of the limiter.
//
//go:noinline
func (g *Gate) wait(ctx context.Context, deadline time.Time, p *Pass, hasSlot bool) error {
	began := time.Now()
	if end, ok := ctx.Deadline(); ok && (deadline.IsZero() || end.Before(deadline)) {
		deadline = end
	}
	if !hasSlot {
		var err error
		if p.slot, err = g.Rate.wait(ctx, deadline); err != nil {
			return err
		}
	}
	if err := g.waitForPermit(ctx, deadline); err != nil {
		if g.Rate != nil {
			g.Rate.giveBack(p.slot)
		}
		return err
	}
	now := time.Now()
	p.Queued = now.Sub(began)
	if !deadline.IsZero() && !now.Before(deadline) {
		g.GiveBack(*p)
		return context.DeadlineExceeded
	}
	return nil
}

// waitForPermit takes a permit of the limiter, if there is one.
func (g *Gate) waitForPermit(ctx context.Context, deadline time.Time) error {
	if g.Limiter == nil || g.Limiter.TryAcquire() {
		return nil
	}
	if !deadline.IsZero() && time.Until(deadline) < g.Limiter.Policy().MaxWait {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	return g.Limiter.wait(ctx)
}

// TryEnter tries to admit the second request of a hedged attempt without waiting, and
// reports whether the request was admitted. No second request is admitted while the
// throttle refuses any attempts. A second request that is not admitted does not count as
// a refusal, because the caller did not ask for it.
func (g *Gate) TryEnter() (Pass, bool) {
	if g.Throttle != nil && g.Throttle.Share() > 0 {
		return Pass{}, false
	}
	p := Pass{admitted: true}
	if g.Rate != nil {
		var ok bool
		if p.slot, ok = g.Rate.allow(); !ok {
			return Pass{}, false
		}
	}
	if g.Limiter != nil {
		if !g.Limiter.TryAcquire() {
			if g.Rate != nil {
				g.Rate.giveBack(p.slot)
			}
			return Pass{}, false
		}
		if g.Limiter.Adaptive() {
			p.began = time.Now()
		}
	}
	return p, true
}

// Leave returns the pass of an attempt that has ended, and reports the attempt's samples
// to the limiter and the throttle.
func (g *Gate) Leave(p Pass, limiter, throttle Sample) {
	if !p.admitted {
		return
	}
	if g.Limiter != nil {
		g.Limiter.Done(p.began, limiter)
	}
	if g.Throttle != nil {
		g.Throttle.Report(throttle)
	}
}

// GiveBack returns the pass of an attempt that was admitted but does not start, for
// example because a breaker has opened in the meantime. The rate's slot becomes free
// again, unless another attempt has taken a later slot.
func (g *Gate) GiveBack(p Pass) {
	if !p.admitted {
		return
	}
	if g.Limiter != nil {
		g.Limiter.Release()
	}
	if g.Rate != nil {
		g.Rate.giveBack(p.slot)
	}
}
