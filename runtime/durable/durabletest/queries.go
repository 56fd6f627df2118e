package durabletest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// testQueries: 400 random records and 200 random queries, with every field, by
// List in pages of every size and by Update.
func testQueries(t *testing.T, p *place) {
	s := p.store()
	r := rand.New(rand.NewPCG(5, 6))
	records := randomRecords(r, 400)
	s.put(records...)
	for range 200 {
		q := randomQuery(r)
		q.Order = oneOf(r, []storage.Order{
			storage.OrderKey, storage.OrderOldest, storage.OrderNewest, storage.OrderDue,
		})
		q.From = randomCursor(r, q)
		want := keysOf(inOrder(q, records))
		listed, largest := s.list(q)
		if got := keysOf(listed); !slices.Equal(got, want) {
			t.Fatalf("List(%s): got %d records %v, want %d %v", setFields(q), len(got), got, len(want), want)
		}
		for i, r := range s.get(want...) {
			got := listed[i]
			if q.Brief { // the other fields may be missing
				got = r
				got.Key, got.Version, got.Status, got.Body = listed[i].Key, listed[i].Version, listed[i].Status, listed[i].Body
			}
			equalRecord(t, got, r)
		}
		if q.Limit > 0 && largest > q.Limit {
			t.Errorf("List(%s): got a page of %d records", setFields(q), largest)
		}
		q.Order, q.From = storage.OrderKey, ""
		q.From = randomCursor(r, q)
		want = keysOf(claimable(q, records))
		var selected []storage.Record
		sel := storage.Select{Queries: []storage.Query{q}}
		err := s.Update(t.Context(), sel, func(tx storage.Tx) (storage.Writes, error) {
			if got := keysOf(tx.Records); !slices.Equal(got, want) {
				return storage.Writes{}, fmt.Errorf("Update(%s): got %d records %v, want %d %v",
					setFields(q), len(got), got, len(want), want)
			}
			selected = tx.Records
			return storage.Writes{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range s.get(want...) {
			equalRecord(t, selected[i], r)
		}
	}
}

var (
	someTexts  = []string{"", "a", "b"}
	someStatus = []storage.Status{0, storage.StatusOpen, storage.StatusParked, storage.StatusDead}
	someTimes  = []time.Time{{}, month, month.Add(time.Microsecond), month.AddDate(0, 0, 3)}
)

var someRanks = []int16{0, 0, 1, 7, -1, math.MinInt16, math.MaxInt16}

func oneOf[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

func randomRecords(r *rand.Rand, n int) []storage.Record {
	var records []storage.Record
	for i := range n {
		kind := oneOf(r, []storage.Kind{storage.KindRun, storage.KindStep})
		records = append(records, storage.Record{
			Key:     storage.Key{Kind: kind, Space: oneOf(r, someTexts), Run: oneOf(r, someTexts), ID: fmt.Sprint(i)},
			Status:  oneOf(r, someStatus),
			Owner:   oneOf(r, someTexts),
			Handler: oneOf(r, someTexts), Priority: oneOf(r, someRanks),
			Due: oneOf(r, someTimes), Attention: r.IntN(2) == 0, Label: oneOf(r, someTexts), Bucket: month,
			Created: oneOf(r, someTimes),
			Body:    number(uint64(i)),
		})
	}
	slices.SortFunc(records, func(a, b storage.Record) int { return a.Key.Compare(b.Key) })
	return records
}

// randomQuery returns a query of which about half of the fields are set.
func randomQuery(r *rand.Rand) storage.Query {
	q := storage.Query{
		Kind:  oneOf(r, []storage.Kind{storage.KindRun, storage.KindStep}),
		Space: oneOf(r, someTexts), Run: oneOf(r, someTexts),
		Attention: r.IntN(3) == 0, Limit: r.IntN(3) * r.IntN(40), Brief: r.IntN(2) == 0,
	}
	if r.IntN(3) == 0 {
		q.Runs = []string{"b", oneOf(r, someTexts), "none"}[:1+r.IntN(3)]
	}
	if r.IntN(3) == 0 {
		q.Owner = oneOf(r, someTexts)
	}
	if r.IntN(3) == 0 {
		q.Label = oneOf(r, someTexts)
	}
	if r.IntN(3) == 0 {
		q.DueBy = oneOf(r, someTimes)
	}
	if r.IntN(3) == 0 {
		q.FromRun = oneOf(r, someTexts)
	}
	if r.IntN(3) == 0 {
		q.BeforeRun = oneOf(r, someTexts)
	}
	if r.IntN(3) == 0 {
		q.FromID = fmt.Sprint(r.IntN(400))
	}
	if r.IntN(3) == 0 {
		q.BeforeID = fmt.Sprint(r.IntN(400))
	}
	if r.IntN(4) == 0 {
		q.CreatedFrom = oneOf(r, someTimes)
	}
	if r.IntN(4) == 0 {
		q.CreatedBefore = oneOf(r, someTimes)
	}
	q.From = randomCursor(r, q)
	for range r.IntN(3) {
		q.Handlers = append(q.Handlers, oneOf(r, someTexts))
		q.Status = append(q.Status, oneOf(r, someStatus))
	}
	return q
}

// randomCursor returns a cursor for a query or, mostly, none.
func randomCursor(r *rand.Rand, q storage.Query) storage.Cursor {
	if r.IntN(3) > 0 {
		return ""
	}
	key := storage.Key{Run: cmp.Or(q.Run, oneOf(r, someTexts)), ID: fmt.Sprint(r.IntN(400))}
	at := oneOf(r, someTimes[1:])
	return q.After(storage.Record{Key: key, Created: at, Due: at})
}

// inOrder returns the records that q selects among some, which are sorted by their keys, in
// its order.
func inOrder(q storage.Query, records []storage.Record) (found []storage.Record) {
	for _, r := range records {
		if selects(q, r) {
			found = append(found, r)
		}
	}
	switch {
	case q.Order == storage.OrderDue:
		slices.SortStableFunc(found, func(a, b storage.Record) int { return a.Due.Compare(b.Due) })
	case q.Order != storage.OrderKey:
		slices.SortStableFunc(found, func(a, b storage.Record) int { return a.Created.Compare(b.Created) })
	}
	if q.Order == storage.OrderNewest {
		slices.Reverse(found)
	}
	return found
}

// claimable returns those of records, which are sorted, that q selects in an
// update: with DueBy, those with the highest priority that have been due longest.
func claimable(q storage.Query, records []storage.Record) (found []storage.Record) {
	found = inOrder(q, records)
	if !q.DueBy.IsZero() {
		slices.SortStableFunc(found, func(a, b storage.Record) int {
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Due.Compare(b.Due))
		})
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found
}

// testSelections: an update with keys and with queries has the records of the
// keys, and then those that each query finds and no selection before it has.
func testSelections(t *testing.T, p *place) {
	s := p.store()
	r := rand.New(rand.NewPCG(9, 10))
	records := randomRecords(r, 200)
	s.put(records...)
	for range 100 {
		sel := storage.Select{Keys: []storage.Key{run("none")}}
		for range r.IntN(3) {
			sel.Keys = append(sel.Keys, oneOf(r, records).Key)
		}
		want := slices.Clone(sel.Keys)
		for range 1 + r.IntN(3) {
			q := randomQuery(r)
			sel.Queries = append(sel.Queries, q)
			rest := slices.DeleteFunc(slices.Clone(records), func(r storage.Record) bool {
				return slices.Contains(want, r.Key)
			})
			want = append(want, keysOf(claimable(q, rest))...)
		}
		err := s.Update(t.Context(), sel, func(tx storage.Tx) (storage.Writes, error) {
			if got := keysOf(tx.Records); !slices.Equal(got, want) {
				return storage.Writes{}, fmt.Errorf("Update(%s): got %d records %v, want %d %v",
					setFields(sel), len(got), got, len(want), want)
			}
			return storage.Writes{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// selects reports whether q selects r.
func selects(q storage.Query, r storage.Record) bool {
	return r.Key.Kind == q.Kind && r.Key.Space == q.Space && (q.Run == "" || r.Key.Run == q.Run) &&
		(q.Runs == nil || slices.Contains(q.Runs, r.Key.Run)) &&
		(q.Owner == "" || r.Owner == q.Owner) &&
		(q.Handlers == nil || slices.Contains(q.Handlers, r.Handler)) &&
		(q.Status == nil || slices.Contains(q.Status, r.Status)) &&
		(q.DueBy.IsZero() || !r.Due.IsZero() && r.Due.Compare(q.DueBy) <= 0) &&
		(q.Order != storage.OrderDue || !r.Due.IsZero()) &&
		(!q.Attention || r.Attention) && (q.Label == "" || r.Label == q.Label) &&
		r.Key.Run >= q.FromRun && (q.BeforeRun == "" || r.Key.Run < q.BeforeRun) &&
		r.Key.ID >= q.FromID && (q.BeforeID == "" || r.Key.ID < q.BeforeID) && created(q, r.Created) && follows(q, r)
}

// created reports whether q selects what was created at a time, or has none.
func created(q storage.Query, t time.Time) bool {
	if t.IsZero() {
		return q.Order != storage.OrderOldest && q.Order != storage.OrderNewest &&
			q.CreatedFrom.IsZero() && q.CreatedBefore.IsZero()
	}
	return !t.Before(q.CreatedFrom) && (q.CreatedBefore.IsZero() || t.Before(q.CreatedBefore))
}

// follows reports whether a record comes after the cursor of q.
func follows(q storage.Query, r storage.Record) bool {
	if q.From == "" {
		return true
	}
	after, _ := q.Position()
	p := storage.Position{Run: r.Key.Run, ID: r.Key.ID}
	switch q.Order {
	case storage.OrderOldest, storage.OrderNewest:
		p.Time = r.Created
	case storage.OrderDue:
		p.Time = r.Due
	}
	if q.Order == storage.OrderNewest {
		p, after = after, p
	}
	return p.Compare(after) > 0
}

// testPagesDuringWrites: while others create and delete records, the pages of a
// query have each record that stays exactly once, in order.
func testPagesDuringWrites(t *testing.T, p *place) {
	s := p.store()
	const stay = 300
	var records []storage.Record
	for i := range stay {
		records = append(records, record(step(fmt.Sprintf("%04d stays", i)), 1))
	}
	s.put(records...)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		r := rand.New(rand.NewPCG(7, 8))
		for {
			select {
			case <-stop:
				return
			default:
			}
			key := step(fmt.Sprintf("%04d comes and goes", r.IntN(stay)))
			err := s.Update(s.limited(), storage.Select{Keys: []storage.Key{key}}, func(tx storage.Tx) (storage.Writes, error) {
				if tx.Records[0].Version > 0 {
					return storage.Writes{Delete: []storage.Key{key}}, nil
				}
				return increment(tx)
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 5 {
		listed, _ := s.list(storage.Query{Kind: storage.KindStep, Space: "test", Run: "run", Limit: 11})
		got := keysOf(listed)
		if !slices.IsSortedFunc(got, storage.Key.Compare) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("got keys that are not sorted, or not distinct: %v", got)
		}
		got = slices.DeleteFunc(got, func(key storage.Key) bool { return len(key.ID) != len("0000 stays") })
		if want := keysOf(records); !slices.Equal(got, want) {
			t.Errorf("got %d of the %d records that stay", len(got), len(want))
		}
	}
}

// testPagesNewestFirst: while runs are created and deleted, the pages from the newest to
// the oldest one have each run that was there before and stays exactly once, in order,
// and no other.
func testPagesNewestFirst(t *testing.T, p *place) {
	s := p.store()
	const stay = 40
	created := func(i int) storage.Record {
		r := record(run(fmt.Sprintf("%03d", i*7%1000)), 1)
		r.Status, r.Created = storage.StatusOpen, month.Add(time.Duration(i/2)*time.Second) // two at a time
		return r
	}
	var all []storage.Record
	for i := range stay {
		all = append(all, created(i))
	}
	s.put(all...)
	q := storage.Query{Kind: storage.KindRun, Space: "test", Limit: 3, Order: storage.OrderNewest}
	q.Status = []storage.Status{storage.StatusOpen, storage.StatusFailed}
	want := keysOf(inOrder(q, sorted(all)))
	var got []storage.Key
	for i := stay; ; i++ {
		page, next, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, keysOf(page)...)
		if next == "" {
			break
		}
		last := page[len(page)-1]
		s.put(created(i)) // newer than all
		s.write(storage.Writes{Delete: []storage.Key{last.Key}})
		q.From = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func sorted(records []storage.Record) []storage.Record {
	return slices.SortedFunc(slices.Values(records), func(a, b storage.Record) int { return a.Key.Compare(b.Key) })
}
