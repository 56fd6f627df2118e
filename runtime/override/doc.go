// Package override changes what policies do in an incident, for a limited time and
// without a policy file: it turns retries off, limits attempts, or holds breakers open or
// closed. Each [Override] has a time at which it ends by itself, so that nobody has to
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
// Package live, in contrib, has an HTTP handler for a Set. Programs that connect to a store
// (see package shared below runtime/durable) also follow the overrides that operators put
// there with retryctl override, each within about a second.
//
// A success under a policy costs one atomic load more than without an override, whether there
// is one or not. Durable steps keep the attempts of their policies: a limit for an hour
// must not end a run that would go on afterwards. Pause runs, or force the breaker of steps
// open, with retryctl.
package override
