package durabletest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func entry(key storage.Key, attempt, part int) storage.Entry {
	return storage.Entry{
		Step: key, Attempt: attempt, Part: part, At: month.Add(time.Hour), Bucket: month, Body: number(uint64(attempt)),
	}
}

// equalEntries compares entries.
func equalEntries(t *testing.T, got, want []storage.Entry) {
	t.Helper()
	equal := func(a, b storage.Entry) bool {
		return a.Step == b.Step && a.Attempt == b.Attempt && a.Part == b.Part && a.At.Equal(b.At) &&
			a.At.Location() == time.UTC && a.Bucket.Equal(b.Bucket) && bytes.Equal(a.Body, b.Body) &&
			bytes.Equal(a.Result, b.Result)
	}
	if len(got) != len(want) {
		t.Errorf("got %d entries, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if !equal(got[i], want[i]) {
			t.Errorf("got entry %s, want %s", setFields(got[i]), setFields(want[i]))
			return
		}
	}
}

// testEntries: the entries of a record come back in the order of attempts and
// parts, whether there is a record or not, and not those of another record with
// the same id.
func testEntries(t *testing.T, p *place) {
	s := p.store()
	budget := storage.Key{Kind: storage.KindBudget, Space: "test", ID: "a"}
	breaker := budget
	breaker.Kind = storage.KindBreaker
	for _, key := range []storage.Key{step("a"), step("b"), run("a"), budget, breaker} {
		all := []storage.Entry{
			entry(key, 2, 0), entry(key, 1, math.MaxInt), entry(key, 10, 0), entry(key, 1, 0), entry(key, 0, 0),
		}
		all[0].Result = []byte(`{"b": "\u0000", "a": 1}`)
		all[1].At = time.Date(2026, 11, 23, 1, 2, 3, 456789000, time.FixedZone("far", -9*3600))
		s.write(storage.Writes{Add: all[:2]})
		s.write(storage.Writes{Put: []storage.Record{record(key, 1)}, Add: all[2:]})
		got, _ := s.history(key)
		equalEntries(t, got, []storage.Entry{all[4], all[3], all[1], all[0], all[2]})
	}
	if got, _ := s.history(step("none")); len(got) > 0 {
		t.Errorf("got entries %v of a step that has none", got)
	}
}

// testEntriesRepeated: an entry that exists stays what it is.
func testEntriesRepeated(t *testing.T, p *place) {
	s := p.store()
	first, second := entry(step("a"), 1, 0), entry(step("a"), 2, 0)
	s.write(storage.Writes{Add: []storage.Entry{first}})
	other := entry(step("a"), 1, 0)
	other.Body, other.Result = []byte(`"other"`), []byte(`"other"`)
	s.write(storage.Writes{Add: []storage.Entry{other, second, second}})
	got, _ := s.history(step("a"))
	equalEntries(t, got, []storage.Entry{first, second})
}

// testDelete: with a record its entries go, and only these. Delete comes before
// Put and Add.
func testDelete(t *testing.T, p *place) {
	s := p.store()
	fill := storage.Writes{
		Put: []storage.Record{record(step("a"), 1), record(step("ab"), 1)},
		Add: []storage.Entry{entry(step("a"), 1, 0), entry(step("a"), 2, 0), entry(step("ab"), 1, 0)},
	}
	s.write(fill)
	s.write(storage.Writes{Delete: []storage.Key{step("a"), step("none")}})
	equalRecord(t, s.get(step("a"))[0], storage.Record{Key: step("a")})
	got, _ := s.history(step("a"))
	equalEntries(t, got, nil)
	got, _ = s.history(step("ab"))
	equalEntries(t, got, fill.Add[2:])
	s.wantNumber(step("ab"), 1)

	s.write(fill)
	s.write(storage.Writes{
		Delete: []storage.Key{step("a")}, Put: []storage.Record{record(step("a"), 7)},
		Add: []storage.Entry{entry(step("a"), 3, 0)},
	})
	s.wantNumber(step("a"), 7)
	got, _ = s.history(step("a"))
	equalEntries(t, got, []storage.Entry{entry(step("a"), 3, 0)})
}

