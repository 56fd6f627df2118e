package durabletest

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
)

func entry(key durable.Key, attempt, part int) durable.Entry {
	return durable.Entry{
		Step: key, Attempt: attempt, Part: part, At: month.Add(time.Hour), Bucket: month, Body: number(uint64(attempt)),
	}
}

// equalEntries compares entries.
func equalEntries(t *testing.T, got, want []durable.Entry) {
	t.Helper()
	equal := func(a, b durable.Entry) bool {
		return a.Step == b.Step && a.Attempt == b.Attempt && a.Part == b.Part && a.At.Equal(b.At) &&
			a.At.Location() == time.UTC && a.Bucket.Equal(b.Bucket) && bytes.Equal(a.Body, b.Body) &&
			bytes.Equal(a.Result, b.Result)
	}
	if len(got) != len(want) {
		t.Errorf("got %d entries, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if !equal(got[i], want[i]) {
			t.Errorf("got entry %+v, want %+v", got[i], want[i])
			return
		}
	}
}

// testEntries: the entries of a record come back in the order of attempts and
// parts, whether there is a record or not, and not those of another record with
// the same id.
func testEntries(t *testing.T, p *place) {
	s := p.store()
	budget := durable.Key{Kind: durable.KindBudget, Space: "test", ID: "a"}
	breaker := budget
	breaker.Kind = durable.KindBreaker
	for _, key := range []durable.Key{step("a"), step("b"), run("a"), budget, breaker} {
		all := []durable.Entry{
			entry(key, 2, 0), entry(key, 1, math.MaxInt), entry(key, 10, 0), entry(key, 1, 0), entry(key, 0, 0),
		}
		all[0].Result = []byte(`{"b": "\u0000", "a": 1}`)
		all[1].At = time.Date(2026, 11, 23, 1, 2, 3, 456789000, time.FixedZone("far", -9*3600))
		s.write(durable.Writes{Add: all[:2]})
		s.write(durable.Writes{Put: []durable.Record{record(key, 1)}, Add: all[2:]})
		got, _ := s.history(key)
		equalEntries(t, got, []durable.Entry{all[4], all[3], all[1], all[0], all[2]})
	}
	if got, _ := s.history(step("none")); len(got) > 0 {
		t.Errorf("got entries %v of a step that has none", got)
	}
}

// testEntriesRepeated: an entry that exists stays what it is.
func testEntriesRepeated(t *testing.T, p *place) {
	s := p.store()
	first, second := entry(step("a"), 1, 0), entry(step("a"), 2, 0)
	s.write(durable.Writes{Add: []durable.Entry{first}})
	other := entry(step("a"), 1, 0)
	other.Body, other.Result = []byte(`"other"`), []byte(`"other"`)
	s.write(durable.Writes{Add: []durable.Entry{other, second, second}})
	got, _ := s.history(step("a"))
	equalEntries(t, got, []durable.Entry{first, second})
}

// testDelete: with a record its entries go, and only these. Delete comes before
// Put and Add.
func testDelete(t *testing.T, p *place) {
	s := p.store()
	fill := durable.Writes{
		Put: []durable.Record{record(step("a"), 1), record(step("ab"), 1)},
		Add: []durable.Entry{entry(step("a"), 1, 0), entry(step("a"), 2, 0), entry(step("ab"), 1, 0)},
	}
	s.write(fill)
	s.write(durable.Writes{Delete: []durable.Key{step("a"), step("none")}})
	equalRecord(t, s.get(step("a"))[0], durable.Record{Key: step("a")})
	got, _ := s.history(step("a"))
	equalEntries(t, got, nil)
	got, _ = s.history(step("ab"))
	equalEntries(t, got, fill.Add[2:])
	s.wantNumber(step("ab"), 1)

	s.write(fill)
	s.write(durable.Writes{
		Delete: []durable.Key{step("a")}, Put: []durable.Record{record(step("a"), 7)},
		Add: []durable.Entry{entry(step("a"), 3, 0)},
	})
	s.wantNumber(step("a"), 7)
	got, _ = s.history(step("a"))
	equalEntries(t, got, []durable.Entry{entry(step("a"), 3, 0)})
}

