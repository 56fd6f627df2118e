package durabletest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Swift store implements [storage.Swapper], [storage.Claimer] and [storage.Inserter] on
// top of any store, so that an engine uses these statements. Each statement is one update
// of the underlying store (for a swap, one update per run) and fails if the update fails.
type Swift struct{ *Faulty }

// Swap implements [storage.Swapper].
func (s Swift) Swap(ctx context.Context, now time.Time, runs []storage.Record) ([]bool, error) {
	swapped := make([]bool, len(runs))
	for i, r := range runs {
		err := s.Update(ctx, storage.Select{Keys: []storage.Key{r.Key}}, func(tx storage.Tx) (w storage.Writes, err error) {
			swapped[i] = tx.Records[0].Version+1 == r.Version && tx.Now.Sub(now).Abs() <= storage.MaxSkew
			if swapped[i] {
				w.Put = []storage.Record{r}
			}
			return w, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return swapped, nil
}

// ClaimNew implements [storage.Claimer].
func (s Swift) ClaimNew(ctx context.Context, c storage.NewClaim) (result storage.NewlyClaimed, err error) {
	if s.Guarantee().Incarnation != c.Incarnation {
		return result, nil
	}
	sel := storage.Select{Keys: []storage.Key{c.Owner}}
	of := map[string]storage.NewRuns{}
	for _, n := range c.Of {
		of[n.Handler] = n
		if n.Limit > 0 {
			sel.Queries = append(sel.Queries, storage.Query{
				Kind: storage.KindRun, Space: c.Owner.Space, Handlers: []string{n.Handler},
				Status: []storage.Status{storage.StatusOpen, storage.StatusParked}, DueBy: time.Now(), Limit: n.Limit,
			})
		}
	}
	err = s.Update(ctx, sel, func(tx storage.Tx) (w storage.Writes, err error) {
		result = storage.NewlyClaimed{Now: tx.Now}
		if tx.Records[0].Version == 0 {
			return w, nil
		}
		looked := map[string]int{}
		for _, r := range tx.Records[1:] {
			n := of[r.Handler]
			looked[r.Handler]++
			r, ok := n.Claim(c.Owner, r, tx.Now)
			if result.Left = result.Left || !ok || looked[r.Handler] == n.Limit; !ok {
				continue
			}
			w.Put = append(w.Put, r)
			r.Version++
			result.Runs = append(result.Runs, r)
		}
		return w, nil
	})
	return result, err
}

// Insert implements [storage.Inserter].
func (s Swift) Insert(ctx context.Context, n storage.Insertion) ([]bool, error) {
	return storage.InsertByUpdate(ctx, s.Faulty, n)
}

// testSwap: a store that is a Swapper replaces the runs that have the version before,
// each on its own, unless its clock is another one, and once even if many try.
func testSwap(t *testing.T, p *place) {
	s := p.store()
	swapper := optional[storage.Swapper](s)
	var runs []storage.Record
	for i := range 40 {
		r := record(run(fmt.Sprintf("%02d", (i*7)%40)), uint64(i))
		r.Status, r.Owner, r.Fence, r.Claimed = storage.StatusOpen, "owner", 1, month
		runs = append(runs, r)
	}
	s.put(runs...)
	ended := func(i int) storage.Record {
		r := runs[i]
		r.Version, r.Status, r.Owner, r.Due, r.Ended = 2, storage.StatusSucceeded, "", month, month.Add(time.Minute)
		r.Deadline, r.Result, r.Body, r.Attention, r.Fence = month, []byte(`"done"`), nil, true, 2
		return r
	}
	swap := func(now time.Time, records ...storage.Record) []bool {
		swapped, err := swapper.Swap(s.limited(), now, records)
		if err != nil {
			t.Fatal(err)
		}
		return swapped
	}
	if got := swap(time.Now().Add(storage.MaxSkew+time.Minute), ended(0)); got[0] {
		t.Error("a run was replaced by a decision of another time")
	}
	newer, missing := ended(1), ended(2)
	newer.Version, missing.Key.Run = 3, "missing"
	if got := swap(time.Now(), newer, ended(0), missing); !slices.Equal(got, []bool{false, true, false}) {
		t.Errorf("got %v, want that only the second run was replaced", got)
	}
	want := ended(0)
	equalRecord(t, s.get(want.Key)[0], want)
	equalRecord(t, s.get(missing.Key)[0], storage.Record{Key: missing.Key})

	won := make([]int, len(runs))
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			var mine []storage.Record
			for i := 1; i < len(runs); i++ {
				r := ended(i)
				r.Result = number(uint64(n))
				mine = append(mine, r)
			}
			swapped, err := swapper.Swap(s.limited(), time.Now(), mine)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for i, done := range swapped {
				if done {
					won[i+1]++
				}
			}
		})
	}
	all.Wait()
	for i := 1; i < len(runs); i++ {
		if r := s.get(runs[i].Key)[0]; won[i] != 1 || r.Version != 2 || r.Status != storage.StatusSucceeded {
			t.Errorf("run %d was replaced %d times: %s", i, won[i], setFields(r))
		}
	}
}

