package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// openPooled opens a store whose sessions forget everything after each transaction,
// as if a pooler gave each another one.
func openPooled(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	leaveWith(t, &s.pool, "DISCARD ALL")
	leaveWith(t, &s.leases, "DISCARD ALL")
	return s
}

// leaveWith executes statements in each session of a pool that a transaction has left.
func leaveWith(t *testing.T, pool **pgxpool.Pool, statements string) {
	t.Helper()
	config := (*pool).Config()
	config.MaxConns = 1 // the next transaction waits until they were executed
	config.AfterRelease = func(c *pgx.Conn) bool {
		_, err := c.PgConn().Exec(context.Background(), statements).ReadAll()
		return err == nil
	}
	(*pool).Close()
	var err error
	if *pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// TestPooler: a store needs no session. Prepared statements can be switched off.
func TestPooler(t *testing.T) {
	s := openPooled(t, pgtest.URL(t)+"&default_query_exec_mode=cache_describe")
	engine, err := durable.New(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := durable.Run(t.Context(), engine, "job", func(ctx context.Context) (sum int, err error) {
		for i := range 20 {
			n, err := durable.Step(ctx, fmt.Sprint(i), nil, func(context.Context) (int, error) { return i, nil })
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	})
	if got != 190 || err != nil {
		t.Errorf("got %d and error %v, want 190", got, err)
	}
	steps, _, err := s.List(t.Context(), storage.Query{Kind: storage.KindStep})
	if len(steps) != 20 || err != nil {
		t.Errorf("got %d steps and error %v, want 20", len(steps), err)
	}
	if err := engine.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPoolerAdvice: a pooler without prepared statements is recognized.
func TestPoolerAdvice(t *testing.T) {
	s := openPooled(t, pgtest.URL(t))
	var err error
	for i := 0; i < 100 && err == nil; i++ { // the first ones prepare on each connection
		_, err = s.Get(t.Context(), []storage.Key{key(storage.KindStep, "r", "a")})
	}
	if !errors.Is(err, storage.ErrStore) ||
		!strings.Contains(err.Error(), "add default_query_exec_mode=cache_describe to the URL") {
		t.Errorf("got error %v", err)
	}
}
