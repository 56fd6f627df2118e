// Package durabletest tests stores for package durable, and programs that use the stores.
//
//   - [Run] is the conformance test of a store.
//   - [CrashAt], [LoseReply] and [FailBy] make a store fail as it does when a process
//     dies or a connection breaks.
//   - [Replay] checks that the function of a run can be continued after a crash.
//   - [BenchmarkResume] measures how fast a store returns the steps of a long run.
package durabletest

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An Open opens the store in an existing folder that no other store uses. If the store
// survives its process, Open is called again for the same folder after the store has been
// closed. If the store can be shared, Open is also called while the store is already
// open. The conformance test closes the returned store.
type Open func(t *testing.T, dir string) storage.Store

// Run runs the conformance test of a store, in which each promise of [storage.Store] and
// of its [storage.Guarantee] is a subtest. The test takes a few seconds. Later subtests
// rely on earlier ones, so use go test -failfast and fix the first failure. The subtest
// of an optional interface, such as [storage.Notifier], is skipped if the store does not
// implement it.
func Run(t *testing.T, open Open) {
	for _, test := range []func(*testing.T, *place){
		testRecords, testVersions, testCopies, testOrderOfRecords, testManyRecords, testText, testRefusedText, testLarge,
		testErrorOfDecide, testPanic, testUnselected, testContext, testWaitEnds,
		testNoLostUpdate, testNoDeadlock, testTimeAfterLocks, testClaims, testLockedRecords,
		testQueries, testSelections, testPagesDuringWrites, testPagesNewestFirst,
		testEntries, testEntriesRepeated, testDelete, testClear, testHistoryPages, testEntriesAcross,
		testSwap, testClaimNew, testInsert, testInsertAtOnce,
		testReopen, testShared, testLiveness, testNotifications, testClose,
		testHistory01CrashAnywhere, testHistory02LostReplies, testHoldCrashAnywhere, testHoldLostReplies,
		testHistory03ClaimDuringWrite,
		testHistory12SharedTransaction, testHistory29Results, testHistory37Deleted,
		testSignals, testLargeRunSucceeds, testLargeRunExpires,
	} {
		t.Run(name(test), func(t *testing.T) {
			test(t, &place{t: t, open: open, dir: t.TempDir()})
		})
	}
}

// name returns the name of a subtest: that of its function without "test".
func name(test any) string {
	full := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
	return strings.TrimPrefix(full[strings.LastIndex(full, ".")+1:], "test")
}

// A place is where the store of a subtest is.
type place struct {
	t    *testing.T
	open Open
	dir  string
}

// store opens the store until the end of the subtest.
func (p *place) store() *tester {
	p.t.Helper()
	s := p.storeToClose()
	p.t.Cleanup(s.close)
	return s
}

// storeToClose opens the store, which the subtest closes.
func (p *place) storeToClose() *tester { return &tester{Store: p.open(p.t, p.dir), t: p.t} }

// A tester is a store whose methods end the test on errors.
type tester struct {
	storage.Store
	t *testing.T
}

// optional returns the store as an optional interface of package storage. It skips the
// subtest if the store does not implement it.
func optional[T any](s *tester) T {
	s.t.Helper()
	store, ok := s.Store.(T)
	if !ok {
		s.t.Skipf("the store is not a %v, and need not be one", reflect.TypeFor[T]())
	}
	return store
}

func (s *tester) close() {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Errorf("Close: %v", err)
	}
}

// limit is for a whole subtest.
const limit = 2 * time.Minute

// update updates the records of keys.
func (s *tester) update(keys []storage.Key, decide func(storage.Tx) (storage.Writes, error)) {
	s.t.Helper()
	if err := s.Update(s.t.Context(), storage.Select{Keys: keys}, decide); err != nil {
		s.t.Fatalf("Update(%v): %v", keys, err)
	}
}

// write writes w, whose records and steps it selects.
func (s *tester) write(w storage.Writes) {
	s.t.Helper()
	var keys []storage.Key
	for _, r := range w.Put {
		keys = append(keys, r.Key)
	}
	for _, e := range w.Add {
		keys = append(keys, e.Step)
	}
	s.update(append(keys, w.Delete...), func(storage.Tx) (storage.Writes, error) { return w, nil })
}

// put writes records.
func (s *tester) put(records ...storage.Record) {
	s.t.Helper()
	s.write(storage.Writes{Put: records})
}

// get returns records.
func (s *tester) get(keys ...storage.Key) []storage.Record {
	s.t.Helper()
	records, err := s.Get(s.t.Context(), keys)
	if err != nil {
		s.t.Fatalf("Get: %v", err)
	}
	if len(records) != len(keys) {
		s.t.Fatalf("Get returned %d records of %d keys", len(records), len(keys))
	}
	return records
}

// list returns all pages of a query, and the size of the largest.
func (s *tester) list(q storage.Query) (records []storage.Record, largest int) {
	s.t.Helper()
	for {
		page, next, err := s.List(s.t.Context(), q)
		if err != nil {
			s.t.Fatalf("List(%s): %v", setFields(q), err)
		}
		records, largest = append(records, page...), max(largest, len(page))
		if next == "" {
			return records, largest
		}
		if len(page) == 0 {
			s.t.Fatalf("List(%s): an empty page that is not the last", setFields(q))
		}
		q.From = next
	}
}

// history returns all entries of a step, and the size of the largest page.
func (s *tester) history(step storage.Key) (entries []storage.Entry, largest int) {
	s.t.Helper()
	var from storage.Cursor
	for {
		page, next, err := s.History(s.t.Context(), step, from)
		if err != nil {
			s.t.Fatalf("History(%v): %v", step, err)
		}
		entries, largest = append(entries, page...), max(largest, len(page))
		if next == "" {
			return entries, largest
		}
		from = next
	}
}

// limited returns a context that ends before the test is stuck.
func (s *tester) limited() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	s.t.Cleanup(cancel)
	return ctx
}

func step(id string) storage.Key {
	return storage.Key{Kind: storage.KindStep, Space: "test", Run: "run", ID: id}
}

func run(id string) storage.Key { return storage.Key{Kind: storage.KindRun, Space: "test", Run: id} }

// month is the bucket of all records of these tests.
var month = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// record returns a record whose body is a number.
func record(key storage.Key, n uint64) storage.Record {
	return storage.Record{Key: key, Status: storage.StatusOpen, Bucket: month, Body: number(n)}
}

// number returns n as JSON.
func number(n uint64) []byte { return strconv.AppendUint(nil, n, 10) }

// numberIn returns the number in the body of r, or 0 if r does not exist.
func numberIn(r storage.Record) uint64 {
	n, _ := strconv.ParseUint(string(r.Body), 10, 64)
	return n
}

// increment adds 1 to the numbers in the records.
func increment(tx storage.Tx) (storage.Writes, error) {
	var w storage.Writes
	for i, r := range tx.Records {
		first := slices.IndexFunc(tx.Records, func(other storage.Record) bool { return other.Key == r.Key })
		if first == i {
			w.Put = append(w.Put, record(r.Key, numberIn(r)+1))
		}
	}
	return w, nil
}

func isStoreError(err error) bool { return errors.Is(err, storage.ErrStore) }
