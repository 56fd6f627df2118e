package retry

import (
	"context"
	"iter"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// Shared holds the values that all calls to one service share. Any field may be zero.
type Shared struct {
	Breaker *breaker.Breaker // asked for permission before every attempt; nil admits all
	Budget  Budget           // limits the retries; nil means no limit
	Gate    capacity.Gate    // admits every attempt; the zero Gate admits all at once
}

// A Budget limits the retries of calls that share it. Package budget provides the usual
// one, a token bucket. Package job provides a budget for the units of a job. The methods
// of a Budget may be called by multiple goroutines simultaneously.
type Budget interface {
	// Withdraw takes one retry, which is never returned to the budget. If no retry is
	// left, Withdraw returns an error, which becomes the Cause of the call's [*Error].
	// The Reason of the [*Error] is the [Reason] that this error matches, or [ErrBudget]
	// if it matches none.
	Withdraw() error
	// Deposit reports that a call has succeeded.
	Deposit()
	// Left returns how many retries are left, or -1 if nothing limits them.
	Left() float64
}

// IsZero reports whether all fields of s are zero.
func (s *Shared) IsZero() bool {
	return s.Breaker == nil && s.Budget == nil && s.Gate == (capacity.Gate{})
}

// budget returns the budget, or nil if it is a nil *Budget. The methods of
// [budget.Budget] thus need no check for nil.
func (s *Shared) budget() Budget {
	if b, ok := s.Budget.(*budget.Budget); ok && b == nil {
		return nil
	}
	return s.Budget
}

// Do calls op until it succeeds, or until p allows no further attempt. It returns the
// value of the last attempt and, if the call failed, an error. The error is usually an
// [*Error] that wraps the error of the last attempt. An error on which the policy had no
// effect, such as a permanent error from the first attempt, is returned unchanged: see
// [Error].
//
// op must use the context that is passed to it. AttemptTimeout and Timeout end this
// context, and Do does not return before op has returned.
func Do[T any](ctx context.Context, p *Policy, op func(context.Context) (T, error)) (T, error) {
	return DoWith(ctx, p, Shared{}, op)
}

// DoWith is [Do] with a breaker and a budget that the call shares with others.
func DoWith[T any](ctx context.Context, p *Policy, s Shared, op func(context.Context) (T, error)) (T, error) {
	call := p.BeginWith(s)
	defer call.End()
	var value T
	err := call.Admit(ctx)
	for err == nil {
		if value, err = op(call.Attempt(ctx)); err == nil {
			call.Succeed()
			return value, nil
		}
		err = call.Next(ctx, err)
	}
	return value, err
}

// An Attempt is one iteration of [Policy.Attempts] or [Policy.AttemptsWith].
type Attempt struct {
	ctx    context.Context // the caller's
	own    context.Context // the attempt's
	call   *Call
	number int
	done   bool // the call has ended
}

// Context returns the context for the attempt.
func (a *Attempt) Context() context.Context { return a.own }

// Number returns the number of the attempt, starting at 1.
func (a *Attempt) Number() int { return a.number }

// Done ends the attempt with its error, and returns the error of the call. If
// err is nil or is not retried, the loop ends. Otherwise Done waits for the delay
// before the next attempt, returns err, and the loop continues.
func (a *Attempt) Done(err error) error {
	a.done = true
	if err == nil {
		a.call.Succeed()
		return nil
	}
	if last := a.call.Next(a.ctx, err); last != nil {
		return last
	}
	a.done = false
	return err
}

// Attempts returns an iterator over the attempts of one call under p, for code that is
// hard to move into a function:
//
//	var err error
//	for attempt := range policy.Attempts(ctx) {
//		err = attempt.Done(send(attempt.Context()))
//	}
//	return err
//
// An iteration that does not call [Attempt.Done] ends the loop.
func (p *Policy) Attempts(ctx context.Context) iter.Seq[*Attempt] {
	return func(yield func(*Attempt) bool) {
		call := p.Begin()
		defer call.End()
		call.attempts(ctx, yield)
	}
}

// AttemptsWith is [Policy.Attempts] with a breaker and a budget that the call shares with
// others. If the breaker refuses the first attempt, the loop has a single iteration, with
// the error of the call instead of an attempt:
//
//	var err error
//	for attempt, refused := range policy.AttemptsWith(ctx, shared) {
//		if refused != nil {
//			return refused
//		}
//		err = attempt.Done(send(attempt.Context()))
//	}
//	return err
//
// If the breaker refuses a later attempt, [Attempt.Done] returns the call's error.
func (p *Policy) AttemptsWith(ctx context.Context, s Shared) iter.Seq2[*Attempt, error] {
	return func(yield func(*Attempt, error) bool) {
		call := p.BeginWith(s)
		defer call.End()
		if err := call.Admit(ctx); err != nil {
			yield(nil, err)
			return
		}
		call.attempts(ctx, func(a *Attempt) bool { return yield(a, nil) })
	}
}

// attempts calls yield for each attempt of a call whose first one is admitted.
func (c *Call) attempts(ctx context.Context, yield func(*Attempt) bool) {
	for attempts := -1; c.state.attemptsMade() > attempts; {
		attempts = c.state.attemptsMade()
		a := Attempt{ctx: ctx, call: c, number: attempts + 1, own: c.Attempt(ctx)}
		if !yield(&a) || a.done {
			return
		}
	}
}
