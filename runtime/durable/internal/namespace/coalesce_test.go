package namespace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A slowStore takes a second for each transaction, and counts them. before and
// after may make one fail; batch is its number, from 1.
type slowStore struct {
	*memory.Store
	batches atomic.Int64
	before  func(batch, keys int) error
	after   func(batch int) error
}

func (s *slowStore) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	n := int(s.batches.Add(1))
	if s.before != nil {
		if err := s.before(n, len(sel.Keys)); err != nil {
			return err
		}
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", storage.ErrStore, ctx.Err())
	}
	if err := s.Store.Update(ctx, sel, decide); err != nil {
		return err
	}
	if s.after != nil {
		return s.after(n)
	}
	return nil
}

// count returns the number in a record.
func count(r storage.Record) uint64 {
	if r.Version == 0 {
		return 0
	}
	return binary.BigEndian.Uint64(r.Body)
}

// incremented adds 1 to the number in a record.
func incremented(r storage.Record) storage.Record {
	r.Body = binary.BigEndian.AppendUint64(nil, count(r)+1)
	return r
}

// increment adds 1 to each record. It is not idempotent.
func increment(tx storage.Tx) (storage.Writes, error) {
	var w storage.Writes
	for _, r := range tx.Records {
		w.Put = append(w.Put, incremented(r))
	}
	return w, nil
}

func (s *slowStore) want(t *testing.T, key storage.Key, want uint64) {
	t.Helper()
	r, err := s.Get(t.Context(), []storage.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	if got := count(r[0]); got != want {
		t.Errorf("%v: got %d, want %d", key, got, want)
	}
}

// TestCoalescerShares: those who come while a transaction is under way share the
// next, at most 256 of them, and each sees the writes of those before it.
func TestCoalescerShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memory.New()}
		c := newCoalescer(s)
		var wg sync.WaitGroup
		for i := range 600 {
			wg.Go(func() {
				keys := []storage.Key{counterKey(i % 7), counterKey(1000)}
				err := c.update(t.Context(), keys, func(tx storage.Tx) (storage.Writes, error) {
					if v := tx.Records[1].Version; v > uint64(s.batches.Load()) {
						t.Errorf("update %d sees version %d in transaction %d", i, v, s.batches.Load())
					}
					return increment(tx)
				})
				if err != nil {
					t.Error(err)
				}
			})
			if i == 0 {
				synctest.Wait() // the first is alone
			}
		}
		wg.Wait()
		if got := s.batches.Load(); got != 4 { // 1 + 256 + 256 + 87
			t.Errorf("got %d transactions, want 4", got)
		}
		s.want(t, counterKey(1000), 600)
		s.want(t, counterKey(3), 86)
		if c.led || len(c.queue) > 0 {
			t.Errorf("at the end: led %v, %d in the queue", c.led, len(c.queue))
		}
	})
}

