package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// increment adds 1 to the number in a record and returns it.
func increment(ctx context.Context, store storage.Store, key storage.Key) (n int, err error) {
	err = store.Update(ctx, storage.Select{Keys: []storage.Key{key}}, func(tx storage.Tx) (storage.Writes, error) {
		n = number(tx.Records[0]) + 1
		r := storage.Record{Key: key, Status: storage.StatusOpen, Bucket: month, Body: []byte(strconv.Itoa(n))}
		return storage.Writes{Put: []storage.Record{r}}, nil
	})
	return n, err
}

// number returns the number in a record, or 0 if it does not exist.
func number(r storage.Record) int {
	n, _ := strconv.Atoi(string(r.Body))
	return n
}

// TestLostReply cuts the connection between a commit and its reply: the update
// returns ErrUnknown, and its repeat finds what it has written.
func TestLostReply(t *testing.T) {
	url := pgtest.URL(t)
	proxy, through := pgtest.NewProxy(t, url)
	store, direct := open(t, through), open(t, url)
	r := storage.Record{Key: stepKey("a"), Status: storage.StatusOpen, Bucket: month, Body: []byte("1")}
	proxy.CutCommits(1)
	if err := tryPut(t, store, r); !errors.Is(err, storage.ErrUnknown) || errors.Is(err, storage.ErrStore) {
		t.Errorf("got error %v, want ErrUnknown", err)
	}
	if got := get(t, direct, r.Key); got.Version != 1 {
		t.Errorf("got %+v, want what was committed", got)
	}
	put(t, store, r)
	if got := get(t, direct, r.Key).Version; got != 1 {
		t.Errorf("version %d after the repeat, want 1", got)
	}
}

