// Package admin is for operators, and for programs on their behalf: it describes the
// runs of a namespace, and changes them.
//
// A [Client] needs a store, and no engine; durable.Engine.Admin returns the client of an
// engine.
// What it changes, engines notice at once or with the next renewal of their lease.
//
//   - What is there: [Client.List], [Client.Steps], [Client.History], [Client.Groups],
//     [Client.Owners], [Client.Stats], [Client.Audit]; why a run does not go on:
//     [Client.Why].
//   - Whole runs: [Client.Pause] and [Client.Resume], [Client.Cancel],
//     [Client.Expire].
//   - One step: [Client.Resolve] records what a person knows about it,
//     [Client.Requeue] lets it be executed again, [Client.Discard] gives it up, and
//     [Client.Signal] sends it the value that it waits for.
//   - What runs share: [Client.ResetBudget], [Client.ResetBreaker] and
//     [Client.ForceOpenBreaker].
//   - The store: [Client.Verify], [Client.Accept], [Client.Import].
//
// Every change can say who makes it, and why: see [By].
package admin
