// Package hedge makes a second, identical request if the first one takes long, and uses
// the answer that comes first. That cuts the slowest answers of a service whose
// durations vary from request to request. Dean and Barroso describe the method in "The
// Tail at Scale" (CACM, 2013).
//
// A [Hedge] belongs to one function and is shared by all calls of it. Its [Policy] sets
// the delay before a second request, either as a duration or as a quantile of the
// durations seen, and the share of extra requests:
//
//	var findHedge = hedge.New(hedge.Policy{Name: "Find", Quantile: 0.95, Extra: 0.05})
//
//	user, err := hedge.Do(ctx, findHedge, func(ctx context.Context) (*User, error) {
//		return client.Find(ctx, id)
//	})
//
// Hedge only functions that are idempotent and that return soon after their context
// ends. The first request is made in the goroutine of the caller. The second one has a
// goroutine of its own, and [Is] reports true for its context. When one succeeds, the
// context of the other ends with the cause [ErrLost]. The call returns when both
// requests have returned, so that neither a goroutine nor a use of an argument outlives
// it. A request that does not watch its context therefore delays the call.
//
// A panic in the second request ends the process, as in any goroutine.
//
// # Extra load
//
// Second requests are at most the share Extra of the calls that succeed, and ten more.
// They are few while a service fails, because a failed call adds nothing to that share.
// If the share is used up, the first request just goes on.
//
// # What it costs
//
// A call whose first request is fast costs three allocations, including a timer, and no
// goroutine. With a quantile, it also reads the clock twice. The context of the
// first request costs three more allocations if the function watches it.
package hedge
