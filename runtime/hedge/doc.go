// Package hedge makes a second, identical request if the first one is slow, and uses
// whichever response arrives first. If the duration of a request varies randomly, this
// makes the slowest calls much faster. Dean and Barroso describe the method in "The Tail
// at Scale" (CACM, 2013).
//
// A [Hedge] belongs to one function and is shared by all calls to it. Its [Policy] sets
// the delay before a second request, either as a duration or as a quantile of earlier
// durations, and the maximum share of extra requests:
//
//	var findHedge = hedge.New(hedge.Policy{Name: "Find", Quantile: 0.95, Extra: 0.05})
//
//	user, err := hedge.Do(ctx, findHedge, func(ctx context.Context) (*User, error) {
//		return client.Find(ctx, id)
//	})
//
// Hedge only functions that are idempotent and that return soon after their context ends.
// The first request is made in the caller's goroutine. The second request has its own
// goroutine, and [Is] reports true for its context. When one request succeeds, the
// context of the other one ends with the cause [ErrLost].
//
// The call returns when both requests have returned. No goroutine outlives the call, and
// no argument is used after it. A request that ignores its context therefore delays the
// call.
//
// A panic in the second request ends the process, as in any goroutine.
//
// # Extra load
//
// The number of second requests is at most Extra times the number of successful calls,
// plus ten. While a service is failing, there are few second requests, because failed
// calls do not count. When this limit is reached, only the first request is made.
//
// # What it costs
//
// A call whose first request is fast costs three allocations, including a timer, and no
// goroutine. With a quantile, it also reads the clock twice. If the function watches the
// context of the first request, this costs three more allocations.
package hedge
