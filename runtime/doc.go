// Package retry repeats calls that have failed, as a [Policy] defines: how often, how
// fast, for how long, and after which errors. It is the runtime of the code that
// retrygen generates, and works without the generator:
//
//	var read = retry.Policy{Name: "read", Schedule: retry.Schedule{MaxAttempts: 4}}
//
//	user, err := retry.Do(ctx, &read, func(ctx context.Context) (*User, error) {
//		return client.Get(ctx, id)
//	})
//
// [Do] returns the result of the first attempt that succeeds. If none does, the
// error is an [*Error] that wraps the error of the last attempt and has the [Reason]
// why no other one followed: errors.Is(err, retry.ErrAttempts). The zero value of
// each field of a Policy means its default: three attempts, with waits of 1s and 2s.
//
// [Policy.Attempts] is for code that does not fit into a function. Callees influence
// the decision with [Permanent] and [After], and read [AttemptNumber] and
// [IdempotencyKey] from their context. Callers observe calls with [WithObserver], set
// the timeout of a scope with [WithScopeTimeout], and switch retries off with
// [WithoutRetries].
//
// # What calls share
//
// [DoWith] and [Policy.AttemptsWith] take a [Shared], which has what the calls of one
// service share: a circuit breaker of package breaker, which takes one sample from
// each attempt; a [Budget], from which each retry is withdrawn, usually one of package
// budget; and a gate of package capacity, which limits how many attempts are in
// progress and how many start in a time. Any number of goroutines may use them.
//
// Before each attempt, an open breaker refuses first. Then the gate asks its throttle,
// waits for a turn of its rate, and waits for a permit of its limiter. The permit of
// the breaker comes last, and then the attempt and its AttemptTimeout begin. The waits
// count against Timeout and the deadline of the caller. What is refused is no attempt,
// and no failure of the service: the call ends with [ErrBreakerOpen], [ErrThrottled],
// [ErrRateLimited] or [ErrLimited], unless RetryOn names the class of the refusal. When
// an attempt has ended, its permits are returned, before the wait for the next one.
//
// Package httpretry retries HTTP requests, package job runs the units of a job, and
// package durable makes calls that survive their process.
//
// # The decision
//
// After a failed attempt, these checks are made in this order:
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
//     Can its arguments be read again (see [Call.Spend])? [ErrSpent]
//  5. The wait is the longer of the delay of the schedule and the wait that the
//     error asks for (see [RetryAfter]). Would it exceed the delay budget, pass
//     the deadline, or pass MaxElapsed? [ErrDelayBudget], [ErrDeadline],
//     [ErrElapsed], [ErrRetryAfter]
//  6. Will the breaker admit an attempt after the wait? [ErrBreakerOpen]
//  7. Does the shared budget have a retry left? This check is last, so that a
//     call that stops for another reason does not consume a retry. [ErrBudget]
//
// If every check allows a retry, the call reports an [Event], waits, checks the
// context again, asks the breaker and the gate for permission, and makes the next attempt.
// Otherwise it ends with an [*Error] that wraps the error of the last attempt, or
// with that error unchanged if the policy did nothing about it.
//
// # Generated code
//
// A generated wrapper owns the typed values and the loop. A [Call] is the state of
// one call, belongs to one goroutine, and sees a context and an error:
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
// Package genapi has what such code calls in addition to the methods of Call.
//
// # Stored calls
//
// A [CallState] is a call between two attempts as plain data, and [Policy.Decide]
// decides about it without a clock or a random number of its own. Packages that
// store calls use them and the other steps of [Call.Next]: see [Policy.Resume].
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
