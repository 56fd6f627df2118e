// Package budget has retry budgets. A budget limits the retries of all calls to a
// service to a share of the successful calls. Without a budget, retries multiply the
// load of a service that is down by the number of attempts. With a budget, the load
// grows at most by that share.
//
// A [Budget] is a bucket of tokens that starts full. A retry takes a token, and a
// success adds a fifth of a token. Ten tokens are added per second in any case, so that
// clients with few calls can retry. The bucket has room for 100 tokens. Set other
// numbers in [Policy]. The algorithm is the one of Finagle (RetryBudget) and of gRPC
// (retry throttling, proposal A6).
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
