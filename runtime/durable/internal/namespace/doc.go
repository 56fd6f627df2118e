// Package namespace is the way to the records of one namespace of a store: updates
// that share transactions, sequences of records, notifications, and the deletion of
// what has been kept for long enough. Engines and operators use it alike.
package namespace
