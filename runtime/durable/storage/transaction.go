package storage

import "context"

// A Transaction is a caller's transaction in the database of a store. Inserted runs are
// committed with it or not at all, and nobody is notified before the commit. The caller
// ends the transaction. If Insert fails, the transaction may have failed too.
type Transaction interface {
	Inserter
	// Store returns the store of the database.
	Store() Store
	// Get returns the records for keys, in the same order, as the transaction sees them.
	Get(ctx context.Context, keys []Key) ([]Record, error)
}
