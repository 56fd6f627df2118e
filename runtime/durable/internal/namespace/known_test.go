package namespace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A swapStore is a slowStore that is a Swapper. lost makes replies get lost.
type swapStore struct {
	slowStore
	swaps int
	lost  bool
}

func (s *swapStore) Swap(ctx context.Context, now time.Time, runs []storage.Record) ([]bool, error) {
	s.swaps++
	time.Sleep(time.Second)
	swapped := make([]bool, len(runs))
	var err error
	for i, r := range runs {
		sel := storage.Select{Keys: []storage.Key{r.Key}}
		err = errors.Join(err, s.Store.Update(ctx, sel, func(tx storage.Tx) (w storage.Writes, err error) {
			swapped[i] = tx.Records[0].Version+1 == r.Version && tx.Now.Sub(now).Abs() <= storage.MaxSkew
			if swapped[i] {
				w.Put = []storage.Record{r}
			}
			return w, nil
		}))
	}
	if s.lost {
		return nil, fmt.Errorf("%w: cut", storage.ErrUnknown)
	}
	return swapped, err
}

// TestUpdateKnown: runs that are as they were last seen are replaced in one statement, and
// others in a transaction, in which the decision sees what is stored.
func TestUpdateKnown(t *testing.T) {
	month := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	const runs = 20
	cases := []struct {
		name    string
		version uint64        // that is known
		ahead   time.Duration // the clock of the caller
		lost    bool
		awaited bool // the end is to be notified
		same    bool // all change the same run
		expires bool // the input is removed as well, which no swap does
		swaps   int
		batches int64 // transactions
	}{
		{name: "known", version: 1, swaps: 2},
		{name: "changed", version: 7, swaps: 2, batches: 2},
		{name: "skewed", version: 1, ahead: 3 * storage.MaxSkew, swaps: 2, batches: 2},
		{name: "lost", version: 1, lost: true, swaps: 2, batches: 2},
		{name: "awaited", version: 1, awaited: true, batches: 2},
		{name: "expires", version: 1, expires: true, batches: 2},
		{name: "same", version: 1, same: true, swaps: 2, batches: 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &swapStore{slowStore: slowStore{Store: memory.New()}, lost: c.lost}
				n := New(s)
				run := func(i int) storage.Record {
					if c.same {
						i = 0
					}
					return storage.Record{
						Key: n.Key(storage.KindRun, fmt.Sprint(i), ""), Version: 1, Status: storage.StatusOpen,
						Owner: "me", Fence: 1, Bucket: month, Awaited: c.awaited, Input: []byte("1"),
					}
				}
				for i := range runs {
					r := run(i)
					err := s.Store.Update(t.Context(), storage.Select{Keys: []storage.Key{r.Key}},
						func(tx storage.Tx) (w storage.Writes, err error) {
							if tx.Records[0].Version == 0 {
								w.Put = []storage.Record{r}
							}
							return w, nil
						})
					if err != nil {
						t.Fatal(err)
					}
				}
				var wg sync.WaitGroup
				for i := range runs {
					known := run(i)
					known.Version = c.version
					wg.Go(func() {
						clock := func() time.Time { return time.Now().Add(c.ahead) }
						err := n.UpdateKnown(t.Context(), Known{known, clock}, func(tx storage.Tx) (w storage.Writes, err error) {
							if r := tx.Record(known.Key); r.Owner != "" {
								if r.Owner, r.Status = "", storage.StatusSucceeded; c.expires {
									r.Input = nil
								}
								w.Put = []storage.Record{r}
							}
							return w, nil
						})
						if err != nil {
							t.Error(err)
						}
					})
					synctest.Wait() // the first is alone
				}
				wg.Wait()
				if s.swaps != c.swaps || s.batches.Load() != c.batches {
					t.Errorf("got %d swaps and %d transactions, want %d and %d", s.swaps, s.batches.Load(), c.swaps, c.batches)
				}
				for i := range runs {
					r, err := s.Get(t.Context(), []storage.Key{run(i).Key})
					if err != nil || r[0].Status != storage.StatusSucceeded || r[0].Version != 2 {
						t.Errorf("run %d: got %+v, %v; want that it has succeeded once", i, r[0], err)
					}
				}
			})
		})
	}
}

// TestUpdateKnownFails: an error of the decision is returned, and that of a transaction
// after a reply was lost says so.
func TestUpdateKnownFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := errors.New("fenced")
		known := Known{storage.Record{Key: storage.Key{Kind: storage.KindRun, Run: "r"}, Version: 1}, time.Now}
		s := &swapStore{slowStore: slowStore{Store: memory.New()}}
		s.before = func(int, int) error { return storage.ErrStore }
		decide := func(storage.Tx) (storage.Writes, error) { return storage.Writes{}, refusal }
		if err := New(s.Store).UpdateKnown(t.Context(), known, decide); err != refusal {
			t.Errorf("got %v, want the error of the decision", err)
		}
		end := func(storage.Tx) (storage.Writes, error) {
			return storage.Writes{Put: []storage.Record{known.Record}}, nil
		}
		if err := New(s).UpdateKnown(t.Context(), known, end); !errors.Is(err, storage.ErrStore) {
			t.Errorf("got %v, want that of the store", err)
		}
		s.lost = true
		if err := New(s).UpdateKnown(t.Context(), known, end); !errors.Is(err, storage.ErrUnknown) {
			t.Errorf("got %v, want that the run may have been replaced", err)
		}
	})
}
