package memory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func TestKeyList(t *testing.T) {
	var l keyList
	var want []storage.Key
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		key := recordKey(r.IntN(3000))
		at, found := slices.BinarySearchFunc(want, key, storage.Key.Compare)
		if r.IntN(3) == 0 {
			l.remove(key)
			if found {
				want = slices.Delete(want, at, at+1)
			}
			continue
		}
		l.insert(key)
		if !found {
			want = slices.Insert(want, at, key)
		}
	}
	if got := slices.Collect(l.after(storage.Key{})); !slices.Equal(got, want) {
		t.Fatalf("got %d keys, want %d, or others", len(got), len(want))
	}
	for range 1000 {
		key := recordKey(r.IntN(3000))
		at, _ := slices.BinarySearchFunc(want, key, storage.Key.Compare)
		if got := slices.Collect(l.after(key)); !slices.Equal(got, want[at:]) {
			t.Fatalf("from %v: got %d keys, want %d, or others", key, len(got), len(want)-at)
		}
	}
	for key := range slices.Values(want) {
		l.remove(key)
	}
	if len(l.chunks) != 0 {
		t.Errorf("the empty list has %d chunks", len(l.chunks))
	}
}

// TestMemoryLocksInTurn: updates of a record wait for each other in the order
// in which they came, and one whose context ends leaves.
func TestMemoryLocksInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		key := storage.Select{Keys: []storage.Key{recordKey(1)}}
		var order []int
		var wg sync.WaitGroup
		for i := range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				err := m.Update(ctx, key, func(storage.Tx) (storage.Writes, error) {
					order = append(order, i)
					time.Sleep(time.Second)
					return storage.Writes{}, nil
				})
				if (i == 2) != errors.Is(err, context.Canceled) {
					t.Errorf("update %d: got %v", i, err)
				}
			})
			synctest.Wait()
			if i == 2 {
				cancel()
			}
			defer cancel()
		}
		start := time.Now()
		wg.Wait()
		if got, want := time.Since(start), 4*time.Second; got != want {
			t.Errorf("4 updates of 1s took %v, want %v", got, want)
		}
		if want := []int{0, 1, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("got order %v, want %v", order, want)
		}
		if len(m.locks) > 0 {
			t.Errorf("got %d locks at the end, want none", len(m.locks))
		}
	})
}

func TestMemoryClosed(t *testing.T) {
	m := New()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	sel := storage.Select{Keys: []storage.Key{recordKey(1)}}
	err := m.Update(t.Context(), sel, func(storage.Tx) (storage.Writes, error) { return storage.Writes{}, nil })
	_, got := m.Get(t.Context(), nil)
	_, _, list := m.List(t.Context(), storage.Query{Kind: storage.KindStep})
	_, _, history := m.History(t.Context(), recordKey(1), "")
	for _, err := range []error{err, got, list, history} {
		if !errors.Is(err, storage.ErrStore) {
			t.Errorf("got %v from a closed store, want ErrStore", err)
		}
	}
}

func TestMemoryRefusesSelections(t *testing.T) {
	err := New().Update(
		t.Context(), storage.Select{}, func(storage.Tx) (storage.Writes, error) { return storage.Writes{}, nil },
	)
	if !errors.Is(err, storage.ErrStore) {
		t.Errorf("got %v for an empty selection, want ErrStore", err)
	}
	if _, _, err := New().History(t.Context(), recordKey(1), "x"); !errors.Is(err, storage.ErrStore) {
		t.Errorf("got %v for a cursor of something else, want ErrStore", err)
	}
}

func BenchmarkMemoryUpdate(b *testing.B) {
	m := New()
	keys := []storage.Key{{Kind: storage.KindRun, Space: "s", Run: "r"}, recordKey(1)}
	body := make([]byte, 265)
	b.ReportAllocs()
	for b.Loop() {
		err := m.Update(b.Context(), storage.Select{Keys: keys}, func(tx storage.Tx) (storage.Writes, error) {
			r := tx.Records[1]
			r.Body = body
			return storage.Writes{Put: []storage.Record{r}}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func recordKey(i int) storage.Key {
	return storage.Key{Kind: storage.KindStep, Space: "s", Run: "r", ID: fmt.Sprintf("%04d", i)}
}
