package durabletest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// testRecords: every field comes back as it was written, times to the
// microsecond.
func testRecords(t *testing.T, p *place) {
	s := p.store()
	due := time.Date(2026, 11, 22, 23, 59, 59, 123456000, time.UTC)
	far := time.FixedZone("far", 9*3600)
	records := []storage.Record{
		{Key: run("all"), Status: storage.StatusParked, Owner: "owner", Fence: math.MaxInt64, Handler: "settle", Due: due,
			Priority: math.MinInt16, Created: due.Add(-time.Hour), Claimed: due.Add(-time.Minute), Ended: due.Add(time.Second),
			Deadline: due.Add(time.Hour), Attention: true, Awaited: true, Label: "label: ä", Bucket: month,
			Input: []byte(`{"n": 1}`), Result: []byte("\x00\xff"), Body: []byte(`{"a": 1}`)},
		{Key: run("few"), Status: storage.StatusOpen, Bucket: month},
		{Key: run("local"), Due: due.In(far), Created: due.In(far), Claimed: due.In(far), Ended: due.In(far),
			Deadline: due.In(far), Bucket: month, Body: []byte(`"\u0000"`)},
		{Key: storage.Key{Kind: storage.KindOwner, ID: "no space"}, Bucket: month, Body: []byte(`[]`)},
		{Key: storage.Key{Kind: storage.KindBreaker, Space: "test", ID: "api"}, Bucket: month, Body: []byte(`1`)},
	}
	s.put(records...)
	for i, got := range s.get(keysOf(records)...) {
		want := records[i]
		want.Version = 1
		equalRecord(t, got, want)
	}
	s.put(storage.Record{Key: run("all"), Status: storage.StatusFailed, Bucket: month, Body: []byte(`2`)})
	equalRecord(t, s.get(run("all"))[0], storage.Record{
		Key: run("all"), Version: 2, Status: storage.StatusFailed, Bucket: month, Body: []byte(`2`),
	})
}

func keysOf(records []storage.Record) []storage.Key {
	var keys []storage.Key
	for _, r := range records {
		keys = append(keys, r.Key)
	}
	return keys
}

// timesOf returns the times of a record.
func timesOf(r *storage.Record) []*time.Time {
	return []*time.Time{&r.Due, &r.Created, &r.Claimed, &r.Ended, &r.Deadline, &r.Bucket}
}

// equalRecord compares records. Times are equal if they are the same instant, and got
// has it in UTC.
func equalRecord(t *testing.T, got, want storage.Record) {
	t.Helper()
	a, b := got, want
	times := timesOf(&b)
	for i, at := range timesOf(&a) {
		if at.Equal(*times[i]) && at.Location() == time.UTC {
			*at = *times[i]
		}
	}
	if !reflect.DeepEqual(a, b) { // nil is not empty
		t.Errorf("got record %s, want %s", setFields(got), setFields(want))
	}
}

// testVersions: a record has version 0 before it exists and after it was
// deleted, and each change raises its version.
func testVersions(t *testing.T, p *place) {
	s := p.store()
	key := step("a")
	equalRecord(t, s.get(key)[0], storage.Record{Key: key})
	var before uint64
	for n := range uint64(5) {
		s.update([]storage.Key{key}, func(tx storage.Tx) (storage.Writes, error) {
			if r := tx.Records[0]; r.Version != before || r.Key != key {
				return storage.Writes{}, fmt.Errorf("got version %d of %v, want %d of %v", r.Version, r.Key, before, key)
			}
			r := record(key, n)
			r.Version = 77 // ignored
			return storage.Writes{Put: []storage.Record{r}}, nil
		})
		after := s.get(key)[0].Version
		if after <= before || before == 0 && after != 1 {
			t.Errorf("got version %d after %d", after, before)
		}
		before = after
	}
	s.write(storage.Writes{Delete: []storage.Key{key}})
	equalRecord(t, s.get(key)[0], storage.Record{Key: key})
}

// testCopies: neither what a store gets nor what it returns is shared with it.
func testCopies(t *testing.T, p *place) {
	s := p.store()
	key := step("a")
	body := []byte(`"original"`)
	entry := storage.Entry{
		Step: key, Attempt: 1, At: month, Bucket: month, Body: bytes.Clone(body), Result: bytes.Clone(body),
	}
	r := record(key, 0)
	r.Body = bytes.Clone(body)
	s.write(storage.Writes{Put: []storage.Record{r}, Add: []storage.Entry{entry}})
	spoil := func(texts ...[]byte) {
		for _, text := range texts {
			clear(text)
		}
	}
	spoil(r.Body, entry.Body, entry.Result)
	for range 2 {
		entries, _ := s.history(key)
		got := s.get(key)[0].Body
		listed, _ := s.list(storage.Query{Kind: key.Kind, Space: key.Space})
		s.update([]storage.Key{key, key}, func(tx storage.Tx) (storage.Writes, error) {
			for _, text := range [][]byte{tx.Records[0].Body, got, listed[0].Body, entries[0].Body, entries[0].Result} {
				if !bytes.Equal(text, body) {
					return storage.Writes{}, fmt.Errorf("got %q, want %q: somebody else has changed it", text, body)
				}
			}
			spoil(tx.Records[0].Body)
			return storage.Writes{}, nil
		})
		spoil(got, listed[0].Body, entries[0].Body, entries[0].Result)
	}
}

