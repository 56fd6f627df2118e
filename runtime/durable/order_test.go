package durable_test

import (
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
)

// TestOrder: runs are listed by id, from the newest to the oldest, and in reverse, with
// every filter, whether they are in one store or in several.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, durable.NewMemory())
		sharded, err := durable.NewSharded([]durable.Store{durable.NewMemory(), durable.NewMemory(), durable.NewMemory()})
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
		if err := e.Cancel(t.Context(), "a", durable.Operator{Name: "ada"}); err != nil {
			t.Fatal(err)
		}
		canceled := []durable.Status{durable.StatusCanceled}
		for _, test := range []struct {
			name  string
			query durable.Query
			want  string
			one   bool // store
		}{
			{"by id", durable.Query{}, "a b c/1 c/2 d", false},
			{"newest", durable.Query{Order: durable.OrderNewest}, "b d c/2 a c/1", false},
			{"oldest", durable.Query{Order: durable.OrderOldest}, "c/1 a c/2 d b", false},
			{"handler", durable.Query{Order: durable.OrderNewest, Handlers: []string{"odd"}}, "c/2 a", false},
			{"prefix", durable.Query{Order: durable.OrderOldest}.Prefix("c/"), "c/1 c/2", false},
			{"prefix, after", durable.Query{
				Order: durable.OrderNewest, From: durable.AfterCreated(begun.Add(3*time.Second), "c/2"),
			}.Prefix("c/"), "c/1", true},
			{"prefix, handler", durable.Query{Order: durable.OrderNewest, Handlers: []string{"odd"}}.Prefix("c/"), "c/2", false},
			{"status", durable.Query{Order: durable.OrderNewest, Status: canceled}, "a", true},
			{"times", durable.Query{CreatedFrom: begun.Add(2 * time.Second), CreatedBefore: begun.Add(4 * time.Second)},
				"a c/2 d", false},
			{"times, newest", durable.Query{Order: durable.OrderNewest, CreatedFrom: begun.Add(2 * time.Second)},
				"b d c/2 a", false},
			{"times, oldest", durable.Query{Order: durable.OrderOldest, CreatedBefore: begun.Add(3 * time.Second)},
				"c/1 a", false},
			{"after", durable.Query{
				Order: durable.OrderNewest, From: durable.AfterCreated(begun.Add(3*time.Second), "c/2"), Limit: 1,
			}, "a c/1", true},
		} {
			lists := map[string]func() []string{"store": func() []string { return ids(t, e.List(t.Context(), test.query)) }}
			if !test.one {
				lists["shards"] = func() []string { return ids(t, sharded.List(t.Context(), test.query)) }
			}
			for where, list := range lists {
				if got := strings.Join(list(), " "); got != test.want {
					t.Errorf("%s, %s: got %s, want %s", test.name, where, got, test.want)
				}
			}
		}
		for r, err := range e.List(t.Context(), durable.Query{Run: "d"}) {
			if want := begun.Add(3 * time.Second); err != nil || !r.Created.Equal(want) {
				t.Errorf("got %v, %v; want the run to be created at %v", r.Created, err, want)
			}
		}
		for _, err := range e.List(t.Context(), durable.Query{Order: durable.OrderNewest, From: durable.After("a", "")}) {
			if err == nil || !strings.Contains(err.Error(), "is a cursor of another order") {
				t.Errorf("got error %v, want one for a cursor of another order", err)
			}
		}
	})
}

// ids returns the ids of runs.
func ids(t *testing.T, runs iter.Seq2[durable.RunInfo, error]) (all []string) {
	t.Helper()
	for r, err := range runs {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.ID)
	}
	return all
}
