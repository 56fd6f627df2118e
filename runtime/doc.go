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
//	for call := policyRead.Begin(); ; {
//		if err = call.Next(ctx, err); err != nil {
//			return user, err
//		}
//		if user, err = s.next.Get(ctx, id); err == nil {
//			return user, nil
//		}
//	}
//
// A call that succeeds at once costs one comparison: nothing is allocated, no
// lock is taken and no clock is read unless the policy limits time.
//
// After a failed attempt [Call.Next] decides in this order: has the caller's
// context ended? Is the error retryable ([Policy.Classify])? Are attempts left?
// Would the wait pass the deadline, MaxElapsed or DelayBudget? Then it waits,
// looks at the context again, and returns nil: try again. Otherwise it returns
// the error for the caller, an [*Error] that wraps the last attempt's.
//
// Callees talk back through [Permanent] and [After]. The caller watches
// through [WithObserver].
package retry
