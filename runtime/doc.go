// Package retry is the runtime of code that retrygen generates: it decides
// after a failed attempt whether, when and why to try again.
//
// The generated wrapper owns the typed values and the loop; this package sees
// a context and an error:
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
// Without the generator, [Do] calls a function under a policy that is written
// as a literal, and [Policy.Attempts] drives a loop. Package httpretry retries
// HTTP requests; package job makes one result of many units' work.
//
// A call that succeeds at once costs one comparison: nothing is allocated, no
// lock is taken and no clock is read unless the policy limits time. A closed
// [Breaker] and a full [Budget] add an atomic load or two.
//
// After a failed attempt [Call.Next] decides in this order: has the caller's
// context ended? Is the error retryable ([Policy.Classify])? Is this the only
// retry under way ([AttemptNumber])? Are attempts left, by the schedule of the
// error's class ([Override])? Would the wait, which may be what the error asks
// for ([RetryAfter]), pass the deadline, MaxElapsed or DelayBudget? Does the
// breaker still let calls through? Does the budget have a retry left? Then it
// tells the observer, waits, looks at the context again, asks the breaker for
// leave, and returns nil: try again. Otherwise it returns the error for the
// caller, an [*Error] that wraps the last attempt's.
//
// Callees talk back through [Permanent] and [After], and read [AttemptNumber]
// and [IdempotencyKey] from their context. The caller watches through
// [WithObserver].
package retry
