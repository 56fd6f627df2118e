// Package budget provides retry budgets. A budget limits the retries of all calls to a
// service to a fraction of the successful calls. Without a budget, retries multiply the
// load on a failing service by the number of attempts. With a budget, the load grows at
// most by that fraction.
//
// A [Budget] is a token bucket that starts full. A retry takes a token, and a success
// adds a fifth of a token. In addition, ten tokens are added per second, so that clients
// with few calls can retry. The bucket has room for 100 tokens. These numbers can be
// changed in the [Policy]. Finagle (RetryBudget) and gRPC (retry throttling, proposal A6)
// use the same algorithm.
//
// Calls under a retry.Policy share a budget through retry.Shared:
//
//	var client = budget.New(budget.Policy{Name: "client", Ratio: 0.1})
//
//	user, err := retry.DoWith(ctx, &policy, retry.Shared{Budget: client}, get)
//
// If the budget refuses a retry, the call ends with the reason retry.ErrBudget. The
// first attempt of a call is never refused.
//
// # What it costs
//
// A success costs one atomic load while the bucket is full, and otherwise one atomic
// exchange. A retry reads the clock. A budget takes no lock and allocates nothing.
package budget
