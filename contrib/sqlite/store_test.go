package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// open opens a store that is closed when the test ends.
func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func newStore(t testing.TB) *sqlite.Store {
	return open(t, filepath.Join(t.TempDir(), "state.db"))
}

func stepKey(id string) storage.Key {
	return storage.Key{Kind: storage.KindStep, Space: "test", Run: "run", ID: id}
}

// put writes whole records.
func put(t testing.TB, store storage.Store, records ...storage.Record) {
	t.Helper()
	if err := tryPut(t, store, records...); err != nil {
		t.Fatal(err)
	}
}

func tryPut(t testing.TB, store storage.Store, records ...storage.Record) error {
	var keys []storage.Key
	for _, r := range records {
		keys = append(keys, r.Key)
	}
	return store.Update(t.Context(), storage.Select{Keys: keys}, func(storage.Tx) (storage.Writes, error) {
		return storage.Writes{Put: records}, nil
	})
}

func get(t testing.TB, store storage.Store, key storage.Key) storage.Record {
	t.Helper()
	records, err := store.Get(t.Context(), []storage.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	return records[0]
}

// body returns the JSON of a number.
func body(n int) []byte { return fmt.Appendf(nil, `{"n":%d}`, n) }

func TestRecordHasAllFields(t *testing.T) {
	store := newStore(t)
	want := storage.Record{
		Key: storage.Key{Kind: storage.KindRun, Space: "naïve", Run: "a/b", ID: "c'd"}, Version: 1,
		Status: storage.StatusParked, Owner: "o", Fence: 1<<63 - 1, Handler: "h",
		Due: time.Date(2026, 11, 22, 1, 2, 3, 4, time.UTC), Attention: true,
		Bucket: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Body: []byte(`{"text":"ü"}`),
	}
	put(t, store, want)
	if got := get(t, store, want.Key); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	least := storage.Record{Key: stepKey(""), Version: 1, Status: storage.StatusOpen, Body: []byte{}}
	put(t, store, least)
	if got := get(t, store, least.Key); !reflect.DeepEqual(got, least) {
		t.Errorf("got %+v, want %+v", got, least)
	}
}

func TestRepeatWritesNothing(t *testing.T) {
	store := newStore(t)
	r := storage.Record{Key: stepKey("a"), Status: storage.StatusOpen, Body: body(1)}
	put(t, store, r)
	put(t, store, r)
	if got := get(t, store, r.Key).Version; got != 1 {
		t.Errorf("version %d after the same write again, want 1", got)
	}
	r.Body = body(2)
	put(t, store, r)
	if got := get(t, store, r.Key).Version; got != 2 {
		t.Errorf("version %d after another write, want 2", got)
	}
}

func TestTimeOutOfRange(t *testing.T) {
	store := newStore(t)
	r := storage.Record{Key: stepKey("a"), Due: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)}
	if err := tryPut(t, store, r); !errors.Is(err, storage.ErrStore) || !strings.Contains(err.Error(), "2262") {
		t.Errorf("got %v", err)
	}
	if got := get(t, store, r.Key); got.Version != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestPaths opens databases whose names have a meaning in URIs, for globs or for
// SQLite.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"a b?c#d%e&f=g;h.db", "%41.db", "[a]*.db", "ü.db", ":memory:", "file:x.db", "-journal", "'quoted\".db",
	} {
		path := filepath.Join(dir, name)
		store, err := sqlite.Open(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		put(t, store, storage.Record{Key: stepKey(name), Body: body(1)})
		release, err := store.Hold("owner")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if err := release(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if got := get(t, open(t, path), stepKey(name)); got.Version != 1 {
			t.Errorf("%s: got %+v after opening it again", name, got)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "A.db"))
	if len(names) > 0 || err != nil {
		t.Errorf("found %q, %v: %%41 was decoded", names, err)
	}
}

// TestLinks opens one database by two paths: they share its locks.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"real", "other"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "other", "link.db")
	if err := os.Symlink("../folder/state.db", link); err != nil { // to nothing yet
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "folder")); err != nil {
		t.Fatal(err)
	}
	byLink := open(t, link)
	put(t, byLink, storage.Record{Key: stepKey("a"), Body: body(1)})
	direct := open(t, filepath.Join(dir, "real", "state.db"))
	if got := get(t, direct, stepKey("a")); got.Version != 1 {
		t.Errorf("got %+v", got)
	}
	release, err := byLink.Hold("owner")
	if err != nil {
		t.Fatal(err)
	}
	if direct.Dead("owner") {
		t.Error("an owner held by one path is dead by the other")
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	names, err := os.ReadDir(filepath.Join(dir, "other"))
	if len(names) != 1 || err != nil {
		t.Errorf("found %v, %v next to the link", names, err)
	}
}

func TestLinkCycle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.Symlink(path, path); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(path); !errors.Is(err, storage.ErrStore) || !strings.Contains(err.Error(), "symbolic links") {
		t.Errorf("got %v", err)
	}
}

func TestClosed(t *testing.T) {
	store := newStore(t)
	release, err := store.Hold("owner")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, storage.ErrStore) || !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	check("Update", tryPut(t, store, storage.Record{Key: stepKey("a")}))
	_, err = store.Get(t.Context(), nil)
	check("Get", err)
	_, err = store.Hold("other")
	check("Hold", err)
	if err := release(); err != nil {
		t.Errorf("release after Close: %v", err)
	}
	if !store.Dead("owner") {
		t.Error("the owner is not released")
	}
}

// TestGoroutines: a store that is closed has left no goroutine.
func TestGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if one is left
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "state.db"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), []storage.Key{{Kind: storage.KindRun, Run: "one"}})
		if err = errors.Join(err, s.Close()); err != nil {
			t.Error(err)
		}
	})
}

func TestGuarantee(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	first := open(t, path).Guarantee()
	want := storage.Guarantee{SurvivesProcess: true, SurvivesPower: true, Shared: storage.SharedByHost}
	want.Incarnation = first.Incarnation
	if first != want || first.Incarnation == "" {
		t.Errorf("got %+v", first)
	}
	if again := open(t, path).Guarantee(); again != first {
		t.Errorf("got %+v after opening it again, %+v before", again, first)
	}
	if other := newStore(t).Guarantee(); other.Incarnation == first.Incarnation {
		t.Error("two databases have the same incarnation")
	}
}

// TestReadme runs the SQL of the README.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.db")
	store := open(t, path)
	put(t, store, storage.Record{Key: stepKey("a"), Attention: true, Body: body(1)})
	conn := other(t, path)
	blocks := strings.Split(string(readme), "```sql\n")[1:]
	if len(blocks) < 5 {
		t.Errorf("the README has %d blocks of SQL", len(blocks))
	}
	for _, block := range blocks {
		statement, _, _ := strings.Cut(block, "```")
		rows, err := conn.QueryContext(t.Context(), statement)
		if err != nil {
			t.Errorf("%s%v", statement, err)
			continue
		}
		for rows.Next() {
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Errorf("%s%v", statement, err)
		}
	}
	if before, after := store.Guarantee(), open(t, path).Guarantee(); before == after {
		t.Error("the incarnation did not change")
	}
}
