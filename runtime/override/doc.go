// Package override changes what policies do during an incident, for a limited time and
// without a new policy file. An [Override] turns retries off, limits attempts, or holds
// breakers open or closed. It ends by itself at a given time, so that nobody has to
// remember to undo it.
//
// A [Set] applies overrides to the generated packages of a program whose policy files have
// reload: true:
//
//	overrides := override.NewSet(orders.LivePolicies(), payments.LivePolicies())
//	defer overrides.Close()
//
//	_, err := overrides.Put(override.Override{
//		Target: "*", MaxAttempts: 1, Until: time.Now().Add(time.Hour),
//		Reason: "the payments provider asks for less load", By: "ada",
//	})
//
// Package contrib/live has an HTTP handler for a Set. If a program connects to a store (see
// package shared below runtime/durable), it also follows the overrides that operators put
// into the store with retryctl override, each within about a second.
//
// A Set adds one atomic load to each successful call, whether an override is in force or
// not.
//
// Overrides do not change the attempts of durable steps, because a limit for an hour must
// not end a run that could go on afterwards. To stop durable steps, use retryctl to pause
// their runs or to force their breaker open.
package override