// TestLostStatement: the proxy cuts the reply to a statement that commits by itself, too,
// but not inside a transaction.
func TestLostStatement(t *testing.T) {
	url := pgtest.URL(t)
	pgtest.Exec(t, url, "CREATE TABLE number (n int)")
	proxy, through := pgtest.NewProxy(t, url)
	conn, err := pgx.Connect(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	proxy.CutCommits(1)
	for _, statement := range []string{"BEGIN", "INSERT INTO number VALUES (1)", "ROLLBACK"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if _, err := conn.Exec(t.Context(), "INSERT INTO number VALUES (2)"); err == nil {
		t.Error("the reply was not cut")
	}
	var n int
	if pgtest.Scan(t, url, "SELECT sum(n) FROM number", &n); n != 2 {
		t.Errorf("got sum %d, want 2", n)
	}
}

// TestLostReplies: an engine goes on when replies are lost, and executes no step
// twice.
func TestLostReplies(t *testing.T) {
	proxy, through := pgtest.NewProxy(t, pgtest.URL(t))
	engine, err := durable.New(open(t, through))
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	err = engine.Run(t.Context(), "job", func(ctx context.Context) error {
		for i := range 20 {
			proxy.CutCommits(i % 2)
			_, err := durable.Step(ctx, fmt.Sprint(i), nil, func(context.Context) (int, error) {
				calls.Add(1)
				return i, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || calls.Load() != 20 {
		t.Errorf("got %d calls and error %v, want 20", calls.Load(), err)
	}
	if err := engine.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCutConnections cuts connections before commits: updates are repeated.
func TestCutConnections(t *testing.T) {
	proxy, through := pgtest.NewProxy(t, pgtest.URL(t))
	store := open(t, through)
	for i := range 10 {
		n, err := increment(t.Context(), store, stepKey("a"))
		if err != nil || n != i+1 {
			t.Fatalf("got %d and error %v, want %d", n, err, i+1)
		}
		proxy.Cut()
	}
}

// TestFrozenNetwork: a network that loses all packets does not hold an update for
// longer than its context.
func TestFrozenNetwork(t *testing.T) {
	proxy, through := pgtest.NewProxy(t, pgtest.URL(t))
	store := open(t, through)
	put(t, store, storage.Record{Key: stepKey("a"), Bucket: month})
	proxy.Freeze(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := increment(ctx, store, stepKey("a"))
	if !errors.Is(err, storage.ErrStore) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v", err)
	}
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("the update ended after %v", d)
	}
	proxy.Freeze(false)
	if n, err := increment(t.Context(), store, stepKey("a")); n != 1 || err != nil {
		t.Errorf("got %d and error %v, want 1", n, err)
	}
}

// TestServerKilled kills the server under load, several times. What was acknowledged
// is there, and nothing else but what is not known.
func TestServerKilled(t *testing.T) {
	const writers = 8
	server := pgtest.Start(t)
	store := open(t, server.URL(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var acknowledged, unknown [writers]int
	var all sync.WaitGroup
	var total atomic.Int64
	for w := range writers {
		all.Go(func() {
			for ctx.Err() == nil {
				n, err := increment(ctx, store, stepKey(fmt.Sprint(w)))
				switch {
				case err == nil && (n <= acknowledged[w] || n > acknowledged[w]+unknown[w]+1):
					t.Errorf("writer %d: got %d after %d and %d that are unknown", w, n, acknowledged[w], unknown[w])
				case err == nil:
					acknowledged[w], unknown[w] = n, 0
					total.Add(1)
				case errors.Is(err, storage.ErrUnknown):
					unknown[w]++
				case !errors.Is(err, storage.ErrStore):
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	for range 3 {
		for begin, end := total.Load(), time.Now().Add(time.Minute); total.Load() < begin+200; {
			if time.Now().After(end) {
				t.Fatal("the writers do not continue")
			}
			time.Sleep(time.Millisecond)
		}
		server.Kill()
		server.Restart(t)
	}
	cancel()
	all.Wait()
	for w := range writers {
		got := number(get(t, store, stepKey(fmt.Sprint(w))))
		if got < acknowledged[w] || got > acknowledged[w]+unknown[w]+1 { // the last one was canceled
			t.Errorf("writer %d: got %d, want %d and at most %d more", w, got, acknowledged[w], unknown[w]+1)
		}
	}
}

// TestUnreplicatedCommit ends the wait of a commit for a synchronous standby that
// does not exist. The server reports success with a warning, or ends the connection.
func TestUnreplicatedCommit(t *testing.T) {
	server := pgtest.Start(t)
	url, admin := server.URL(t), server.DatabaseURL("postgres")
	store := open(t, url)
	set := func(standbys string) {
		pgtest.Exec(t, admin, "ALTER SYSTEM SET synchronous_standby_names = "+standbys)
		pgtest.Exec(t, admin, "SELECT pg_reload_conf()")
	}
	t.Cleanup(func() { set("''") }) // the store is closed and the database dropped later
	set("nobody")
	end := time.Now().Add(time.Minute)
	for i, function := range []string{"pg_cancel_backend", "pg_terminate_backend", "pg_cancel_backend"} {
		key := stepKey(fmt.Sprint(i))
		var got error
		for waited := false; !waited; {
			done := make(chan error)
			go func() {
				_, err := increment(t.Context(), store, key)
				done <- err
			}()
			for ended := false; !ended; {
				select {
				case got = <-done: // before the server has read its configuration
					ended = true
				case <-time.After(10 * time.Millisecond):
					var n int
					pgtest.Scan(t, admin, "SELECT count("+function+"(pid)) FROM pg_stat_activity "+
						"WHERE wait_event = 'SyncRep' AND application_name = 'retrygen'", &n)
					waited = waited || n > 0
				}
			}
			if time.Now().After(end) {
				t.Fatal("no commit waits for a standby")
			}
		}
		if !errors.Is(got, storage.ErrUnknown) || errors.Is(got, storage.ErrStore) {
			t.Errorf("%s: got error %v, want ErrUnknown", function, got)
		}
		if r := get(t, store, key); number(r) == 0 {
			t.Errorf("%s: got %+v, want what was committed", function, r)
		}
	}
}
