package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A shop has a table of orders, and an engine that mails receipts, in one database.
type shop struct {
	t      *testing.T
	store  *sqlite.Store
	engine *durable.Engine
}

func openShop(t *testing.T) *shop {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(engine.Close(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
	})
	s := &shop{t, store, engine}
	s.must(store.Transact(t.Context(), func(tx *sqlite.Tx) error {
		_, err := tx.ExecContext(t.Context(), `CREATE TABLE shop_order (id TEXT PRIMARY KEY, amount INTEGER)`)
		return err
	}))
	return s
}

func (s *shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// place records an order and starts the mail of its receipt.
func (s *shop) place(tx *sqlite.Tx, id string, amount int) error {
	if _, err := tx.ExecContext(s.t.Context(), `INSERT INTO shop_order VALUES (?, ?)`, id, amount); err != nil {
		return err
	}
	return durable.StartTx(s.t.Context(), s.engine, tx, "mail", "mail-"+id, amount)
}

// has reports whether there is an order, and whether its mail was started.
func (s *shop) has(id string) (order, mail bool) {
	s.t.Helper()
	var orders int
	s.must(s.store.Transact(s.t.Context(), func(tx *sqlite.Tx) error {
		return tx.QueryRowContext(s.t.Context(), `SELECT count(*) FROM shop_order WHERE id = ?`, id).Scan(&orders)
	}))
	records, err := s.store.Get(s.t.Context(), []storage.Key{{Kind: storage.KindRun, Run: "mail-" + id}})
	s.must(err)
	return orders > 0, records[0].Version > 0
}

func (s *shop) want(id string, want bool) {
	s.t.Helper()
	if order, mail := s.has(id); order != want || mail != want {
		s.t.Errorf("order %s: recorded %v, mail started %v, want %v for both", id, order, mail, want)
	}
}

func TestTransact(t *testing.T) {
	s := openShop(t)
	s.must(s.store.Transact(t.Context(), func(tx *sqlite.Tx) error { return s.place(tx, "a", 1) }))
	s.want("a", true)

	failed := errors.New("out of stock")
	err := s.store.Transact(t.Context(), func(tx *sqlite.Tx) error {
		s.must(s.place(tx, "b", 1))
		return failed
	})
	if err != failed {
		t.Errorf("got %v, want the error of the function", err)
	}
	s.want("b", false)

	func() {
		defer func() { _ = recover() }()
		_ = s.store.Transact(t.Context(), func(tx *sqlite.Tx) error {
			s.must(s.place(tx, "c", 1))
			panic("a defect")
		})
	}()
	s.want("c", false)

	s.must(s.store.Transact(t.Context(), func(tx *sqlite.Tx) error {
		return durable.StartTx(t.Context(), s.engine, tx, "mail", "mail-a", 1) // as before
	}))
	err = s.store.Transact(t.Context(), func(tx *sqlite.Tx) error { return s.place(tx, "a2", 1) })
	s.must(err)
	err = s.store.Transact(t.Context(), func(tx *sqlite.Tx) error {
		return durable.StartTx(t.Context(), s.engine, tx, "mail", "mail-a", 2)
	})
	if !errors.Is(err, durable.ErrConflict) {
		t.Errorf("got %v, want a conflict with another input", err)
	}
}

// TestTransactEnds: a statement after the end of a transaction, or of its context, is not
// executed.
func TestTransactEnds(t *testing.T) {
	s := openShop(t)
	var kept *sqlite.Tx
	ctx, cancel := context.WithCancel(t.Context())
	err := s.store.Transact(ctx, func(tx *sqlite.Tx) error {
		kept = tx
		cancel()
		_, err := tx.ExecContext(ctx, `INSERT INTO shop_order VALUES ('a', 1)`)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
	if _, err := kept.ExecContext(t.Context(), `INSERT INTO shop_order VALUES ('a', 1)`); err == nil {
		t.Error("a statement was executed after the end of its transaction")
	}
	_, err = kept.Get(t.Context(), []storage.Key{{Kind: storage.KindRun, Run: "a"}})
	if !errors.Is(err, storage.ErrStore) {
		t.Errorf("got %v, want that the transaction has ended", err)
	}
	if err := durable.StartTx(t.Context(), s.engine, kept, "mail", "mail-a", 1); !errors.Is(err, storage.ErrStore) {
		t.Errorf("got %v, want that the transaction has ended", err)
	}
	s.want("a", false)

	full := s.store.Transact(t.Context(), func(tx *sqlite.Tx) error {
		_, err := tx.ExecContext(t.Context(), `PRAGMA max_page_count = 1`) // at once as many as there are
		s.must(err)
		for err == nil {
			_, err = tx.ExecContext(t.Context(), `INSERT INTO shop_order VALUES (hex(randomblob(2000)), 1)`)
		}
		_, err = tx.ExecContext(t.Context(), `INSERT INTO shop_order VALUES ('a', 1)`)
		if err == nil {
			t.Error("a statement was executed after SQLite has rolled back")
		}
		return nil // which is no reason to commit
	})
	if !errors.Is(full, storage.ErrStore) {
		t.Errorf("got %v, want that the transaction was rolled back", full)
	}
	s.want("a", false)
	s.must(s.store.Transact(t.Context(), func(tx *sqlite.Tx) error { return s.place(tx, "a", 1) }))
	s.want("a", true)
}

func TestStartTxOfAnotherStore(t *testing.T) {
	s, other := openShop(t), openShop(t)
	err := s.store.Transact(t.Context(), func(tx *sqlite.Tx) error {
		return durable.StartTx(t.Context(), other.engine, tx, "mail", "a", 1)
	})
	if !errors.Is(err, durable.ErrConflict) {
		t.Errorf("got %v, want that the store is another one", err)
	}
}