// testClear: with a run that is cleared what belongs to it goes, with its entries: not the
// run and what operators did to it, nor what belongs to others.
func testClear(t *testing.T, p *place) {
	s := p.store()
	for _, n := range []int{1, 30} { // runs
		name := func(i int) string { return fmt.Sprintf("%d runs, %02d", n, i) }
		var cleared, kept []storage.Key
		for i := range n + 1 {
			for _, kind := range storage.ClearedKinds {
				for _, id := range []string{"", "a", "b"} {
					key := storage.Key{Kind: kind, Space: "test", Run: name(i), ID: id}
					if i < n {
						cleared = append(cleared, key)
					} else {
						kept = append(kept, key)
					}
				}
			}
			kept = append(kept, run(name(i)), storage.Key{Kind: storage.KindStep, Space: "other", Run: name(i)})
		}
		var fill storage.Writes
		for _, key := range slices.Concat(cleared, kept) {
			fill.Put, fill.Add = append(fill.Put, record(key, 1)), append(fill.Add, entry(key, 1, 0), entry(key, 2, 0))
		}
		s.write(fill)
		var runs []storage.Key
		for i := range n {
			runs = append(runs, run(name(i)))
		}
		s.update(runs, func(tx storage.Tx) (storage.Writes, error) {
			w, _ := increment(tx)
			w.Clear = runs
			return w, nil
		})
		for i, r := range s.get(cleared...) {
			equalRecord(t, r, storage.Record{Key: cleared[i]})
			entries, _ := s.history(cleared[i])
			equalEntries(t, entries, nil)
		}
		for i, r := range s.get(kept...) {
			want := uint64(1)
			if slices.Contains(runs, kept[i]) {
				want = 2
			}
			if entries, _ := s.history(kept[i]); numberIn(r) != want || len(entries) != 2 {
				t.Errorf("%v: got number %d and %d entries, want %d and 2", kept[i], numberIn(r), len(entries), want)
			}
		}
	}
}

// testHistoryPages: a long history comes in pages, and an entry that is added
// meanwhile does not disturb them.
func testHistoryPages(t *testing.T, p *place) {
	s := p.store()
	const n = 2*storage.MaxPage + 10
	var all []storage.Entry
	for i := range n {
		all = append(all, entry(step("a"), i/2+1, i%2))
	}
	s.write(storage.Writes{Add: all})
	got, largest := s.history(step("a"))
	equalEntries(t, got, all)
	if largest > storage.MaxPage {
		t.Errorf("got a page of %d entries, want at most %d", largest, storage.MaxPage)
	}
	page, next, err := s.History(t.Context(), step("a"), "")
	if err != nil || next == "" {
		t.Fatalf("got the cursor %q and error %v after the first page", next, err)
	}
	s.write(storage.Writes{Add: []storage.Entry{entry(step("a"), 0, 0)}})
	rest, _, err := s.History(t.Context(), step("a"), next)
	if err != nil {
		t.Fatal(err)
	}
	equalEntries(t, rest[:1], all[len(page):len(page)+1])
}