// TestCoalescerIsolates: a refusal and a panic remove only themselves.
func TestCoalescerIsolates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memory.New()}
		c := newCoalescer(s)
		refusal := errors.New("fenced")
		var wg sync.WaitGroup
		for i := range 41 {
			wg.Go(func() {
				err := c.update(t.Context(), []storage.Key{counterKey(1)}, func(tx storage.Tx) (storage.Writes, error) {
					w, _ := increment(tx)
					switch i % 4 {
					case 1:
						return w, refusal
					case 2:
						panic("impossible")
					case 3:
						w.Put[0].Owner = "\xff"
					}
					return w, nil
				})
				if want := []error{nil, refusal, storage.ErrStore, storage.ErrStore}[i%4]; !errors.Is(err, want) {
					t.Errorf("update %d: got %v, want %v", i, err, want)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		s.want(t, counterKey(1), 11)
		if got := s.batches.Load(); got != 2 {
			t.Errorf("got %d transactions, want 2", got)
		}
	})
}

// TestCoalescerRepeatsOneByOne: when the store refuses a batch, its items are
// sent alone.
func TestCoalescerRepeatsOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := fmt.Errorf("%w: value too long", storage.ErrStore)
		s := &slowStore{Store: memory.New()}
		bad := counterKey(13)
		s.before = func(_, keys int) error {
			if keys > 1 {
				return refusal
			}
			return nil
		}
		c := newCoalescer(s)
		var wg sync.WaitGroup
		for i := range 11 {
			wg.Go(func() {
				keys := []storage.Key{counterKey(i)}
				if i == 5 {
					keys = append(keys, bad)
				}
				if err := c.update(t.Context(), keys, increment); (i == 5) != errors.Is(err, refusal) {
					t.Errorf("update %d: got %v", i, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if got := s.batches.Load(); got != 12 { // the first, the batch of 10, and those 10
			t.Errorf("got %d transactions, want 12", got)
		}
		s.want(t, counterKey(10), 1)
		s.want(t, bad, 0)
	})
}

// TestCoalescerLostReply: a batch whose reply is lost is repeated, and its items
// find their writes.
func TestCoalescerLostReply(t *testing.T) {
	for _, lost := range []int{1, 3, 4, 100} {
		synctest.Test(t, func(t *testing.T) {
			s := &slowStore{Store: memory.New()}
			s.after = func(batch int) error {
				if batch > 1 && batch <= 1+lost {
					return storage.ErrUnknown
				}
				return nil
			}
			c := newCoalescer(s)
			var wg sync.WaitGroup
			for i := range 9 {
				wg.Go(func() {
					keys := []storage.Key{counterKey(i), counterKey(99)}
					err := c.update(t.Context(), keys, func(tx storage.Tx) (storage.Writes, error) {
						if tx.Records[0].Version > 0 {
							return storage.Writes{}, nil
						}
						return increment(tx)
					})
					want := error(nil)
					if i > 0 && lost > maxRepeats {
						want = storage.ErrUnknown
					}
					if !errors.Is(err, want) {
						t.Errorf("%d lost: update %d: got %v, want %v", lost, i, err, want)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
			s.want(t, counterKey(99), 9)
			if got, want := s.batches.Load(), int64(2+min(lost, maxRepeats)); got != want {
				t.Errorf("%d lost: got %d transactions, want %d", lost, got, want)
			}
		})
	}
}

// TestCoalescerUnknownStays: an update whose first reply was lost and whose
// repeat fails may have been committed.
func TestCoalescerUnknownStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memory.New()}
		s.before = func(batch, _ int) error {
			return []error{storage.ErrUnknown, fmt.Errorf("%w: disk full", storage.ErrStore)}[min(batch-1, 1)]
		}
		err := newCoalescer(s).update(t.Context(), []storage.Key{counterKey(1)}, increment)
		if !errors.Is(err, storage.ErrUnknown) {
			t.Errorf("got %v, want ErrUnknown", err)
		}
	})
}

// TestCoalescerContextEnds: the end of a context removes an update from the
// queue, but not from a transaction.
func TestCoalescerContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memory.New()}
		c := newCoalescer(s)
		start := time.Now()
		update := func(key int, timeout, want time.Duration, wantErr error) {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			err := c.update(ctx, []storage.Key{counterKey(key)}, increment)
			if got := time.Since(start); got != want || !errors.Is(err, wantErr) {
				t.Errorf("update %d ended after %v with %v, want %v and %v", key, got, err, want, wantErr)
			}
		}
		var wg sync.WaitGroup
		for i, u := range []struct {
			timeout, want time.Duration
			err           error
		}{
			{500 * time.Millisecond, time.Second, nil},                                 // leads
			{500 * time.Millisecond, 500 * time.Millisecond, context.DeadlineExceeded}, // not sent
			{1500 * time.Millisecond, 2 * time.Second, nil},                            // sent; leads
			{1500 * time.Millisecond, 2 * time.Second, nil},                            // sent
			{time.Hour, 2 * time.Second, nil},                                          //
			{500 * time.Millisecond, 500 * time.Millisecond, storage.ErrStore},         // not sent
		} {
			wg.Go(func() { update(i, u.timeout, u.want, u.err) })
			synctest.Wait()
		}
		wg.Wait()
		for i, want := range []uint64{1, 0, 1, 1, 1, 0} {
			s.want(t, counterKey(i), want)
		}
		update(9, -1, 2*time.Second, storage.ErrStore)
		if c.led || len(c.queue) > 0 || s.batches.Load() != 2 {
			t.Errorf("at the end: led %v, %d in the queue, %d transactions", c.led, len(c.queue), s.batches.Load())
		}
	})
}

