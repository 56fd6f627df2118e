package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestManyKinds writes and deletes records of all kinds in one update, with a
// statement for each and with arrays.
func TestManyKinds(t *testing.T) {
	store := open(t, pgtest.URL(t))
	for _, n := range []int{1, 30} {
		var w storage.Writes
		var keys []storage.Key
		for i := range n {
			for kind := storage.KindOwner; kind <= storage.KindBreaker; kind++ {
				key := storage.Key{Kind: kind, Space: "test", Run: "r", ID: fmt.Sprint(i)}
				keys = append(keys, key)
				w.Put = append(w.Put, storage.Record{
					Key: key, Due: month.AddDate(0, 0, i%2), Bucket: month, Body: fmt.Append(nil, i),
				})
				w.Add = append(w.Add, storage.Entry{Step: key, Attempt: 1, Bucket: month,
					Result: bytes.Repeat([]byte{0, 255}, i%2)})
			}
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		update := func(w storage.Writes) {
			t.Helper()
			err := store.Update(t.Context(), storage.Select{Keys: keys},
				func(storage.Tx) (storage.Writes, error) { return w, nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		for version := range uint64(3) {
			for i := range w.Put {
				w.Put[i].Fence = version
			}
			update(w)
			for _, r := range w.Put {
				r.Version = version + 1
				if got := get(t, store, r.Key); fmt.Sprint(got) != fmt.Sprint(r) {
					t.Errorf("got %v, want %v", got, r)
				}
			}
		}
		update(storage.Writes{Delete: keys})
		for _, e := range w.Add {
			entries, _, err := store.History(t.Context(), e.Step, "")
			if got := get(t, store, e.Step); got.Version != 0 || len(entries) > 0 || err != nil {
				t.Errorf("got %+v, %v and error %v after the deletion", got, entries, err)
			}
		}
	}
}

// TestSkipLocked: a query of an update skips the records that others have locked. It
// does not wait for them.
func TestSkipLocked(t *testing.T) {
	store := open(t, pgtest.URL(t))
	for i := range 4 {
		put(t, store, storage.Record{Key: runKey(fmt.Sprint(i)), Due: month, Bucket: month})
	}
	query := storage.Select{Queries: []storage.Query{{Kind: storage.KindRun, Space: "test", DueBy: month, Limit: 2}}}
	var claimed []string
	var claim func(storage.Tx) (storage.Writes, error)
	claim = func(tx storage.Tx) (storage.Writes, error) {
		if len(tx.Records) == 0 {
			return storage.Writes{}, nil
		}
		for _, r := range tx.Records {
			claimed = append(claimed, r.Key.Run)
		}
		return storage.Writes{}, store.Update(t.Context(), query, claim) // while these are locked
	}
	if err := store.Update(t.Context(), query, claim); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0", "1", "2", "3"}; !slices.Equal(claimed, want) {
		t.Errorf("got %q, want %q", claimed, want)
	}
}

// TestLeaseOfExhaustedPool renews a lease while all connections of the pool are used.
func TestLeaseOfExhaustedPool(t *testing.T) {
	store := open(t, pgtest.URL(t)+"&pool_max_conns=2")
	var all, ready sync.WaitGroup
	ready.Add(2)
	done := make(chan struct{})
	for i := range 2 {
		all.Go(func() {
			err := store.Update(t.Context(), storage.Select{Keys: []storage.Key{stepKey(fmt.Sprint(i))}},
				func(storage.Tx) (storage.Writes, error) {
					ready.Done()
					<-done
					return storage.Writes{}, nil
				})
			if err != nil {
				t.Error(err)
			}
		})
	}
	ready.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := increment(ctx, store, storage.Key{Kind: storage.KindOwner, ID: "o"}); err != nil {
		t.Error(err)
	}
	close(done)
	all.Wait()
}

// TestHostileTexts: an update that PostgreSQL would refuse fails alone, although it
// shares a transaction with others.
func TestHostileTexts(t *testing.T) {
	store := open(t, pgtest.URL(t))
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 1000))
	random := make([]byte, 9000)
	for i := range random {
		random[i] = 'a' + byte(rand.IntN(26)) // an index compresses repetitions
	}
	for _, r := range []storage.Record{
		{Key: stepKey(string(random)), Bucket: month},
		{Key: stepKey("due"), Due: time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC), Bucket: month},
		{Key: stepKey("day"), Bucket: month.AddDate(0, 0, 1)},
		{Key: stepKey("handler\x00"), Handler: "\xff", Bucket: month},
	} {
		good := storage.Record{Key: stepKey("good"), Bucket: month, Body: []byte(large + "\x00\xff")}
		if err := tryPut(t, store, good, r); !errors.Is(err, storage.ErrStore) || errors.Is(err, storage.ErrUnknown) {
			t.Errorf("%.50v: got error %v, want ErrStore", r.Key, err)
		}
		if got := get(t, store, good.Key); got.Version != 0 {
			t.Errorf("%.50v: the rest was committed", r.Key)
		}
	}
}

// TestNotified: a notification reaches the listeners of other stores soon, also after
// the connection was lost, which is a notification itself.
func TestNotified(t *testing.T) {
	url := pgtest.URL(t)
	proxy, through := pgtest.NewProxy(t, url)
	listener, writer := open(t, url, postgres.Listen(through)), open(t, url)
	wakes, err := listener.Notifications(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	wake := func() {
		t.Helper()
		select {
		case <-wakes:
		case <-time.After(time.Minute):
			t.Fatal("no notification")
		}
	}
	for i := range 3 {
		put(t, writer, storage.Record{Key: runKey(fmt.Sprint(i)), Status: storage.StatusOpen, Due: month, Bucket: month})
		wake()
		proxy.Cut()
		wake()
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, open := <-wakes; open {
		t.Error("the channel is open after Close")
	}
}
