// Package hedge makes a second, identical request if the first one takes long, and uses
// the answer that comes first. If the duration of a request varies by chance, this makes
// the slowest calls much faster. Dean and Barroso describe the method in "The Tail at
// Scale" (CACM, 2013).
//
// A [Hedge] belongs to one function and is shared by all calls of it. Its [Policy] sets
// the delay before a second request, either as a duration or as a quantile of earlier
// durations, and the greatest share of extra requests:
//
//	var findHedge = hedge.New(hedge.Policy{Name: "Find", Quantile: 0.95, Extra: 0.05})
//
//	user, err := hedge.Do(ctx, findHedge, func(ctx context.Context) (*User, error) {
//		return client.Find(ctx, id)
//	})
//
// Hedge only functions that are idempotent and that return soon after their context
// ends. The first request is made in the goroutine of the caller. The second request has
// its own goroutine, and [Is] reports true for its context. When one request succeeds,
// the context of the other one ends with the cause [ErrLost].
//
// The call returns when both requests have returned. No goroutine outlives the call, and
// no argument is used after it. A request that does not watch its context therefore
// delays the call.
//
// A panic in the second request ends the process, as in any goroutine.
//
// # Extra load
//
// The number of second requests is at most the share Extra of the successful calls, plus
// ten. While a service fails, there are few second requests, because a failed call adds
// nothing to the share. When the share is used up, only the first request is made.
//
// # What it costs
//
// A call whose first request is fast costs three allocations, including a timer, and no
// goroutine. With a quantile, it also reads the clock twice. The context of the
// first request costs three more allocations if the function watches it.
package hedge
