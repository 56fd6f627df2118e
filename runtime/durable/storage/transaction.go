package storage

import "context"

// A Transaction is one of a caller in the database of a store: what is inserted is
// committed with it, or not at all, and nobody is notified before. It is ended by the
// caller. A failed Insert may have failed the transaction, too.
type Transaction interface {
	Inserter
	// Store returns the store of the database.
	Store() Store
	// Get returns the records of keys, in their order, as the transaction sees them.
	Get(ctx context.Context, keys []Key) ([]Record, error)
}