// TestCoalescerStuckStore: a store that does not answer costs a caller 30s after
// the end of its context. The others continue to wait.
func TestCoalescerStuckStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuckStore{slowStore: slowStore{Store: memory.New()}, until: time.Now().Add(100 * time.Second)}
		c := newCoalescer(s)
		start := time.Now()
		var wg sync.WaitGroup
		for i, u := range []struct {
			timeout, want time.Duration
			err           error
		}{
			{5 * time.Second, 35 * time.Second, storage.ErrStore},    // leads: its transaction did not begin
			{5 * time.Second, 5 * time.Second, storage.ErrStore},     // in the queue
			{40 * time.Second, 70 * time.Second, storage.ErrStore},   // leads after the first
			{45 * time.Second, 75 * time.Second, storage.ErrStore},   // in its batch, then leads
			{50 * time.Second, 80 * time.Second, storage.ErrStore},   // so, too
			{time.Hour, 101 * time.Second, nil},                      // leads at last
			{60 * time.Second, 90 * time.Second, storage.ErrUnknown}, // in its batch
			{95 * time.Second, 101 * time.Second, nil},               // in its batch
		} {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), u.timeout)
				defer cancel()
				var gone bool
				err := c.update(ctx, []storage.Key{counterKey(i)}, func(tx storage.Tx) (storage.Writes, error) {
					if gone { // and no race with the line below
						t.Errorf("update %d decides after it has returned", i)
					}
					return increment(tx)
				})
				gone = true
				if got := time.Since(start); got != u.want || !errors.Is(err, u.err) {
					t.Errorf("update %d ended after %v with %v, want %v and %v", i, got, err, u.want, u.err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
	})
}

// A stuckStore does not answer until some time.
type stuckStore struct {
	slowStore
	until time.Time
}

func (s *stuckStore) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	select {
	case <-time.After(time.Until(s.until)):
		return s.slowStore.Update(ctx, sel, decide)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", storage.ErrStore, ctx.Err())
	}
}

// TestCoalescerStorePanics: the panic of a store ends its leader only.
func TestCoalescerStorePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memory.New()}
		s.before = func(batch, _ int) error {
			if batch == 2 {
				panic("broken driver")
			}
			return nil
		}
		c := newCoalescer(s)
		var panics atomic.Int64
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				if err := c.update(t.Context(), []storage.Key{counterKey(i)}, increment); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		for i, want := range []uint64{1, 0, 1, 1} {
			s.want(t, counterKey(i), want)
		}
		if panics.Load() != 1 {
			t.Errorf("got %d panics, want 1", panics.Load())
		}
	})
}

// TestCoalescerDeletes: in a batch, a record that is deleted and written again
// has only its new entries.
func TestCoalescerDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memory.New()}
		c := newCoalescer(s)
		key := counterKey(1)
		add := func(attempt int) func(tx storage.Tx) (storage.Writes, error) {
			return func(tx storage.Tx) (storage.Writes, error) {
				w, err := increment(tx)
				w.Add = []storage.Entry{{Step: key, Attempt: attempt}}
				return w, err
			}
		}
		remove := func(storage.Tx) (storage.Writes, error) { return storage.Writes{Delete: []storage.Key{key}}, nil }
		var wg sync.WaitGroup
		for _, decide := range []func(storage.Tx) (storage.Writes, error){add(1), add(2), remove, add(3), add(4)} {
			wg.Go(func() {
				if err := c.update(t.Context(), []storage.Key{key}, decide); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		entries, _, err := s.History(t.Context(), key, "")
		if err != nil || len(entries) != 2 || entries[0].Attempt != 3 || entries[1].Attempt != 4 {
			t.Errorf("got entries %v, %v; want attempts 3 and 4", entries, err)
		}
		s.want(t, key, 2)
		if got := s.batches.Load(); got != 2 {
			t.Errorf("got %d transactions, want 2", got)
		}
	})
}

func BenchmarkCoalescer(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			c := newCoalescer(memory.New())
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			b.ReportAllocs()
			b.SetParallelism(callers)
			var id atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				keys := []storage.Key{{Kind: storage.KindRun, Space: "s", Run: "r"}, counterKey(int(id.Add(1)))}
				for pb.Next() {
					err := c.update(ctx, keys, func(tx storage.Tx) (storage.Writes, error) {
						return storage.Writes{Put: []storage.Record{incremented(tx.Records[1])}}, nil
					})
					if err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// An update that is refused leaves no writes, whether it is alone in its
// transaction or not.
func TestCoalescerRefusedWrites(t *testing.T) {
	m := memory.New()
	key := storage.Key{Kind: storage.KindStep, Run: "one", ID: "a"}
	refusal := errors.New("refused")
	err := newCoalescer(m).update(t.Context(), []storage.Key{key}, func(tx storage.Tx) (storage.Writes, error) {
		return storage.Writes{Put: tx.Records}, refusal
	})
	if err != refusal {
		t.Errorf("got error %v, want the refusal", err)
	}
	if records, err := m.Get(t.Context(), []storage.Key{key}); err != nil || records[0].Version != 0 {
		t.Errorf("got record %+v, %v; want none", records[0], err)
	}
}

func counterKey(i int) storage.Key {
	return storage.Key{Kind: storage.KindStep, Space: "s", Run: "r", ID: fmt.Sprintf("%04d", i)}
}
