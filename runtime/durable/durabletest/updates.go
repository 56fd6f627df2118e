package durabletest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// testErrorOfDecide: an error of decide is returned unchanged, and nothing is
// committed.
func testErrorOfDecide(t *testing.T, p *place) {
	s := p.store()
	s.put(record(step("a"), 1))
	own := errors.New("refused")
	err := s.Update(t.Context(), storage.Select{Keys: []storage.Key{step("a")}},
		func(tx storage.Tx) (storage.Writes, error) {
			w, _ := increment(tx)
			return w, own
		})
	if err != own {
		t.Errorf("got error %v, want that of decide unchanged", err)
	}
	s.wantNumber(step("a"), 1)
}

func (s *tester) wantNumber(key storage.Key, want uint64) {
	s.t.Helper()
	if got := numberIn(s.get(key)[0]); got != want {
		s.t.Errorf("%v: got number %d, want %d", key, got, want)
	}
}

// testPanic: a panic of decide is an error, nothing is committed, and the locks
// are released.
func testPanic(t *testing.T, p *place) {
	s := p.store()
	for _, sel := range []storage.Select{
		{Keys: []storage.Key{step("a"), step("b")}},
		{Queries: []storage.Query{{Kind: storage.KindStep, Space: "test"}}},
	} {
		err := s.Update(t.Context(), sel, func(storage.Tx) (storage.Writes, error) { panic("no such state") })
		if !errors.Is(err, storage.ErrStore) || !strings.Contains(err.Error(), "no such state") {
			t.Errorf("got error %v, want ErrStore with the text of the panic", err)
		}
		s.update([]storage.Key{step("a"), step("b")}, increment)
	}
	s.wantNumber(step("a"), 2)
}

// testUnselected: a decision that writes a record or an entry that was not
// selected commits nothing.
func testUnselected(t *testing.T, p *place) {
	s := p.store()
	s.put(record(step("a"), 1), record(step("b"), 1))
	for what, w := range map[string]storage.Writes{
		"Put":    {Put: []storage.Record{record(step("b"), 2)}},
		"Add":    {Add: []storage.Entry{{Step: step("b"), Attempt: 1, At: month, Bucket: month, Body: number(1)}}},
		"Delete": {Delete: []storage.Key{step("b")}},
		"twice":  {Put: []storage.Record{record(step("a"), 3)}},
	} {
		w.Put = append(w.Put, record(step("a"), 2))
		for _, sel := range []storage.Select{
			{Keys: []storage.Key{step("a")}},
			{Queries: []storage.Query{{Kind: storage.KindStep, Space: "test", Limit: 1}}},
		} {
			err := s.Update(t.Context(), sel, func(storage.Tx) (storage.Writes, error) { return w, nil })
			if !errors.Is(err, storage.ErrStore) {
				t.Errorf("%s: got error %v, want ErrStore", what, err)
			}
		}
	}
	s.wantNumber(step("a"), 1)
	s.wantNumber(step("b"), 1)
	if entries, _ := s.history(step("b")); len(entries) > 0 {
		t.Errorf("got entries %v, want none", entries)
	}
}

// testContext: nothing is done for a context that has ended.
func testContext(t *testing.T, p *place) {
	s := p.store()
	s.put(record(step("a"), 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	update := s.Update(ctx, storage.Select{Keys: []storage.Key{step("a")}}, increment)
	_, get := s.Get(ctx, []storage.Key{step("a")})
	_, _, list := s.List(ctx, storage.Query{Kind: storage.KindStep, Space: "test"})
	_, _, history := s.History(ctx, step("a"), "")
	for method, err := range map[string]error{"Update": update, "Get": get, "List": list, "History": history} {
		if !errors.Is(err, storage.ErrStore) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got error %v, want ErrStore and context.Canceled", method, err)
		}
	}
	s.wantNumber(step("a"), 1)
}

// testWaitEnds: the wait for a lock ends with the context, and the lock does
// not remain.
func testWaitEnds(t *testing.T, p *place) {
	s := p.store()
	key := []storage.Key{step("a")}
	s.put(record(step("a"), 0))
	var once sync.Once
	s.update(key, func(tx storage.Tx) (storage.Writes, error) {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(s.limited(), 100*time.Millisecond)
			defer cancel()
			if err := s.Update(ctx, storage.Select{Keys: key}, increment); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got error %v from an update of a locked record, want context.DeadlineExceeded", err)
			}
		})
		return increment(tx)
	})
	s.update(key, increment)
	s.wantNumber(step("a"), 2)
}

// testNoLostUpdate: 64 goroutines add to one record, which does not exist at
// first: each sees what those before it have written.
func testNoLostUpdate(t *testing.T, p *place) {
	s := p.store()
	const callers, each = 64, 10
	ctx := s.limited()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				if err := s.Update(ctx, storage.Select{Keys: []storage.Key{step("a")}}, increment); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	s.wantNumber(step("a"), callers*each)
}

