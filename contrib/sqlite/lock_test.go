//go:build unix

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// childStop holds an owner and stops itself in the middle of a batch.
func childStop(args []string) {
	store := must1(sqlite.Open(args[0]))
	must1(store.Hold("stopped"))
	key := storage.Key{Kind: storage.KindRun, Run: "stopped"}
	must(store.Update(context.Background(), storage.Select{Keys: []storage.Key{key}},
		func(storage.Tx) (storage.Writes, error) {
			must(syscall.Kill(os.Getpid(), syscall.SIGSTOP))
			return storage.Writes{Put: []storage.Record{{Key: key, Body: body(1)}}}, nil
		}))
	fmt.Println("committed")
	waitForLine()
}

// within calls Update with a context that ends after d.
func within(store storage.Store, d time.Duration, r storage.Record) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return store.Update(ctx, storage.Select{Keys: []storage.Key{r.Key}}, func(storage.Tx) (storage.Writes, error) {
		return storage.Writes{Put: []storage.Record{r}}, nil
	})
}

// checkWaits checks that an update waits for its context, and that reads do not.
func checkWaits(t *testing.T, store storage.Store, r storage.Record) {
	t.Helper()
	err := within(store, 20*time.Millisecond, r)
	if !errors.Is(err, storage.ErrStore) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Update: got %v", err)
	}
	if got := get(t, store, r.Key); got.Version != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestStoppedHolder stops a process that holds the lock of a batch: updates wait
// for it until their contexts end, reads do not wait.
func TestStoppedHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	store := open(t, path)
	child := start(t, "stop", path)
	child.stopped()

	before := runtime.NumGoroutine()
	r := storage.Record{Key: stepKey("a"), Body: body(1)}
	for range 5 {
		checkWaits(t, store, r)
	}
	if extra := runtime.NumGoroutine() - before; extra > 2 {
		t.Errorf("%d goroutines remain of 5 updates", extra)
	}
	if store.Dead("stopped") {
		t.Error("the owner of the stopped process is dead")
	}
	closing, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	updated := make(chan error)
	go func() { updated <- within(closing, time.Hour, r) }()
	if err := closing.Close(); err != nil {
		t.Errorf("Close during an update that waits: %v", err)
	}
	if err := <-updated; !errors.Is(err, os.ErrClosed) {
		t.Errorf("Update that waits while the store is closed: got %v", err)
	}

	if err := child.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	child.expect("committed")
	put(t, store, r)
	if got := get(t, store, storage.Key{Kind: storage.KindRun, Run: "stopped"}); got.Version != 1 {
		t.Errorf("the update of the stopped process: got %+v", got)
	}
	child.kill()
	if !store.Dead("stopped") {
		t.Error("the owner of the killed process is not dead")
	}
}

// TestKilledHolder kills a process that holds the lock of a batch: the next
// update needs no wait, and the batch is undone.
func TestKilledHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	store := open(t, path)
	child := start(t, "stop", path)
	child.stopped()
	child.kill()
	put(t, store, storage.Record{Key: stepKey("a"), Body: body(1)})
	if got := get(t, store, storage.Key{Kind: storage.KindRun, Run: "stopped"}); got.Version != 0 {
		t.Errorf("the update of the killed process: got %+v", got)
	}
}

// childOther holds a transaction as a program does that knows nothing of our
// locks.
func childOther(args []string) {
	db := must1(sql.Open("sqlite", args[0]))
	tx := must1(db.Begin())
	must1(tx.Exec("UPDATE retry_meta SET value = value"))
	fmt.Println("holds")
	waitForLine()
	must(tx.Commit())
	fmt.Println("committed")
	waitForLine()
}

// TestOtherDriver lets another process hold the write lock of SQLite.
func TestOtherDriver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	store := open(t, path)
	r := storage.Record{Key: stepKey("a"), Body: body(1)}
	for _, end := range []func(*process){
		func(p *process) { p.send(); p.expect("committed") },
		(*process).kill,
	} {
		child := start(t, "other", path)
		child.expect("holds")
		checkWaits(t, store, r)
		updated := make(chan error)
		go func() { updated <- within(store, time.Minute, r) }()
		end(child)
		if err := <-updated; err != nil {
			t.Errorf("Update after the other transaction: %v", err)
		}
		r = storage.Record{Key: stepKey("b"), Body: body(1)}
	}
}

// TestLongReader lets another program read an old snapshot while the WAL grows
// above its limit. When it has ended, the WAL is small again.
func TestLongReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	store := open(t, path)
	result := make([]byte, 1<<20)
	attempt := 0
	grow := func(n int) int64 {
		t.Helper()
		key := stepKey("a")
		for range n {
			attempt++
			err := store.Update(t.Context(), storage.Select{Keys: []storage.Key{key}},
				func(storage.Tx) (storage.Writes, error) {
					e := storage.Entry{Step: key, Attempt: attempt, Body: body(1), Result: result}
					return storage.Writes{Add: []storage.Entry{e}}, nil
				})
			if err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	const limit = 64 << 20
	if size := grow(20); size > 10<<20 {
		t.Errorf("the WAL has %d bytes without a reader", size)
	}
	reader := other(t, path)
	execute(t, reader, "BEGIN")
	var n int
	if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM retry_record").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if size := grow(70); size < limit {
		t.Errorf("the WAL has %d bytes: the reader does not hold a snapshot", size)
	}
	execute(t, reader, "COMMIT")
	if size := grow(10); size > limit {
		t.Errorf("the WAL has %d bytes after the reader", size)
	}
	entries, next, err := store.History(t.Context(), stepKey("a"), "")
	if err != nil || next != "" || len(entries) != attempt {
		t.Errorf("got %d entries, %q, %v; want %d", len(entries), next, err, attempt)
	}
}

// TestHold holds one owner from two stores.
func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	one, two := open(t, path), open(t, path)
	release, err := one.Hold("a/b c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Hold("a/b c"); !errors.Is(err, storage.ErrStore) {
		t.Errorf("held twice: got %v", err)
	}
	if one.Dead("a/b c") || two.Dead("a/b c") {
		t.Error("an owner that is held is dead")
	}
	for range 2 {
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	if !one.Dead("a/b c") || !two.Dead("a/b c") {
		t.Error("an owner that was released is not dead")
	}
	if release, err = two.Hold("a/b c"); err != nil {
		t.Errorf("held again: %v", err)
	} else if err := release(); err != nil {
		t.Error(err)
	}
	for _, owner := range []string{"", string(make([]byte, 101))} {
		if _, err := one.Hold(owner); !errors.Is(err, storage.ErrStore) {
			t.Errorf("owner of %d bytes: got %v", len(owner), err)
		}
		if one.Dead(owner) {
			t.Errorf("owner of %d bytes: dead", len(owner))
		}
	}
}

// TestOwnersLeft removes the files of killed processes, and only those.
func TestOwnersLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	store := open(t, path)
	if _, err := store.Hold("alive"); err != nil {
		t.Fatal(err)
	}
	child := start(t, "stop", path)
	child.stopped()
	child.kill()
	open(t, path)
	names, err := filepath.Glob(path + "-owner-*")
	if len(names) != 1 || err != nil || names[0] != path+"-owner-alive" {
		t.Errorf("found %q, %v", names, err)
	}
	if store.Dead("alive") {
		t.Error("an owner that is held is dead")
	}
}
