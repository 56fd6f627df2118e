// Package override changes what policies do during an incident, for a limited time and
// without a new policy file. An [Override] turns retries off, limits attempts, or holds
// breakers open or closed. It ends automatically at a given time, so that nobody has to
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
// Package contrib/live provides an HTTP handler for a Set. If a program connects to a
// store (see package runtime/durable/shared), it also follows the overrides that
// operators store with retryctl override. Each of these takes effect within about a
// second.
//
// A Set adds one atomic load to each successful call, whether an override is active or
// not.
//
// Overrides do not change the attempts of durable steps, because a temporary limit must
// not end a run that could continue later. To stop durable steps, use retryctl to pause
// their runs or to force their breaker open.
package override
