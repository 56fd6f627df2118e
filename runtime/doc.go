// Package retry is the runtime of the code that retrygen generates. It decides
// after a failed attempt whether, when and why to try again.
//
// A generated wrapper owns the typed values and the loop. This package sees a
// context and an error:
//
//	user, err := s.next.Get(ctx, id)
//	if err == nil {
//		return user, nil
//	}
//	call := policyRead.Begin()
//	for {
//		if err = call.Next(ctx, err); err != nil {
//			return user, err
//		}
//		if user, err = s.next.Get(call.Attempt(ctx), id); err == nil {
//			return user, nil
//		}
//	}
//
// Without the generator, [Do] and [DoWith] call a function under a [Policy]
// that is written as a literal, and [Policy.Attempts] and [Policy.AttemptsWith]
// drive a loop. Package httpretry retries HTTP requests; package job runs the units
// of a job.
//
// # The decision
//
// After a failed attempt [Call.Next] checks, in this order:
//
//  1. Has the caller's context ended, or has its deadline passed?
//     [ErrCanceled], [ErrDeadline]
//  2. Is the error retryable (see [Policy.Retries])? [ErrPermanent], [ErrUnclassified],
//     [ErrEscalated]
//  3. Is this call part of an attempt that is itself a retry (see
//     [AttemptNumber])? Then the outer call retries. Or is its context one of
//     [WithoutRetries]? [ErrNested], [ErrWithoutRetries]
//  4. Are attempts left in the schedule for the class of the error? [ErrAttempts]
//     If the call is stored, were too many of them lost with their process?
//     [ErrLost]
//     Can its arguments be read again (see [Call.Rewind])? [ErrSpent]
//  5. The wait is the longer of the delay of the schedule and the wait that the
//     error asks for (see [RetryAfter]). Would it exceed the delay budget, pass
//     the deadline, or pass MaxElapsed? [ErrDelayBudget], [ErrDeadline],
//     [ErrElapsed], [ErrRetryAfter]
//  6. Will the breaker admit an attempt after the wait? [ErrBreakerOpen]
//  7. Does the shared budget have a retry left? This check is last, so that a
//     call that stops for another reason does not consume a retry. [ErrBudget]
//
// If every check allows a retry, Next reports an [Event], waits, checks the
// context again, asks the breaker for permission, and returns nil: try again.
// Otherwise it returns the error for the caller. That is an [*Error] that wraps
// the error of the last attempt, or that error unchanged if the policy did
// nothing about it.
//
// # What is shared
//
// A Policy is plain data and never changes. A [Call] is the state of one call
// and belongs to one goroutine. [Shared] holds what calls share: a [Breaker],
// which takes one sample from each attempt, and a [RetryBudget], from which
// each retry is withdrawn. Both may be used by any number of goroutines. A
// breaker that several processes share is a [BreakerSnapshot] in a store.
//
// Callees influence the decision with [Permanent] and [After], and read
// [AttemptNumber] and [IdempotencyKey] from their context. Callers observe
// calls with [WithObserver] and set the timeout of a scope with
// [WithScopeTimeout].
//
// # What it costs
//
// A call whose first attempt succeeds costs one comparison: it allocates
// nothing, takes no lock, and reads no clock unless the policy limits time or
// the breaker has a rate. A closed breaker and a full budget add an atomic load
// or two. A time limit allocates one context for each attempt. A failed call
// allocates its *Error; a retry without a time limit allocates nothing under a
// context that many calls share.
package retry
