// Package durable keeps the state of retries in a store, so that they survive a crash of
// the process. The store records how many attempts were made, when the next attempt is
// due, whether the last attempt may have taken effect, and how much of each budget is
// left.
//
// A run is one execution of a job. The caller chooses its id. The run's function calls
// steps. When the run is executed again, a step that has succeeded returns its recorded
// result:
//
//	engine, err := durable.New(store)
//	…
//	err = engine.Run(ctx, "settle-2026-11-22", func(ctx context.Context) error {
//		orders, err := durable.Step(ctx, "orders", nil, db.OpenOrders)
//		if err != nil {
//			return err
//		}
//		for _, o := range orders {
//			if _, err := payments.RetryCharge(ctx, o.ID, o.Amount); err != nil {
//				return err
//			}
//		}
//		return nil
//	})
//
// retrygen generates RetryCharge for a binding whose policy has durable: true. If the
// process is killed, no matter at which instruction, call Run again with the same id.
// Steps that have succeeded return their recorded results. A step that was waiting waits
// for the rest of its time. A step that was executing is in doubt, and its policy decides
// whether it is executed again.
//
// [Group] divides the work of a run into units, which this process executes. With
// [GroupRuns], each unit is a run, which any worker can execute: see [Engine.Work].
//
// This package is for programs that define and execute runs. Other packages serve other
// purposes:
//
//   - admin shows runs to operators and changes them: see [Engine.Admin];
//   - events defines the events that engines report;
//   - memory, contrib/sqlite and contrib/postgres are stores;
//   - storage defines the interfaces that a store implements;
//   - shared connects breakers and budgets of calls that do not belong to a run;
//   - genapi contains the functions that generated code calls;
//   - durabletest tests stores, and programs that use this package.
//
// The function of a run must call the same steps after a crash as before it. Read clocks,
// random numbers and changing lists in steps, so that they are recorded.
//
// # Guarantees
//
// If the store keeps every update that it has acknowledged, these guarantees hold:
//
//   - The start of an attempt is durable before the call is made. Attempts are never
//     undercounted, and an attempt number is never used twice.
//   - An attempt whose end is recorded is never executed again.
//   - An attempt that may have taken effect is never repeated silently: see
//     genapi.OnLost.
//   - An engine that has lost a run to another engine neither starts nor records
//     attempts of the run.
//   - A shared budget is never overspent, and each retry is deducted from it once.
//   - The idempotency key of a step never changes.
//   - No crash replaces a result that the run's function has seen, except with
//     genapi.RecordFailures and, between steps, with [Hold].
//   - A wait survives a restart and does not become longer.
//   - After a store error, nothing is executed or acknowledged.
//
// In short, accounting is exactly-once, and each attempt number is executed at most once.
// Side effects are not exactly-once. A server that does not recognize the idempotency key
// may carry out a request twice.
package durable
