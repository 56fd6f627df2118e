// Package storage is the contract between package durable and its stores: what a
// store keeps, how an update of it is decided, and what it promises.
//
// A store keeps records, which updates replace, and the histories of records, to
// which they add. It knows the fields by which queries find records, and keeps their
// bodies as they are. An update locks the records that a [Select] names, asks a
// decision what to write, and commits all of it or nothing: see [Store].
//
// Only those who write a store, or read one without an engine, need this package.
// Stores are package memory, and contrib/sqlite and contrib/postgres in modules of
// their own. Package durabletest tests whether a store keeps the contract.
package storage
