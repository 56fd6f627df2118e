package durable

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// A queried store counts the queries for entries.
type queried struct {
	Store
	queries int
}

func (q *queried) Entries(ctx context.Context, after Entry, limit int) ([]Entry, error) {
	q.queries++
	return q.Store.Entries(ctx, after, limit)
}

// TestHistories: the entries of a record are those of its history, whichever records
// are skipped. A scan takes few queries.
func TestHistories(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	store := &queried{Store: NewMemory()}
	e := &Engine{store: store}
	var keys []Key
	var w Writes
	for i := range 3000 {
		key := Key{Kind: KindStep, Run: fmt.Sprint("run", i/1000), ID: fmt.Sprintf("step%04d", i%1000)}
		keys = append(keys, key)
		w.Put = append(w.Put, Record{Key: key, Body: []byte("{}")})
		entries := random.IntN(4)
		if i == 1500 {
			entries = 2*MaxPage + 7
		}
		for n := range entries {
			w.Add = append(w.Add, Entry{Step: key, Attempt: n/2 + 1, Part: n % 2, Body: []byte("{}")})
		}
	}
	if err := store.Update(t.Context(), Select{Keys: keys}, func(Tx) (Writes, error) { return w, nil }); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(keys, Key.Compare)
	for _, test := range []struct{ percent, most int }{{0, 0}, {1, 80}, {15, 800}, {50, 400}, {100, 30}} {
		store.queries = 0
		h := e.newHistories()
		for _, key := range keys {
			if random.IntN(100) >= test.percent {
				continue
			}
			got, err := gather(h.of(t.Context(), key))
			if err != nil {
				t.Fatal(err)
			}
			if want, err := gather(e.entries(t.Context(), key)); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: got %d entries, want %d, error %v", key, len(got), len(want), err)
			}
		}
		if store.queries > test.most {
			t.Errorf("%d%% of the records: %d queries, want at most %d", test.percent, store.queries, test.most)
		}
	}
}
