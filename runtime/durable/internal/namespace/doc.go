// Package namespace provides access to the records in one namespace of a store: updates
// that share transactions, sequences of records, notifications, and the deletion of runs
// whose retention period has passed. Both engines and operators use it.
package namespace
