package durable_test

import (
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestOrder: runs are listed by id, from the newest to the oldest, and in reverse, with
// every filter, whether they are in one store or in several.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		sharded, err := durable.NewSharded([]storage.Store{memory.New(), memory.New(), memory.New()})
		if err != nil {
			t.Fatal(err)
		}
		defer sharded.Close(t.Context())
		begun := time.Now()
		for i, id := range []string{"c/1", "a", "d", "c/2", "b"} {
			if id != "c/2" { // at the time of d
				time.Sleep(time.Second)
			}
			for _, e := range []*durable.Engine{e, sharded.Engine(id)} {
				handler := []string{"even", "odd"}[i%2]
				if err := durable.Start(t.Context(), e, handler, id, i); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := e.Admin().Cancel(t.Context(), "a", events.Operator{Name: "ada"}); err != nil {
			t.Fatal(err)
		}
		canceled := []storage.Status{storage.StatusCanceled}
		for _, test := range []struct {
			name  string
			query storage.Query
			want  string
			one   bool // store
		}{
			{"by id", storage.Query{}, "a b c/1 c/2 d", false},
			{"newest", storage.Query{Order: storage.OrderNewest}, "b d c/2 a c/1", false},
			{"oldest", storage.Query{Order: storage.OrderOldest}, "c/1 a c/2 d b", false},
			{"due", storage.Query{Order: storage.OrderDue}, "c/1 c/2 d b a", true},
			{"handler", storage.Query{Order: storage.OrderNewest, Handlers: []string{"odd"}}, "c/2 a", false},
			{"prefix", storage.Query{Order: storage.OrderOldest}.Prefix("c/"), "c/1 c/2", false},
			{"prefix, after", storage.Query{
				Order: storage.OrderNewest, From: storage.AfterCreated(begun.Add(3*time.Second), "c/2"),
			}.Prefix("c/"), "c/1", true},
			{"prefix, handler", storage.Query{Order: storage.OrderNewest, Handlers: []string{"odd"}}.Prefix("c/"), "c/2", false},
			{"status", storage.Query{Order: storage.OrderNewest, Status: canceled}, "a", true},
			{"times", storage.Query{CreatedFrom: begun.Add(2 * time.Second), CreatedBefore: begun.Add(4 * time.Second)},
				"a c/2 d", false},
			{"times, newest", storage.Query{Order: storage.OrderNewest, CreatedFrom: begun.Add(2 * time.Second)},
				"b d c/2 a", false},
			{"times, oldest", storage.Query{Order: storage.OrderOldest, CreatedBefore: begun.Add(3 * time.Second)},
				"c/1 a", false},
			{"after", storage.Query{
				Order: storage.OrderNewest, From: storage.AfterCreated(begun.Add(3*time.Second), "c/2"), Limit: 1,
			}, "a c/1", true},
		} {
			lists := map[string]func() []string{
				"store": func() []string { return ids(t, e.Admin().List(t.Context(), test.query)) },
			}
			if !test.one {
				lists["shards"] = func() []string { return ids(t, admin.ListAll(t.Context(), sharded.Admins(), test.query)) }
			}
			for where, list := range lists {
				if got := strings.Join(list(), " "); got != test.want {
					t.Errorf("%s, %s: got %s, want %s", test.name, where, got, test.want)
				}
			}
		}
		for r, err := range e.Admin().List(t.Context(), storage.Query{Run: "d"}) {
			if want := begun.Add(3 * time.Second); err != nil || !r.Created.Equal(want) {
				t.Errorf("got %v, %v; want the run to be created at %v", r.Created, err, want)
			}
		}
		q := storage.Query{Order: storage.OrderNewest, From: storage.After("a", "")}
		for _, err := range e.Admin().List(t.Context(), q) {
			if err == nil || !strings.Contains(err.Error(), "is a cursor of another order") {
				t.Errorf("got error %v, want one for a cursor of another order", err)
			}
		}
	})
}

// ids returns the ids of runs.
func ids(t *testing.T, runs iter.Seq2[admin.RunInfo, error]) (all []string) {
	t.Helper()
	for r, err := range runs {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.ID)
	}
	return all
}
