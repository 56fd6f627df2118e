package durable

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// pages is a store whose page failing, from 1, is an error. None fails if it is 0.
type pages struct {
	storage.Store
	read, failing int
}

func (p *pages) List(ctx context.Context, q storage.Query) ([]storage.Record, storage.Cursor, error) {
	if p.read++; p.read == p.failing {
		return nil, "", fmt.Errorf("%w: page %d", storage.ErrStore, p.read)
	}
	return p.Store.List(ctx, q)
}

// TestReadAhead: the steps of all pages are read, as far as there is room, or none if
// a page cannot be read.
func TestReadAhead(t *testing.T) {
	const steps = 2*storage.MaxPage + 1
	m := memory.New()
	var w storage.Writes
	var sel storage.Select
	for i := range steps {
		key := storage.Key{Kind: storage.KindStep, Run: "one", ID: fmt.Sprintf("charge/%d", i)}
		r := storage.Record{Key: key, Status: storage.StatusSucceeded}
		if i%2 == 1 {
			r.Status = storage.StatusFailed
		}
		body := record.Step{Name: "charge", Attempts: i, Result: &record.Payload{JSON: fmt.Appendf(nil, `"%d"`, i)}}
		if err := record.EncodeStep(&r, &body); err != nil {
			t.Fatal(err)
		}
		w.Put, sel.Keys = append(w.Put, r), append(sel.Keys, r.Key)
	}
	if err := m.Update(t.Context(), sel, func(storage.Tx) (storage.Writes, error) { return w, nil }); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name           string
		failing, limit int
		err            error
		fewest, most   int
		partial        bool // not all are read
	}{
		{name: "all", limit: readAhead, fewest: steps, most: steps},
		{name: "full at once", limit: 1, partial: true},
		{name: "full", limit: 400_000, fewest: 1, most: steps - 1, partial: true},
		{name: "first page", failing: 1, limit: readAhead, err: storage.ErrStore},
		{
			name: "second page", failing: 2, limit: readAhead, err: storage.ErrStore, fewest: storage.MaxPage,
			most: storage.MaxPage,
		},
		{
			name: "last page", failing: 3, limit: readAhead, err: storage.ErrStore, fewest: 2 * storage.MaxPage,
			most: 2 * storage.MaxPage,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := &Engine{ns: namespace.New(&pages{Store: m, failing: test.failing})}
			l := newLedger(test.limit)
			l.complete = true
			err := e.readAhead(t.Context(), storage.Query{Kind: storage.KindStep, Run: "one"}, l)
			n := len(l.finished)
			if !errors.Is(err, test.err) || n < test.fewest || n > test.most || l.complete == test.partial {
				t.Fatalf("got error %v, %d steps, complete: %v", err, n, l.complete)
			}
			for id, f := range l.finished {
				want := `"` + id[len("charge/"):] + `"`
				if f.body != nil {
					f.result = f.body.Result.JSON
				}
				if got := string(f.result); got != want {
					t.Errorf("%s: got result %s, want %s", id, got, want)
				}
			}
		})
	}
}