// testNoDeadlock: 64 goroutines each update three of eight records, in any order
// and with duplicates.
func testNoDeadlock(t *testing.T, p *place) {
	s := p.store()
	const callers, each, records = 64, 10, 8
	ctx := s.limited()
	var wants [records]uint64
	var wg sync.WaitGroup
	r := rand.New(rand.NewPCG(3, 4))
	for range callers {
		var sets [][]storage.Key
		for range each {
			var keys []storage.Key
			for _, i := range r.Perm(records)[:3] {
				keys = append(keys, step(fmt.Sprint(i)))
				wants[i]++
			}
			sets = append(sets, append(keys, keys[r.IntN(3)]))
		}
		wg.Go(func() {
			for _, keys := range sets {
				if err := s.Update(ctx, storage.Select{Keys: keys}, increment); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i, want := range wants {
		s.wantNumber(step(fmt.Sprint(i)), want)
	}
}

// testTimeAfterLocks: an update that has waited for a lock gets the time after
// the wait.
func testTimeAfterLocks(t *testing.T, p *place) {
	const wait, tolerance = 300 * time.Millisecond, 20 * time.Millisecond
	s := p.store()
	keys := []storage.Key{step("a")}
	s.put(record(step("a"), 0))
	var once sync.Once
	var wg sync.WaitGroup
	var first, second time.Time
	s.update(keys, func(tx storage.Tx) (storage.Writes, error) {
		first = tx.Now
		once.Do(func() {
			wg.Go(func() {
				err := s.Update(s.limited(), storage.Select{Keys: keys}, func(tx storage.Tx) (storage.Writes, error) {
					second = tx.Now
					return increment(tx)
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
		time.Sleep(wait)
		return increment(tx)
	})
	wg.Wait()
	if got := second.Sub(first); got < wait-tolerance {
		t.Errorf("the second update got a time %v after the first, want at least %v", got, wait)
	}
	if first.Location() != time.UTC {
		t.Errorf("got a time in %v, want UTC", first.Location())
	}
	if d := time.Since(first).Abs(); d > time.Hour {
		t.Errorf("the time of the store differs by %v from that of this machine", d)
	}
}

// testClaims: of many who look for work, each record goes to one.
func testClaims(t *testing.T, p *place) {
	s := p.store()
	const runs, callers = 100, 16
	past := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	var records []storage.Record
	for i := range runs {
		r := record(run(fmt.Sprint(i)), 0)
		r.Due = past
		records = append(records, r)
	}
	s.put(records...)
	ctx := s.limited()
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := 1; n > 0; {
				q := storage.Query{Kind: storage.KindRun, Space: "test", DueBy: past, Limit: 3}
				err := s.Update(ctx, storage.Select{Queries: []storage.Query{q}}, func(tx storage.Tx) (storage.Writes, error) {
					w, err := increment(tx) // without Due
					for k := range w.Put {
						w.Put[k].Owner = fmt.Sprint(i)
					}
					n = len(w.Put)
					return w, err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	listed, _ := s.list(storage.Query{Kind: storage.KindRun, Space: "test"})
	for _, r := range listed {
		if numberIn(r) != 1 || r.Owner == "" || r.Version != 2 {
			t.Errorf("got record %s, want one that was claimed once", setFields(r))
		}
	}
	if len(listed) != runs {
		t.Errorf("got %d runs, want %d", len(listed), runs)
	}
}

// testLockedRecords: an update with a query does not see a record while another
// update works on it: it skips the record, or waits.
func testLockedRecords(t *testing.T, p *place) {
	s := p.store()
	s.put(record(step("a"), 1), record(step("b"), 1))
	var once sync.Once
	var wg sync.WaitGroup
	s.update([]storage.Key{step("a")}, func(tx storage.Tx) (storage.Writes, error) {
		once.Do(func() {
			done := make(chan struct{})
			wg.Go(func() {
				defer close(done)
				q := storage.Query{Kind: storage.KindStep, Space: "test"}
				sel := storage.Select{Queries: []storage.Query{q}}
				err := s.Update(s.limited(), sel, func(tx storage.Tx) (storage.Writes, error) {
					for _, r := range tx.Records {
						if r.Key == step("a") && numberIn(r) != 2 {
							t.Errorf("got record %s, which is locked", setFields(r))
						}
					}
					return increment(tx)
				})
				if err != nil {
					t.Error(err)
				}
			})
			select {
			case <-done: // skipped
			case <-time.After(200 * time.Millisecond): // waits
			}
		})
		return increment(tx)
	})
	wg.Wait()
	s.wantNumber(step("b"), 2)
}