// testClaimNew: a store that is a Claimer claims what [storage.NewRuns.Claim] says, of the
// first runs that are due, for an engine that exists, and each run once.
func testClaimNew(t *testing.T, p *place) {
	s := p.store()
	claimer := optional[storage.Claimer](s)
	now := time.Now().UTC().Truncate(time.Microsecond)
	owner := storage.Key{Kind: storage.KindOwner, Space: "test", ID: "engine"}
	of := map[string]*storage.NewRuns{
		"h": {Handler: "h", Limit: 10, Timeout: time.Hour, Body: []byte(`{"a": 1}`)},
		"i": {Handler: "i", Limit: 7},
	}
	c := storage.NewClaim{Owner: owner, Incarnation: s.Guarantee().Incarnation, Of: []storage.NewRuns{*of["h"], *of["i"]}}
	runs := someDue(now)
	s.put(runs...)
	claim := func() storage.NewlyClaimed {
		claimed, err := claimer.ClaimNew(s.limited(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(claimed.Runs) > 0 && time.Since(claimed.Now).Abs() > time.Minute {
			t.Errorf("got the time %v of the store", claimed.Now)
		}
		return claimed
	}
	if got := claim().Runs; len(got) > 0 {
		t.Errorf("claimed %d runs for an engine that does not exist", len(got))
	}
	s.put(record(owner, 1))
	c.Incarnation += "!"
	if got := claim().Runs; len(got) > 0 {
		t.Errorf("claimed %d runs of another incarnation", len(got))
	}
	c.Incarnation = s.Guarantee().Incarnation

	due := map[string][]storage.Record{}
	for handler := range of {
		due[handler] = claimable(storage.Query{
			Kind: storage.KindRun, Space: "test", Handlers: []string{handler}, DueBy: now,
			Status: []storage.Status{storage.StatusOpen, storage.StatusParked},
		}, runs)
	}
	for len(due["h"])+len(due["i"]) > 0 {
		want, others, left := claimedNext(of, due, owner, now)
		got := claim()
		if len(got.Runs) != len(want) || got.Left != left {
			t.Fatalf("claimed %d runs, others are left: %v; want %d, %v", len(got.Runs), got.Left, len(want), left)
		}
		for _, r := range got.Runs {
			y := want[r.Key]
			y.Version, y.Claimed = 2, r.Claimed
			equalRecord(t, r, y)
			equalRecord(t, s.get(r.Key)[0], y)
		}
		s.put(others...)
	}
	if got := claim(); len(got.Runs) > 0 || got.Left {
		t.Errorf("claimed %d runs, others are left: %v; nothing is due", len(got.Runs), got.Left)
	}
}

// someDue returns runs, some of them due and new at a time.
func someDue(now time.Time) (runs []storage.Record) {
	r := rand.New(rand.NewPCG(1, 2))
	at := func(times ...time.Duration) time.Time {
		d := oneOf(r, times)
		if d == 0 {
			return time.Time{}
		}
		return now.Add(d)
	}
	for i := range 400 {
		x := storage.Record{
			Key:     run(fmt.Sprintf("r%03d", i)),
			Version: 1, Status: oneOf(r, []storage.Status{storage.StatusOpen, storage.StatusOpen, storage.StatusParked}),
			Handler: oneOf(r, []string{"h", "h", "i", "other"}), Priority: oneOf(r, []int16{0, 0, 7, -1}), Bucket: month,
			Created: at(-time.Minute, -time.Minute, -2*time.Hour), Due: at(-time.Second, -time.Minute, -time.Hour, time.Hour, 0),
			Deadline: at(0, 0, time.Hour, -time.Second), Input: number(uint64(i)),
		}
		switch r.IntN(8) {
		case 0:
			x.Owner = "another"
		case 1:
			x.Fence = 1
		case 2:
			x.Body = []byte(`{}`)
		case 3:
			x.Key.Space = "far"
		}
		runs = append(runs, x)
	}
	return runs
}

// claimedNext takes the first runs of each handler from those that are due. It returns
// what a claim makes of the new ones, the others without Due, as if a decision had claimed
// them, and whether the claim says that runs are left.
func claimedNext(
	of map[string]*storage.NewRuns, due map[string][]storage.Record, owner storage.Key, now time.Time,
) (want map[storage.Key]storage.Record, others []storage.Record, left bool) {
	want = map[storage.Key]storage.Record{}
	for handler, n := range of {
		looked := due[handler][:min(n.Limit, len(due[handler]))]
		due[handler] = due[handler][len(looked):]
		left = left || len(looked) == n.Limit
		for _, x := range looked {
			if y, ok := n.Claim(owner, x, now); ok {
				want[x.Key] = y
			} else {
				x.Due, left = time.Time{}, true
				others = append(others, x)
			}
		}
	}
	return want, others, left
}
