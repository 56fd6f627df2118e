// Package retry repeats calls that have failed. A [Policy] defines how often they are
// repeated, how fast, for how long, and after which errors. The package is the runtime
// of the code that retrygen generates, and can be used without the generator:
//
//	var read = retry.Policy{Name: "read", Schedule: retry.Schedule{MaxAttempts: 4}}
//
//	user, err := retry.Do(ctx, &read, func(ctx context.Context) (*User, error) {
//		return client.Get(ctx, id)
//	})
//
// [Do] returns the result of the first attempt that succeeds. If no attempt succeeds, it
// returns an [*Error]. It wraps the error of the last attempt and contains the [Reason]
// why no further attempt followed. Test for a reason with errors.Is(err,
// retry.ErrAttempts). The zero value of each field of a Policy means its default: three
// attempts, with waits of 1s and 2s.
//
// Use [Policy.Attempts] for code that is hard to move into a function. The called
// function can mark its error with [Permanent] or [After], and can read [AttemptNumber]
// and [IdempotencyKey] from its context. The caller can observe calls with
// [WithObserver], set the timeout of a scope with [WithScopeTimeout], and turn retries
// off with [WithoutRetries].
//
// # What calls share
//
// [DoWith] and [Policy.AttemptsWith] take a [Shared], which holds the values that all
// calls to one service share:
//
//   - a circuit breaker from package breaker, which records a sample of each attempt;
//   - a [Budget], usually from package budget, which limits the retries;
//   - a gate from package capacity, which limits how many attempts are in progress and
//     how many start in a period.
//
// Any number of goroutines may use them at the same time.
//
// Each attempt first asks the breaker for permission. An open breaker refuses the
// attempt. Next, the attempt asks the gate's throttle, rate and limiter, where it may
// have to wait. Finally, it asks the breaker again, for a permit. After that, the attempt
// and its AttemptTimeout begin. The waits count against Timeout and the caller's
// deadline.
//
// If an attempt is refused, no request is made, and the refusal does not count as a
// failure of the service. The call ends with [ErrBreakerOpen], [ErrThrottled],
// [ErrRateLimited] or [ErrLimited], unless RetryOn names the class of the refusal. When
// an attempt ends, its permits are returned before the wait for the next attempt begins.
//
// Package httpretry retries HTTP requests, package job runs the units of a job, and
// package durable keeps the state of calls in a store, so that they survive the end of
// the process.
//
// # The decision
//
// After a failed attempt, the following checks are made in order. The first check that
// fails ends the call with one of the reasons listed after it:
//
//  1. Has the caller's context ended, or has its deadline passed?
//     [ErrCanceled], [ErrDeadline]
//  2. Is the error retryable (see [Policy.Retries])? [ErrPermanent], [ErrUnclassified],
//     [ErrEscalated]
//  3. Is this call part of an attempt that is itself a retry (see
//     [AttemptNumber])? Then the outer call is already retried. Or was its context
//     returned by [WithoutRetries]? [ErrNested], [ErrWithoutRetries]
//  4. Does the schedule for the error's class allow another attempt? [ErrAttempts] If the
//     call is stored, were too many attempts lost because a process ended? [ErrLost] Can
//     the arguments of the call be read again (see [Call.Spend])? [ErrSpent]
//  5. Does the wait fit within the time limits? The wait is the schedule's delay or the
//     wait that the error asks for (see [RetryAfter]), whichever is longer. It must not
//     exceed the delay budget, the deadline or MaxElapsed. [ErrDelayBudget],
//     [ErrDeadline], [ErrElapsed], [ErrRetryAfter]
//  6. Will the breaker admit an attempt after the wait? [ErrBreakerOpen]
//  7. Does the shared budget have a retry left? This check is last, so that a call that
//     stops for a different reason does not consume a retry. [ErrBudget]
//
// If every check allows a retry, the call reports an [Event], waits, checks the context
// again, asks the breaker and the gate for permission and makes the next attempt.
// Otherwise the call ends with an [*Error] that wraps the error of the last attempt. An
// error on which the policy had no effect is returned unchanged.
//
// # Generated code
//
// A generated wrapper contains the loop and the values of the function's own types. It
// uses a [Call], which holds the state of one call, belongs to one goroutine, and handles
// only contexts and errors:
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
// Package genapi contains the other functions that generated code calls.
//
// # Stored calls
//
// A [CallState] is the state of a call between two attempts, as plain data.
// [Policy.Decide] decides what the call does next. The caller passes the time and a
// random number to Decide. Packages that store calls use CallState, Decide and the other
// parts of [Call.Next]: see [Policy.Resume].
//
// # What it costs
//
// If the first attempt succeeds, the policy costs one comparison. It allocates nothing,
// takes no lock, and reads the clock only if the policy has a time limit or the breaker
// has a rate. A closed breaker and a full budget add one or two atomic loads. A time
// limit allocates one context per attempt. A failed call allocates its *Error. A retry
// without a time limit allocates nothing if many calls share the same context.
package retry