// testHistoryPages: a long history comes in pages, and an entry that is added
// meanwhile does not disturb them.
func testHistoryPages(t *testing.T, p *place) {
	s := p.store()
	const n = 2*durable.MaxPage + 10
	var all []durable.Entry
	for i := range n {
		all = append(all, entry(step("a"), i/2+1, i%2))
	}
	s.write(durable.Writes{Add: all})
	got, largest := s.history(step("a"))
	equalEntries(t, got, all)
	if largest > durable.MaxPage {
		t.Errorf("got a page of %d entries, want at most %d", largest, durable.MaxPage)
	}
	page, next, err := s.History(t.Context(), step("a"), "")
	if err != nil || next == "" {
		t.Fatalf("got the cursor %q and error %v after the first page", next, err)
	}
	s.write(durable.Writes{Add: []durable.Entry{entry(step("a"), 0, 0)}})
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
	keys := []durable.Key{step("a"), step("a/1"), step("b"), far}
	var all []durable.Entry
	for i, key := range keys {
		r := record(key, 1)
		r.Bucket = month.AddDate(0, i%3, 0) // some stores keep each month on its own
		s.write(durable.Writes{Put: []durable.Record{r}})
		for _, e := range []durable.Entry{entry(key, 0, 0), entry(key, 1, 0), entry(key, 1, 7), entry(key, 12, 0)} {
			e.Bucket, e.Result = r.Bucket, []byte(`{"a": 1}`)
			all = append(all, e)
		}
	}
	for _, key := range []durable.Key{other, run("a")} {
		s.write(durable.Writes{Put: []durable.Record{record(key, 1)}, Add: []durable.Entry{entry(key, 1, 0)}})
	}
	s.write(durable.Writes{Add: all})
	for i := range all {
		all[i].Result = nil
	}
	for _, test := range []struct {
		after durable.Entry
		limit int
		want  []durable.Entry
	}{
		{entry(durable.Key{Kind: durable.KindStep, Space: "test"}, -1, 0), 0, all},
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
	var many []durable.Entry
	for i := range durable.MaxPage + 10 {
		many = append(many, entry(step("many"), i, 0))
	}
	s.write(durable.Writes{Put: []durable.Record{record(step("many"), 1)}, Add: many})
	got, err := s.Entries(t.Context(), entry(step("many"), -1, 0), 2*durable.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	equalEntries(t, got, many[:durable.MaxPage])
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
		return
	}
	for n := range uint64(3) {
		for i := range 10 {
			s.update([]durable.Key{step(fmt.Sprint(i)), step("all")}, increment)
		}
		s.write(durable.Writes{Add: []durable.Entry{entry(step("all"), int(n), 0)}})
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
	if s.Guarantee().Shared == durable.SharedByProcess {
		return
	}
	ctx := s.limited()
	errs := make(chan error, stores)
	for range stores {
		other := p.store()
		go func() {
			for range each {
				if err := other.Update(ctx, durable.Select{Keys: []durable.Key{step("a")}}, increment); err != nil {
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

// testHolder: a store that knows which owners are alive knows it of all stores
// that share its records.
func testHolder(t *testing.T, p *place) {
	s := p.store()
	holder, ok := s.Store.(durable.Holder)
	if !ok {
		return
	}
	holders := []durable.Holder{holder}
	if s.Guarantee().Shared > durable.SharedByProcess {
		holders = append(holders, p.store().Store.(durable.Holder))
	}
	var releases []func() error
	for _, owner := range []string{"a", "b"} {
		release, err := holder.Hold(owner)
		if err != nil {
			t.Fatalf("Hold(%q): %v", owner, err)
		}
		releases = append(releases, release)
	}
	want := func(owner string, dead bool) {
		t.Helper()
		for i, h := range holders {
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
	s.update([]durable.Key{step("a")}, increment)
	s.close()
	update := s.Update(t.Context(), durable.Select{Keys: []durable.Key{step("a")}}, increment)
	_, get := s.Get(t.Context(), []durable.Key{step("a")})
	_, _, list := s.List(t.Context(), durable.Query{Kind: durable.KindStep, Space: "test"})
	_, _, history := s.History(t.Context(), step("a"), "")
	_, entries := s.Entries(t.Context(), entry(step("a"), -1, 0), 1)
	for i, err := range []error{update, get, list, history, entries} {
		if !isStoreError(err) {
			t.Errorf("method %d: got error %v from a closed store, want ErrStore", i, err)
		}
	}
}
