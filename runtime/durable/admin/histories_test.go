package admin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A queried store counts the queries for entries.
type queried struct {
	storage.Store
	queries int
}

func (q *queried) Entries(ctx context.Context, after storage.Entry, limit int) ([]storage.Entry, error) {
	q.queries++
	return q.Store.Entries(ctx, after, limit)
}

// TestHistories: the entries of a record are those of its history, whichever records
// are skipped. A scan takes few queries.
func TestHistories(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	store := &queried{Store: memory.New()}
	n := namespace.New(store)
	var keys []storage.Key
	var w storage.Writes
	for i := range 3000 {
		key := storage.Key{Kind: storage.KindStep, Run: fmt.Sprint("run", i/1000), ID: fmt.Sprintf("step%04d", i%1000)}
		keys = append(keys, key)
		w.Put = append(w.Put, storage.Record{Key: key, Body: []byte("{}")})
		entries := random.IntN(4)
		if i == 1500 {
			entries = 2*storage.MaxPage + 7
		}
		for n := range entries {
			w.Add = append(w.Add, storage.Entry{Step: key, Attempt: n/2 + 1, Part: n % 2, Body: []byte("{}")})
		}
	}
	sel := storage.Select{Keys: keys}
	if err := store.Update(t.Context(), sel, func(storage.Tx) (storage.Writes, error) { return w, nil }); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(keys, storage.Key.Compare)
	for _, test := range []struct{ percent, most int }{{0, 0}, {1, 80}, {15, 800}, {50, 400}, {100, 30}} {
		store.queries = 0
		h := newHistories(n)
		for _, key := range keys {
			if random.IntN(100) >= test.percent {
				continue
			}
			got, err := gather(h.of(t.Context(), key))
			if err != nil {
				t.Fatal(err)
			}
			if want, err := gather(n.Entries(t.Context(), key)); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: got %d entries, want %d, error %v", key, len(got), len(want), err)
			}
		}
		if store.queries > test.most {
			t.Errorf("%d%% of the records: %d queries, want at most %d", test.percent, store.queries, test.most)
		}
	}
}
