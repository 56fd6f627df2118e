// Package admin lets operators inspect and change the runs of a namespace.
//
// A [Client] needs a store, but no engine. If there is an engine, durable.Engine.Admin
// returns its client. Engines notice a change at once, or at the latest when they renew
// their lease.
//
//   - To read what a store contains, use [Client.List], [Client.Steps], [Client.History],
//     [Client.Groups], [Client.Owners], [Client.Stats] and [Client.Audit]. [Client.Why]
//     explains why a run is not making progress.
//   - To change a whole run, use [Client.Pause], [Client.Resume], [Client.Cancel] and
//     [Client.Expire].
//   - To change one step, use one of four methods. [Client.Resolve] records what a person
//     knows about the step. [Client.Requeue] allows the step to be executed again.
//     [Client.Discard] removes it from the dead letters. [Client.Signal] sends a waiting
//     step the value that it needs.
//   - To change what runs share, use [Client.ResetBudget], [Client.ResetBreaker] and
//     [Client.ForceOpenBreaker].
//   - For the store as a whole, use [Client.Verify], [Client.Accept] and [Client.Import].
//
// Every change can record who made it and why: see [By].
package admin
