// Package storage defines the contract between package durable and its stores: what a
// store contains, how it is updated, and what it promises. You need this package only to
// write a store, or to read one without an engine.
//
// A store contains records and their histories. An update replaces records, and adds
// entries to histories. The store knows the fields by which queries find records, but
// does not interpret the bodies of records. An update locks the records that a [Select]
// names, calls a function that decides what to write, and commits all of the writes or
// none of them: see [Store].
//
// A store may implement other interfaces in addition to [Store]. Engines and admin
// clients use them if available:
//
//   - With [Notifier], workers and callers learn at once that there is work, instead of
//     at their next poll.
//   - With [Liveness], for a store on a single machine, the runs of a killed process
//     continue at once, instead of at the end of its lease.
//   - With [Checker], a store can check its own files or tables.
//   - With [Swapper], [Claimer] and [Inserter], a store replaces, claims or creates runs
//     in one statement, which saves round trips to a server. Without them, engines use
//     Update. [NewRuns.Claim] and [Insertion.Record] define what the last two do.
//
// For durable.StartTx, a store may also convert the caller's transaction into a
// [Transaction].
//
// Package memory is a store, and so are contrib/sqlite and contrib/postgres, which are
// separate modules. Package durabletest tests whether a store keeps the contract.
package storage
