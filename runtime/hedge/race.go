package hedge

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// ErrRefused is returned by the function that makes the second request if the request is
// not admitted, for example because a limiter has no free permit. The race continues as
// if no second request had started.
var ErrRefused = errors.New("hedge: second request refused")

// errExited is the error of a second request that called [runtime.Goexit] or panicked.
var errExited = errors.New("hedge: the second request called runtime.Goexit")

// A Panic is the value with which a race panics in the caller's goroutine if the second
// request has panicked in its own.
type Panic struct {
	Value any    // the value with which the request panicked
	Stack []byte // the stack trace of its goroutine
}

// Error returns the text of the value and the stack trace.
func (p *Panic) Error() string {
	return fmt.Sprintf("hedge: the second request panicked: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns the value if it is an error, and nil otherwise.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// An Outcome describes which request provided the result of a race, and whether there was
// a second request.
type Outcome uint8

// The outcomes of a race.
const (
	// Single means that only the first request has a result.
	Single Outcome = iota
	// First means that the result of the first request is to be used. The second request
	// has returned as well, but its result is not used.
	First
	// Second means that the result of the second request is to be used. The result of
	// the first one, which failed or was canceled, is not used.
	Second
)

// A Race is one hedged request. The first request is made in the caller's goroutine. The
// second one, if it starts, has its own goroutine. As soon as one of them succeeds, the
// context of the other one ends. The race ends when both have returned. No goroutine
// outlives the race, and no argument is used after it.
//
// A Race is for generated code, and for code that has to release results. Other code
// calls [Do]. The zero Race is ready for one use:
//
//	var race struct { // in one allocation, for both requests
//		hedge.Race
//		rows *sql.Rows
//	}
//	race.Release = func() { race.rows.Close() }
//	defer race.Close()
//	first := race.Begin(ctx, h, func() {
//		race.Again(func(ctx context.Context) (err error) {
//			race.rows, err = db.QueryContext(ctx, query)
//			return err
//		})
//	})
//	rows, err := db.QueryContext(first, query)
//	if race.End(err) == hedge.Second {
//		rows, err = race.rows, nil
//	}
//
// All methods except Again must be called by the goroutine that has called Begin.
type Race struct {
	// Release, if not nil, is called if the second request has succeeded but its result
	// is not used. Release is called before End returns or, after a panic of the first
	// request, before Close returns.
	Release func()

	hedge  *Hedge // nil if nothing is hedged and nothing measured
	caller context.Context
	timer  *time.Timer // nil if no second request is planned
	delay  time.Duration
	began  time.Time // only for a quantile
	// quantile is the Quantile of the policy when the race began, or 0.
	quantile float64

	// over says that the first request has returned: no second one starts, and the
	// context of the first one has ended. It is set under mu.
	over atomic.Bool
	mu   sync.Mutex

	// The context of the first request: see firstContext. Once derived is true, the
	// others do not change.
	derived     atomic.Bool
	first       context.Context
	cancelFirst context.CancelCauseFunc

	// The second request. returned is nil until it starts, and closed when it has
	// returned err or panicked.
	returned     chan struct{}
	cancelSecond context.CancelCauseFunc
	err          error
	panicked     *Panic
}

// Begin begins the race and returns the context of the first request. If the request
// takes longer than the delay of h, again is called in a separate goroutine. It must call
// [Race.Again] and do nothing else. If h is nil, nothing is hedged.
func (r *Race) Begin(ctx context.Context, h *Hedge, again func()) context.Context {
	if h == nil || h.extra == nil {
		return ctx
	}
	r.hedge = h
	if r.quantile = h.policy.Load().Quantile; r.quantile > 0 {
		r.began = time.Now()
	}
	delay, ok := h.Delay()
	if !ok {
		return ctx
	}
	r.caller, r.delay = ctx, delay
	r.timer = time.AfterFunc(delay, again)
	return (*firstContext)(r)
}

// Again makes the second request by calling request. It does not call request if the race
// is over or the request would exceed the extra load that the policy admits. request
// returns nil if it has a result, and [ErrRefused] if it has made no request. If it panics,
// the race ends with that panic: see [Race.End].
func (r *Race) Again(request func(context.Context) error) {
	ctx, ok := r.start()
	if !ok {
		return
	}
	err := errExited
	defer func() { // also after runtime.Goexit
		if value := recover(); value != nil {
			r.panicked = &Panic{value, debug.Stack()}
		}
		r.finish(err)
	}()
	err = request(ctx)
}

// start returns the context of the second request, and whether it may start.
func (r *Race) start() (context.Context, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over.Load() || r.caller.Err() != nil {
		return nil, false
	}
	if r.hedge.extra.Withdraw() != nil {
		r.hedge.noBudget.Add(1)
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(r.caller)
	r.cancelSecond, r.returned = cancel, make(chan struct{})
	return secondContext{ctx}, true
}

// finish ends the second request, which returned err.
func (r *Race) finish(err error) {
	r.err = err
	if err == nil && !r.over.Load() {
		(*firstContext)(r).lose()
	}
	r.cancelSecond(nil)
	close(r.returned)
}

// End ends the race after the first request has returned err. If err is nil, End cancels
// the second request. Otherwise End waits for the result of the second request. If both
// have failed, the outcome is First. Either way, End returns when both have returned. If
// the second request has panicked, End panics with a [*Panic], so that the caller can
// recover as if it had made the request itself.
//
// Pass nil for an error that is a valid response, such as "not found", because the second
// request would get the same response.
func (r *Race) End(err error) Outcome {
	h := r.hedge
	if h == nil {
		return Single
	}
	if r.quantile > 0 {
		h.note(r, time.Since(r.began), err == nil)
	}
	outcome := Single
	if r.timer != nil {
		outcome = r.settle(err == nil)
	}
	if err == nil || outcome == Second {
		h.extra.Deposit()
	}
	return outcome
}

// Close ends a race whose first request has not returned, because it panicked or called
// [runtime.Goexit]. Close cancels the second request and waits until that request has
// returned. It panics as End does. After End, Close does nothing. Defer the call to Close.
func (r *Race) Close() {
	if r.timer != nil && !r.over.Load() {
		r.settle(true)
	}
}

// Err returns the error of the second request once the race has ended. It is nil if
// the second request succeeded or did not start.
func (r *Race) Err() error { return r.err }

// settle ends the first request, cancels the second one if the first has an answer, and
// waits for it otherwise.
func (r *Race) settle(answered bool) Outcome {
	r.timer.Stop()
	r.mu.Lock()
	r.over.Store(true)
	cancelFirst, cancelSecond, returned := r.cancelFirst, r.cancelSecond, r.returned
	r.mu.Unlock()
	if cancelFirst != nil {
		cancelFirst(nil)
	}
	if returned == nil {
		return Single // a function that the timer has started finds that the race is over
	}
	if answered {
		cancelSecond(ErrLost)
	}
	<-returned
	if answered && r.err == nil && r.Release != nil {
		r.Release()
	}
	outcome := r.hedge.count(r.err, answered)
	if r.panicked != nil {
		panic(r.panicked)
	}
	return outcome
}
