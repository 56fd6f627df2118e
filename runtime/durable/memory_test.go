package durable

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
)

func TestKeyList(t *testing.T) {
	var l keyList
	var want []Key
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		key := recordKey(r.IntN(3000))
		at, found := slices.BinarySearchFunc(want, key, Key.Compare)
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
	if got := slices.Collect(l.after(Key{})); !slices.Equal(got, want) {
		t.Fatalf("got %d keys, want %d, or others", len(got), len(want))
	}
	for range 1000 {
		key := recordKey(r.IntN(3000))
		at, _ := slices.BinarySearchFunc(want, key, Key.Compare)
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
		m := NewMemory()
		key := Select{Keys: []Key{recordKey(1)}}
		var order []int
		var wg sync.WaitGroup
		for i := range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				err := m.Update(ctx, key, func(Tx) (Writes, error) {
					order = append(order, i)
					time.Sleep(time.Second)
					return Writes{}, nil
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
	m := NewMemory()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	err := m.Update(t.Context(), Select{Keys: []Key{recordKey(1)}}, func(Tx) (Writes, error) { return Writes{}, nil })
	_, got := m.Get(t.Context(), nil)
	_, _, list := m.List(t.Context(), Query{Kind: KindStep})
	_, _, history := m.History(t.Context(), recordKey(1), "")
	for _, err := range []error{err, got, list, history} {
		if !errors.Is(err, ErrStore) {
			t.Errorf("got %v from a closed store, want ErrStore", err)
		}
	}
}

func TestMemoryRefusesSelections(t *testing.T) {
	err := NewMemory().Update(t.Context(), Select{}, func(Tx) (Writes, error) { return Writes{}, nil })
	if !errors.Is(err, ErrStore) {
		t.Errorf("got %v for an empty selection, want ErrStore", err)
	}
	if _, _, err := NewMemory().History(t.Context(), recordKey(1), "x"); !errors.Is(err, ErrStore) {
		t.Errorf("got %v for a cursor of something else, want ErrStore", err)
	}
}

func BenchmarkMemoryUpdate(b *testing.B) {
	m := NewMemory()
	keys := []Key{{Kind: KindRun, Space: "s", Run: "r"}, recordKey(1)}
	body := make([]byte, 265)
	b.ReportAllocs()
	for b.Loop() {
		err := m.Update(b.Context(), Select{Keys: keys}, func(tx Tx) (Writes, error) {
			r := tx.Records[1]
			r.Body = body
			return Writes{Put: []Record{r}}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func recordKey(i int) Key {
	return Key{Kind: KindStep, Space: "s", Run: "r", ID: fmt.Sprintf("%04d", i)}
}
