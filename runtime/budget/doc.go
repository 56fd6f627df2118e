// Package budget has retry budgets, which limit the retries of all calls of a
// service to a share of their successes. When the service is down, retries would
// multiply its load by the number of attempts; with a budget, the load grows by the
// share at most.
//
// A [Budget] is a bucket of tokens that is full at first. A retry takes a token, a
// success adds a fifth of one, and ten per second are added in any case, so that
// clients with few calls can retry. The bucket has room for 100. [Policy] has these
// numbers. The algorithm is the one of Finagle (RetryBudget) and of gRPC (retry
// throttling, proposal A6).
//
// Calls under a retry.Policy share a budget through retry.Shared:
//
//	var client = budget.New(budget.Policy{Name: "client", Ratio: 0.1})
//
//	user, err := retry.DoWith(ctx, &policy, retry.Shared{Budget: client}, get)
//
// A call that the budget refuses a retry ends with the reason retry.ErrBudget. The
// first attempts of calls are never refused.
//
// # What it costs
//
// A success costs one atomic load while the bucket is full, and otherwise one atomic
// exchange. A retry reads the clock. A budget takes no lock and allocates nothing.
package budget
