// Package live changes the policies of a program while it runs. It loads another version of
// the policy file of a generated package, if that file has reload: true: from a file such as
// a mounted ConfigMap, from an fs.FS, from bytes, or from an HTTP request.
//
//	control, err := live.New(orders.LivePolicies())
//	if err != nil {
//		return err
//	}
//	go control.Watch(ctx, live.File("/etc/orders/retry.yaml"))
//
// A version is checked as retrygen checks it. It is applied as a whole, or it changes nothing
// and the error says what is wrong, with its line: a mistake in the file, or a change of
// something that is compiled, such as a binding, an error class with Go types, or retries or
// a time limit for calls that had none. A call keeps the policy with which it began. Breakers,
// budgets, limits and rates keep their state as far as their new settings allow it, and
// durable steps record the change like one of a new build.
//
// In an incident, overrides need no file: see package override and [Server].
//
// The package contains the checker of policy files, which generated packages do not: a
// program that does not import it has none of that.
package live
