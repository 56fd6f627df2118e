package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func newEngine(t *testing.T, store storage.Store) *durable.Engine {
	t.Helper()
	engine, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// A beginner begins a transaction of a program.
type beginner func(t *testing.T, url string, s *postgres.Store) (tx storage.Transaction, commit, rollback func() error)

// callers are the two ways to begin one.

var callers = []struct {
	name  string
	begin beginner
}{
	{"pgx", func(t *testing.T, url string, s *postgres.Store) (_ storage.Transaction, commit, undo func() error) {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		return s.Tx(tx), func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }
	}},
	{"database/sql", func(t *testing.T, url string, s *postgres.Store) (_ storage.Transaction, commit, undo func() error) {
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		return s.SQLTx(tx), tx.Commit, tx.Rollback
	}},
}

// started reports whether a run exists.
func started(t *testing.T, store *postgres.Store, id string) bool {
	t.Helper()
	return get(t, store, storage.Key{Kind: storage.KindRun, Run: id}).Version > 0
}

func TestStartTx(t *testing.T) {
	url := pgtest.URL(t)
	for _, c := range callers {
		t.Run(c.name, func(t *testing.T) {
			store := open(t, url, schema(t.Name()))
			engine := newEngine(t, store)
			start := func(tx storage.Transaction, id string, in int) error {
				return durable.StartTx(t.Context(), engine, tx, "work", id, in)
			}
			wake, err := store.Notifications(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			tx, _, rollback := c.begin(t, url, store)
			if err := errors.Join(start(tx, "a", 1), start(tx, "a", 1), rollback()); err != nil {
				t.Fatal(err)
			}
			if started(t, store, "a") {
				t.Error("a run exists whose transaction was rolled back")
			}
			tx, commit, _ := c.begin(t, url, store)
			if err := start(tx, "a", 1); err != nil {
				t.Fatal(err)
			}
			if started(t, store, "a") {
				t.Error("a run exists whose transaction has not ended")
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			if !started(t, store, "a") {
				t.Error("a run does not exist whose transaction was committed")
			}
			select {
			case <-wake:
			case <-time.After(time.Minute):
				t.Error("the commit has notified nobody")
			}
			tx, commit, _ = c.begin(t, url, store)
			conflict := start(tx, "a", 2)
			if _, ok := errors.AsType[*durable.ConflictError](conflict); !ok {
				t.Errorf("got %v, want a conflict with another input", conflict)
			}
			if err := errors.Join(start(tx, "a", 1), start(tx, "b", 1), commit()); err != nil {
				t.Errorf("after a conflict, which does not fail the transaction: %v", err)
			}
			if !started(t, store, "b") {
				t.Error("run b was not started")
			}
		})
	}
}

// TestNoTx: a transaction that did not begin is nil, for StartTx to find.
func TestNoTx(t *testing.T) {
	var s *sql.Tx // as BeginTx returns it with an error
	store := &postgres.Store{}
	if store.Tx(nil) != nil || store.SQLTx(nil) != nil || store.SQLTx(s) != nil {
		t.Error("a transaction of the store is not nil")
	}
}

// TestStartTxDies: the run of a program that dies between the insertion and the commit
// does not exist, and others may start it at once.
func TestStartTxDies(t *testing.T) {
	url := pgtest.URL(t)
	store := open(t, url)
	engine := newEngine(t, store)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := durable.StartTx(t.Context(), engine, store.Tx(tx), "work", "a", 1); err != nil {
		t.Fatal(err)
	}
	waits := make(chan error)
	go func() { waits <- durable.Start(t.Context(), engine, "work", "a", 2) }() // waits for the transaction
	if err := conn.PgConn().Conn().Close(); err != nil {                        // as kill -9 does
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Errorf("got %v, want that the run is a new one", err)
	}
	if r := get(t, store, storage.Key{Kind: storage.KindRun, Run: "a"}); string(r.Input) != "2" {
		t.Errorf("the run has the input %s", r.Input)
	}
}

// TestStartTxElsewhere: a transaction in another database, another schema, or on a server
// that has lost updates since gets no run.
func TestStartTxElsewhere(t *testing.T) {
	url, other := pgtest.URL(t), pgtest.URL(t)
	store := open(t, url)
	engine := newEngine(t, store)
	refused := func(what, url, want string) {
		t.Helper()
		tx, _, rollback := callers[0].begin(t, url, store)
		err := durable.StartTx(t.Context(), engine, tx, "work", what, 1)
		if err == nil || !errors.Is(err, storage.ErrStore) && !errors.Is(err, storage.ErrFormat) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %s", what, err, want)
		}
		if err := rollback(); err != nil {
			t.Error(err)
		}
	}
	refused("no store", other, "another database")
	open(t, other)
	refused("other store", other, "another database")

	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	set := func(key, value string) {
		if _, err := conn.Exec(t.Context(), `UPDATE retry.retry_meta SET value = $2 WHERE key = $1`, key, value); err != nil {
			t.Fatal(err)
		}
	}
	set("incarnation", "restored")
	refused("old incarnation", url, "has lost updates")
	set("oldest_writer", "99")
	refused("newer format", url, "upgrade this program")
	var runs int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM retry.retry_run`).Scan(&runs); err != nil || runs > 0 {
		t.Errorf("%d runs were started, error %v", runs, err)
	}
}

// TestStartTxSerializable: the error of PostgreSQL is there for a program that repeats its
// transactions.
func TestStartTxSerializable(t *testing.T) {
	url := pgtest.URL(t)
	store := open(t, url)
	engine := newEngine(t, store)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.Serializable})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT 1 FROM retry.retry_run"); err != nil { // takes its snapshot
		t.Fatal(err)
	}
	if err := durable.Start(t.Context(), engine, "work", "a", 1); err != nil {
		t.Fatal(err)
	}
	err = durable.StartTx(t.Context(), engine, store.Tx(tx), "work", "a", 1)
	if failure, ok := errors.AsType[*pgconn.PgError](err); !ok || failure.Code != "40001" {
		t.Errorf("got %v, want a serialization failure", err)
	}
}

// TestStartMany: 12,000 runs, some of which exist.
func TestStartMany(t *testing.T) {
	store := open(t, pgtest.URL(t))
	engine := newEngine(t, store)
	many := func(from, to int) (int, error) {
		return durable.StartMany(t.Context(), engine, "work", func(yield func(string, int) bool) {
			for i := from; i < to && yield("run-"+time.Duration(i).String(), i); i++ {
			}
		})
	}
	for _, c := range []struct{ from, to, want int }{{5000, 5100, 100}, {0, 12000, 11900}, {0, 12000, 0}} {
		if n, err := many(c.from, c.to); n != c.want || err != nil {
			t.Errorf("%d to %d: created %d runs, error %v, want %d", c.from, c.to, n, err, c.want)
		}
	}
}