// testEntriesAcross: the entries of several records come back in the order of their
// keys, after any position, without results, and not those of other kinds and
// namespaces.
func testEntriesAcross(t *testing.T, p *place) {
	s := p.store()
	other, far := step("a"), step("b")
	other.Space, far.Run = "test2", "zz"
	keys := []storage.Key{step("a"), step("a/1"), step("b"), far}
	var all []storage.Entry
	for i, key := range keys {
		r := record(key, 1)
		r.Bucket = month.AddDate(0, i%3, 0) // some stores keep each month on its own
		s.write(storage.Writes{Put: []storage.Record{r}})
		for _, e := range []storage.Entry{entry(key, 0, 0), entry(key, 1, 0), entry(key, 1, 7), entry(key, 12, 0)} {
			e.Bucket, e.Result = r.Bucket, []byte(`{"a": 1}`)
			all = append(all, e)
		}
	}
	for _, key := range []storage.Key{other, run("a")} {
		s.write(storage.Writes{Put: []storage.Record{record(key, 1)}, Add: []storage.Entry{entry(key, 1, 0)}})
	}
	s.write(storage.Writes{Add: all})
	for i := range all {
		all[i].Result = nil
	}
	for _, test := range []struct {
		after storage.Entry
		limit int
		want  []storage.Entry
	}{
		{entry(storage.Key{Kind: storage.KindStep, Space: "test"}, -1, 0), 0, all},
		{entry(step("a"), -1, 0), 5, all[:5]},
		{all[4], 100, all[5:]},
		{entry(step("a"), 1, 3), 2, all[2:4]},
		{entry(step("a/"), -1, 0), 1, all[4:5]},
		{entry(step("c"), -1, 0), 1, all[12:13]},
		{all[15], 10, nil},
	} {
		got, err := s.Entries(t.Context(), test.after, test.limit)
		if err != nil {
			t.Fatal(err)
		}
		equalEntries(t, got, test.want)
	}
	var many []storage.Entry
	for i := range storage.MaxPage + 10 {
		many = append(many, entry(step("many"), i, 0))
	}
	s.write(storage.Writes{Put: []storage.Record{record(step("many"), 1)}, Add: many})
	got, err := s.Entries(t.Context(), entry(step("many"), -1, 0), 2*storage.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	equalEntries(t, got, many[:storage.MaxPage])
}

// testReopen: a store that survives its process has, after it was closed and
// opened, what it acknowledged.
func testReopen(t *testing.T, p *place) {
	s := p.storeToClose()
	if !s.Guarantee().SurvivesProcess {
		s.close()
		if g := s.Guarantee(); g.SurvivesPower || g.SurvivesNode {
			t.Errorf("got %+v: a store that survives a power failure survives the end of its process", g)
		}
		t.Skip("the store does not survive its process")
	}
	for n := range uint64(3) {
		for i := range 10 {
			s.update([]storage.Key{step(fmt.Sprint(i)), step("all")}, increment)
		}
		s.write(storage.Writes{Add: []storage.Entry{entry(step("all"), int(n), 0)}})
		s.close()
		s = p.storeToClose()
		s.wantNumber(step("9"), n+1)
		s.wantNumber(step("all"), 10*(n+1))
		if got, _ := s.history(step("all")); len(got) != int(n+1) {
			t.Errorf("got %d entries, want %d", len(got), n+1)
		}
	}
	s.close()
}

// testShared: a store that processes share may be opened several times at once,
// and no update is lost.
func testShared(t *testing.T, p *place) {
	const stores, each = 4, 25
	s := p.store()
	if s.Guarantee().Shared == storage.SharedByProcess {
		t.Skip("the store is for one process")
	}
	ctx := s.limited()
	errs := make(chan error, stores)
	for range stores {
		other := p.store()
		go func() {
			for range each {
				if err := other.Update(ctx, storage.Select{Keys: []storage.Key{step("a")}}, increment); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range stores {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	s.wantNumber(step("a"), stores*each)
}

// testLiveness: a store that knows which owners are alive knows it of all stores
// that share its records.
func testLiveness(t *testing.T, p *place) {
	s := p.store()
	live := optional[storage.Liveness](s)
	all := []storage.Liveness{live}
	if s.Guarantee().Shared > storage.SharedByProcess {
		all = append(all, p.store().Store.(storage.Liveness))
	}
	var releases []func() error
	for _, owner := range []string{"a", "b"} {
		release, err := live.Hold(owner)
		if err != nil {
			t.Fatalf("Hold(%q): %v", owner, err)
		}
		releases = append(releases, release)
	}
	want := func(owner string, dead bool) {
		t.Helper()
		for i, h := range all {
			if got := h.Dead(owner); got != dead {
				t.Errorf("store %d: Dead(%q) = %v, want %v", i, owner, got, dead)
			}
		}
	}
	want("a", false)
	want("b", false)
	want("a", false)
	if err := releases[0](); err != nil {
		t.Errorf("release: %v", err)
	}
	want("a", true)
	want("b", false)
	if err := releases[1](); err != nil {
		t.Errorf("release: %v", err)
	}
	want("b", true)
}

// testClose: a closed store refuses everything.
func testClose(t *testing.T, p *place) {
	s := p.storeToClose()
	s.update([]storage.Key{step("a")}, increment)
	s.close()
	update := s.Update(t.Context(), storage.Select{Keys: []storage.Key{step("a")}}, increment)
	_, get := s.Get(t.Context(), []storage.Key{step("a")})
	_, _, list := s.List(t.Context(), storage.Query{Kind: storage.KindStep, Space: "test"})
	_, _, history := s.History(t.Context(), step("a"), "")
	_, entries := s.Entries(t.Context(), entry(step("a"), -1, 0), 1)
	for i, err := range []error{update, get, list, history, entries} {
		if !isStoreError(err) {
			t.Errorf("method %d: got error %v from a closed store, want ErrStore", i, err)
		}
	}
}
