// Package live changes the policies of a program while it runs. If a generated package's
// policy file has reload: true, new versions of it can be loaded from a file such as a
// mounted ConfigMap, from an fs.FS, from bytes, or from an HTTP request.
//
//	control, err := live.New(orders.LivePolicies())
//	if err != nil {
//		return err
//	}
//	go control.Watch(ctx, live.File("/etc/orders/retry.yaml"))
//
// A new version is checked exactly as retrygen checks a policy file. If it has no
// problems, it is applied as a whole. Otherwise nothing changes, and the error describes
// each problem and its line. A problem may be a mistake in the file. It may also be a
// change to something that is compiled into the program, such as a binding or an error
// class with Go types, or the addition of retries or a time limit to calls that had none.
//
// A call keeps the policy that it started with. Breakers, budgets, limits and rates keep
// their state as far as their new settings allow. Durable steps record the change in the
// same way as a policy change in a new build.
//
// To change policies during an incident without a file, use overrides: see package override
// and [Server].
//
// This package contains the checker for policy files. Generated packages do not contain
// it, so it becomes part of a program only if the program imports this package.
package live