// testOrderOfRecords: records come in the order of the keys that were asked for,
// with duplicates.
func testOrderOfRecords(t *testing.T, p *place) {
	s := p.store()
	s.put(record(step("a"), 1), record(step("b"), 2), record(run("a"), 3))
	keys := []storage.Key{step("b"), step("none"), run("a"), step("a"), step("b"), step("none")}
	check := func(records []storage.Record) {
		t.Helper()
		for i, want := range []uint64{2, 0, 3, 1, 2, 0} {
			if i >= len(records) || records[i].Key != keys[i] || numberIn(records[i]) != want {
				t.Fatalf("got records %+v, want those of %v", records, keys)
			}
		}
	}
	check(s.get(keys...))
	s.update(keys, func(tx storage.Tx) (storage.Writes, error) {
		check(tx.Records)
		return increment(tx)
	})
	if got := s.get(step("b"), step("none")); numberIn(got[0]) != 3 || numberIn(got[1]) != 1 {
		t.Errorf("got %v, want numbers 3 and 1", got)
	}
	if got := s.get(); len(got) != 0 {
		t.Errorf("got %d records of no keys", len(got))
	}
}

// testManyRecords: an update may have as many records as a full batch has.
func testManyRecords(t *testing.T, p *place) {
	s := p.store()
	var keys []storage.Key
	for i := range 1024 {
		keys = append(keys, step(fmt.Sprint(i)))
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for range 3 {
		s.update(keys, increment)
	}
	for i, r := range s.get(keys...) {
		if r.Key != keys[i] || numberIn(r) != 3 {
			t.Fatalf("got record %s, want number 3 of %v", setFields(r), keys[i])
		}
	}
}

// texts are valid, sorted bytewise, and easily confused with one another.
var texts = []string{
	" ", "%", "'; DROP TABLE x; --", "-", "A", "B", "Z", "\\", "_", "a", "a ", "a\t", "a/b", "ab", "b", "z", "\u007f",
	"\u00c9",
	"\u00e9", "e\u0301", "ß", "\u200b", "\ufb00", "\uffff", "\U00010000", "\U0010ffff", strings.Repeat("k", 1000),
}

// testText: all valid text is kept exactly, distinguished and ordered bytewise.
func testText(t *testing.T, p *place) {
	s := p.store()
	var records []storage.Record
	for i, text := range texts {
		r := record(storage.Key{Kind: storage.KindStep, Space: "test", Run: text, ID: text}, uint64(i))
		r.Owner, r.Handler = text, text
		other := record(storage.Key{Kind: storage.KindStep, Space: text, Run: "run", ID: "id"}, uint64(i))
		records = append(records, r, other)
	}
	s.put(records...)
	for i, got := range s.get(keysOf(records)...) {
		want := records[i]
		want.Version = 1
		equalRecord(t, got, want)
	}
	records = slices.DeleteFunc(records, func(r storage.Record) bool { return r.Key.Space != "test" })
	slices.SortFunc(records, func(a, b storage.Record) int { return cmp.Compare(a.Key.Run, b.Key.Run) })
	listed, _ := s.list(storage.Query{Kind: storage.KindStep, Space: "test", Limit: 4})
	if got, want := keysOf(listed), keysOf(records); !slices.Equal(got, want) {
		t.Errorf("got the order %v, want %v", got, want)
	}
}

// testRefusedText: text that is not valid UTF-8 or has a NUL byte is refused, or
// kept exactly.
func testRefusedText(t *testing.T, p *place) {
	s := p.store()
	for _, text := range []string{"a\xffb", "\xc3", "\xed\xa0\x80", "a\x00b", "\x00"} {
		for field, r := range map[string]storage.Record{
			"Run":     record(storage.Key{Kind: storage.KindStep, Space: "test", Run: text, ID: "id"}, 1),
			"ID":      record(step(text), 1),
			"Space":   record(storage.Key{Kind: storage.KindStep, Space: text, Run: "run", ID: "id"}, 1),
			"Owner":   {Key: run("r"), Owner: text, Bucket: month, Body: number(1)},
			"Handler": {Key: run("r"), Handler: text, Bucket: month, Body: number(1)},
		} {
			good := step("good" + field)
			err := s.Update(t.Context(), storage.Select{Keys: []storage.Key{r.Key, good}},
				func(storage.Tx) (storage.Writes, error) {
					return storage.Writes{Put: []storage.Record{r, record(good, 1)}}, nil
				})
			if err != nil {
				if !errors.Is(err, storage.ErrStore) {
					t.Errorf("%s %q: got error %v, want ErrStore", field, text, err)
				}
				equalRecord(t, s.get(good)[0], storage.Record{Key: good}) // nothing was committed
				continue
			}
			r.Version = 1
			equalRecord(t, s.get(r.Key)[0], r)
			s.write(storage.Writes{Delete: []storage.Key{r.Key, good}})
		}
	}
}

// testLarge: bodies and results may have 1 MiB.
func testLarge(t *testing.T, p *place) {
	s := p.store()
	large := slices.Concat([]byte(`"`), bytes.Repeat([]byte("x\\u0000 é"), 1<<20/9), []byte(`"`))
	r := record(step("a"), 0)
	r.Body = slices.Concat([]byte(`"`), bytes.Repeat([]byte("0123456 "), 1<<17), []byte(`"`))
	s.write(storage.Writes{Put: []storage.Record{r}, Add: []storage.Entry{
		{Step: r.Key, Attempt: 1, At: month, Bucket: month, Body: []byte(`{}`), Result: large},
	}})
	if got := s.get(r.Key)[0]; !bytes.Equal(got.Body, r.Body) {
		t.Errorf("got a body of %d bytes, want the same %d", len(got.Body), len(r.Body))
	}
	if got, _ := s.history(r.Key); len(got) != 1 || !bytes.Equal(got[0].Result, large) {
		t.Errorf("got %d entries, want one with the result of %d bytes", len(got), len(large))
	}
}
