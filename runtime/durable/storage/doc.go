// Package storage is the contract between package durable and its stores: what a
// store keeps, how an update of it is decided, and what it promises.
//
// A store keeps records, which updates replace, and the histories of records, to
// which they add. It knows the fields by which queries find records, and keeps their
// bodies as they are. An update locks the records that a [Select] names, asks a
// decision what to write, and commits all of it or nothing: see [Store].
//
// A store may implement more than [Store]. Engines and operators use what they find:
//
//   - [Notifier]: workers and callers learn at once that they have something to do, not at
//     their next poll;
//   - [Liveness], for a store of one machine: runs of a killed process continue at once,
//     without waiting for the end of a lease;
//   - [Checker]: it can check its own files or tables;
//   - [Swapper], [Claimer] and [Inserter]: it replaces, claims or creates runs in one
//     statement, which saves round trips to a server. Without them, engines use Update.
//     [NewRuns.Claim] and [Insertion.Record] define what the last two do.
//
// It may also make a [Transaction] of a transaction of its caller, for durable.StartTx.
//
// Only those who write a store, or read one without an engine, need this package.
// Stores are package memory, and contrib/sqlite and contrib/postgres in modules of
// their own. Package durabletest tests whether a store keeps the contract.
package storage
