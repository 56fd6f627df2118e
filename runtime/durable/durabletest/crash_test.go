package durabletest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestTransparent: a faulty store is a store until it fails.
func TestTransparent(t *testing.T) {
	durabletest.Run(t, func(*testing.T, string) storage.Store {
		return durabletest.CrashAt(newHeld(), 0)
	})
}

func key(i int) storage.Key { return storage.Key{Kind: storage.KindStep, ID: fmt.Sprint(i)} }

// write makes three updates, each of its own record, until one fails.
func write(ctx context.Context, s storage.Store) error {
	for i := range 3 {
		err := s.Update(ctx, storage.Select{Keys: []storage.Key{key(i)}}, func(storage.Tx) (storage.Writes, error) {
			return storage.Writes{}, nil // no point
		})
		if err != nil {
			return err
		}
		err = s.Update(ctx, storage.Select{Keys: []storage.Key{key(i)}}, func(tx storage.Tx) (storage.Writes, error) {
			return storage.Writes{Put: tx.Records}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// written returns how many records exist.
func written(t *testing.T, s storage.Store) int {
	t.Helper()
	records, _, err := s.List(t.Context(), storage.Query{Kind: storage.KindStep})
	if err != nil {
		t.Fatal(err)
	}
	return len(records)
}

func TestCrashAt(t *testing.T) {
	for n := 1; ; n++ {
		m := memory.New()
		f := durabletest.CrashAt(m, n)
		ctx, cancel := f.Context(t.Context())
		defer cancel()
		err := write(ctx, f)
		if !f.Failed() {
			if err != nil || n != 7 {
				t.Errorf("no crash at point %d, and error %v; want 6 points", n, err)
			}
			return
		}
		if !errors.Is(err, durabletest.ErrCrashed) || context.Cause(ctx) != durabletest.ErrCrashed {
			t.Errorf("point %d: got error %v and cause %v, want ErrCrashed", n, err, context.Cause(ctx))
		}
		for _, err := range afterCrash(t.Context(), f) {
			if !errors.Is(err, durabletest.ErrCrashed) {
				t.Errorf("point %d: got error %v after the crash, want ErrCrashed", n, err)
			}
		}
		if got, want := written(t, m), n/2; got != want {
			t.Errorf("crash at point %d: got %d records, want %d", n, got, want)
		}
	}
}

// TestFailBy: commits fail as a script says.
func TestFailBy(t *testing.T) {
	for _, test := range []struct {
		script  string
		err     error // of the first update that fails
		written int
		dead    bool
	}{
		{"ok", nil, 3, false},
		{"ok ok crash", durabletest.ErrCrashed, 2, true},
		{"ok partial=crash", durabletest.ErrCrashed, 2, true},
		{"ok lost", storage.ErrUnknown, 1, false},
		{"ok*2 partial=lost", storage.ErrUnknown, 3, false},
		{"network", storage.ErrStore, 0, false},
	} {
		m := memory.New()
		f := durabletest.FailBy(m, test.script)
		if err := write(t.Context(), f); !errors.Is(err, test.err) {
			t.Errorf("%s: got error %v, want %v", test.script, err, test.err)
		}
		if n := written(t, m); n != test.written {
			t.Errorf("%s: got %d records, want %d", test.script, n, test.written)
		}
		if _, err := f.Get(t.Context(), nil); errors.Is(err, durabletest.ErrCrashed) != test.dead {
			t.Errorf("%s: got error %v after it, want dead: %t", test.script, err, test.dead)
		}
	}
}

func afterCrash(ctx context.Context, f *durabletest.Faulty) []error {
	_, get := f.Get(ctx, []storage.Key{key(1)})
	_, _, list := f.List(ctx, storage.Query{})
	_, _, history := f.History(ctx, key(1), "")
	dead, cancel := f.Context(ctx)
	defer cancel()
	return []error{write(ctx, f), get, list, history, context.Cause(dead)}
}

func TestLoseReply(t *testing.T) {
	for n := 1; n <= 6; n++ {
		m := memory.New()
		f := durabletest.LoseReply(m, n)
		if err := write(t.Context(), f); !errors.Is(err, storage.ErrUnknown) || !f.Failed() {
			t.Errorf("point %d: got error %v, want ErrUnknown", n, err)
		}
		if got, want := written(t, m), n/2; got != want {
			t.Errorf("point %d: got %d records, want %d", n, got, want)
		}
		if err := write(t.Context(), f); err != nil {
			t.Errorf("point %d: got error %v afterwards, want none", n, err)
		}
	}
}

// TestCrashInFlight: an update that decides after the crash commits nothing.
func TestCrashInFlight(t *testing.T) {
	m := memory.New()
	f := durabletest.CrashAt(m, 1)
	err := f.Update(t.Context(), storage.Select{Keys: []storage.Key{key(9)}}, func(tx storage.Tx) (storage.Writes, error) {
		_ = write(t.Context(), f)
		return storage.Writes{Put: tx.Records}, nil
	})
	if !errors.Is(err, durabletest.ErrCrashed) || written(t, m) != 0 {
		t.Errorf("got error %v and %d records, want ErrCrashed and none", err, written(t, m))
	}
}

// held is a memory store that knows its owners.
type held struct {
	*memory.Store
	owners *sync.Map
}

func newHeld() held { return held{memory.New(), &sync.Map{}} }

func (h held) Hold(owner string) (func() error, error) {
	h.owners.Store(owner, true)
	return func() error { h.owners.Delete(owner); return nil }, nil
}

func (h held) Dead(owner string) bool {
	_, alive := h.owners.Load(owner)
	return !alive
}

func TestCrashReleasesOwners(t *testing.T) {
	h := newHeld()
	f := durabletest.CrashAt(h, 1)
	release, err := f.Hold("a")
	if err != nil || f.Dead("a") {
		t.Fatalf("got error %v, dead %v; want a held owner", err, f.Dead("a"))
	}
	_ = write(t.Context(), f)
	if !h.Dead("a") {
		t.Error("the owner is alive after the crash")
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if _, err := f.Hold("b"); !errors.Is(err, durabletest.ErrCrashed) {
		t.Errorf("got error %v, want ErrCrashed", err)
	}
}
