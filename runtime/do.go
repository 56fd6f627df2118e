package retry

import (
	"context"
	"iter"
)

// Do calls op until it succeeds or p gives up, for those who write a policy as
// a literal. It returns what the last attempt returned, and the error as
// [Call.Next] does.
func Do[T any](ctx context.Context, p *Policy, op func(context.Context) (T, error)) (T, error) {
	return DoWith(ctx, p, nil, nil, op)
}

// DoWith is [Do] with a breaker and a budget that the call shares with others;
// either may be nil.
func DoWith[T any](ctx context.Context, p *Policy, breaker *Breaker, budget RetryBudget, op func(context.Context) (T, error)) (T, error) {
	call := p.BeginWith(breaker, 0, budget)
	defer call.End()
	var value T
	err := call.Next(ctx, nil)
	for err == nil {
		if value, err = op(call.Attempt(ctx)); err == nil {
			call.Succeed()
			return value, nil
		}
		err = call.Next(ctx, err)
	}
	return value, err
}

// An Attempt is one round of [Policy.Attempts].
type Attempt struct {
	ctx    context.Context // the caller's
	own    context.Context // the attempt's
	call   *Call
	number int
	result error
	done   bool
}

// Context returns the context for the attempt.
func (a *Attempt) Context() context.Context { return a.own }

// Number returns the number of the attempt, from 1.
func (a *Attempt) Number() int { return a.number }

// Done ends the attempt with its error, and returns the error of the call. Nil
// ends the loop; so does an error that is not retried. Otherwise Done has
// waited, and the loop goes on.
func (a *Attempt) Done(err error) error {
	a.done = true
	if err == nil {
		a.call.Succeed()
		return nil
	}
	if a.result = a.call.Next(a.ctx, err); a.result != nil {
		return a.result
	}
	a.done = false
	return err
}

// Attempts returns the attempts of one call under p, for code that does not fit
// a function:
//
//	var err error
//	for attempt := range policy.Attempts(ctx) {
//		err = attempt.Done(send(attempt.Context()))
//	}
//	return err
//
// A round that does not call Done ends the loop.
func (p *Policy) Attempts(ctx context.Context) iter.Seq[*Attempt] {
	return func(yield func(*Attempt) bool) {
		call := p.Begin()
		defer call.End()
		for attempts := -1; call.attempts > attempts; {
			attempts = call.attempts
			a := Attempt{ctx: ctx, call: &call, number: attempts + 1, own: call.Attempt(ctx)}
			if !yield(&a) || a.done {
				return
			}
		}
	}
}
