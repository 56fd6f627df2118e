package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// put writes a record with a body of n bytes.
func put(t *testing.T, s *Store, id string, n int) error {
	r := storage.Record{Key: storage.Key{Kind: storage.KindStep, ID: id}, Body: make([]byte, n)}
	return s.Update(t.Context(), storage.Select{Keys: []storage.Key{r.Key}}, func(storage.Tx) (storage.Writes, error) {
		return storage.Writes{Put: []storage.Record{r}}, nil
	})
}

// TestMigrate adds a format to those that there are.
func TestMigrate(t *testing.T) {
	s := newStore(t)
	if err := put(t, s, "a", 10); err != nil {
		t.Fatal(err)
	}
	c := s.write.session
	broken := migration{
		sql: "ALTER TABLE retry_record ADD COLUMN more TEXT; ALTER TABLE none ADD COLUMN x", oldestWriter: firstFormat,
	}
	if err := c.migrate(append(slices.Clone(migrations), broken)); err == nil {
		t.Error("a step that fails succeeded")
	}
	if format, err := c.format(latest(migrations)); format != latest(migrations) || err != nil {
		t.Errorf("after a step that failed: format %d, %v", format, err)
	}
	more := append(slices.Clone(migrations),
		migration{sql: "ALTER TABLE retry_record ADD COLUMN more TEXT", oldestWriter: firstFormat},
		migration{sql: "ALTER TABLE retry_record ADD COLUMN most TEXT", oldestWriter: latest(migrations) + 2})
	if err := c.migrate(more[:len(migrations)+1]); err != nil {
		t.Fatal(err)
	}
	if err := put(t, s, "a", 20); err != nil { // as before: this program may still write
		t.Error(err)
	}
	for range 2 { // the second time, there is nothing to do
		if err := c.migrate(more); err != nil {
			t.Fatal(err)
		}
	}
	if format, err := c.format(latest(more)); format != latest(more) || err != nil {
		t.Errorf("got format %d, %v", format, err)
	}
	if n, err := value[int](c, "SELECT count(*) FROM retry_record WHERE most IS NULL AND length(body) = 20"); n != 1 {
		t.Errorf("%d records, %v after the migration", n, err)
	}
	if err := put(t, s, "a", 30); !errors.Is(err, storage.ErrFormat) {
		t.Errorf("update of an old program: got %v", err)
	}
}

// TestTurns takes the lock of a batch: updates of other stores wait for it, and
// the database is not locked.
func TestTurns(t *testing.T) {
	s := newStore(t)
	other, err := Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := s.lock.acquire(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	key := storage.Key{Kind: storage.KindStep, ID: "a"}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = other.Update(ctx, storage.Select{Keys: []storage.Key{key}}, func(storage.Tx) (storage.Writes, error) {
		t.Error("the update did not wait")
		return storage.Writes{}, nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	c, err := openSession(s.path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.exec("BEGIN IMMEDIATE"), c.exec("ROLLBACK"), c.close()); err != nil {
		t.Errorf("the database is locked: %v", err)
	}
	s.lock.release()
	if err := put(t, other, "a", 10); err != nil {
		t.Error(err)
	}
}

// TestSettings asks the connections what makes updates survive a power failure.
func TestSettings(t *testing.T) {
	s := newStore(t)
	for range 2 { // opened by Open, and by an update
		if err := put(t, s, "a", 10); err != nil {
			t.Fatal(err)
		}
		const full = 2
		if n, err := value[int](s.write.session, "PRAGMA synchronous"); n != full || err != nil {
			t.Errorf("synchronous is %d, %v", n, err)
		}
		if mode, err := value[string](s.write.session, "PRAGMA journal_mode"); mode != "wal" || err != nil {
			t.Errorf("the journal mode is %s, %v", mode, err)
		}
		if err := s.closeWriter(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.read.exec("DELETE FROM retry_record"); err == nil {
		t.Error("the connection for reading writes")
	}
}

// TestFull limits the pages of the database, as a full disk does: SQLite reports
// both with the same code. The connection is opened again, without the limit.
func TestFull(t *testing.T) {
	s := newStore(t)
	if err := put(t, s, "a", 10); err != nil {
		t.Fatal(err)
	}
	full := s.write.session
	if _, err := value[int](full, "PRAGMA max_page_count = 1"); err != nil { // as many as there are
		t.Fatal(err)
	}
	err := put(t, s, "b", 100_000)
	if !errors.Is(err, storage.ErrStore) || !strings.Contains(err.Error(), s.path+": no space is left") {
		t.Errorf("got %v", err)
	}
	if err := full.exec("SELECT 1"); err == nil {
		t.Error("the connection is open after the failure")
	}
	if err := put(t, s, "b", 100_000); err != nil {
		t.Errorf("the next update: %v", err)
	}
}

// TestPlans asks SQLite how it finds what a query selects.
func TestPlans(t *testing.T) {
	s := newStore(t)
	if err := put(t, s, "a", 10); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, test := range []struct {
		query storage.Query
		want  string
	}{
		{storage.Query{Handlers: []string{"h"}}, "PRIMARY KEY (kind=? AND space=?)"},
		{
			storage.Query{Handlers: []string{"h"}, DueBy: now, Status: []storage.Status{storage.StatusOpen}},
			"INDEX retry_handler (kind=? AND space=? AND handler=? AND priority=? AND due<?)",
		},
		{storage.Query{Handlers: []string{"h", "i"}, DueBy: now}, "INDEX retry_due (kind=? AND space=? AND due<?)"},
		{storage.Query{Handlers: []string{""}, DueBy: now}, "INDEX retry_due (kind=? AND space=? AND due<?)"},
		{storage.Query{}, "PRIMARY KEY (kind=? AND space=?)"},
		{storage.Query{From: storage.After("r", "i")}, "PRIMARY KEY (kind=? AND space=? AND (run,id)>(?,?))"},
		{storage.Query{Run: "r"}, "PRIMARY KEY (kind=? AND space=? AND run=?)"},
		{storage.Query{Run: "r", From: storage.After("r", "i")}, "PRIMARY KEY (kind=? AND space=? AND run=? AND id>?)"},
		{storage.Query{Run: "r", DueBy: now}, "PRIMARY KEY (kind=? AND space=? AND run=?)"},
		{storage.Query{Run: "r", Owner: "o"}, "INDEX retry_owner (kind=? AND space=? AND owner=? AND run=?)"},
		{storage.Query{Owner: "o"}, "INDEX retry_owner (kind=? AND space=? AND owner=?)"},
		{storage.Query{Owner: "o", DueBy: now}, "INDEX retry_owner (kind=? AND space=? AND owner=?)"},
		{storage.Query{DueBy: now}, "INDEX retry_due (kind=? AND space=? AND due<?)"},
		{storage.Query{DueBy: now, Order: storage.OrderDue}, "INDEX retry_due (kind=? AND space=? AND due>? AND due<?)"},
		{storage.Query{Label: "l", Attention: true}, "INDEX retry_label (kind=? AND space=? AND label=?)"},
		{storage.Query{Label: "l", Run: "r"}, "INDEX retry_label (kind=? AND space=? AND label=? AND run=?)"},
		{
			storage.Query{Label: "l", From: storage.After("r", "i")},
			"INDEX retry_label (kind=? AND space=? AND label=? AND (run,id)>(?,?))",
		},
		{storage.Query{Attention: true}, "INDEX retry_attention (kind=? AND space=?)"},
		{storage.Query{Attention: true, Run: "r"}, "INDEX retry_attention (kind=? AND space=? AND run=?)"},
		{storage.Query{Attention: true, Runs: []string{"r"}}, "INDEX retry_attention (kind=? AND space=? AND run=?)"},
		{storage.Query{Runs: []string{"r"}}, "PRIMARY KEY (kind=? AND space=? AND run=?)"},
		{
			storage.Query{Attention: true, Run: "r", Owner: "o", DueBy: now, From: storage.After("r", "i")},
			"INDEX retry_attention (kind=? AND space=? AND run=? AND id>?)",
		},
	} {
		order := listOrder(test.query)
		if indexOf(test.query) == byHandler {
			order = ofPriority
		}
		plan := explain(t, s, test.query, order)
		if !strings.HasSuffix(plan[0], "USING "+test.want) {
			t.Errorf("%+v: got %q; want %q", test.query, plan, test.want)
		}
		// In the order of their keys, an index has no records that are due.
		if want := order == byKey && strings.Contains(test.want, "due<?"); sorts(plan) != want {
			t.Errorf("%+v: got %q", test.query, plan)
		}
	}
}

// TestPlansOfOrders: a list in the order of creation finds the keys of its page in an
// index that has them in this order, for each status by itself.
func TestPlansOfOrders(t *testing.T) {
	s := newStore(t)
	if err := put(t, s, "a", 10); err != nil {
		t.Fatal(err)
	}
	const newest, oldest = storage.OrderNewest, storage.OrderOldest
	now := time.Now()
	day := now.AddDate(0, 0, -1)
	failed := []storage.Status{storage.StatusFailed}
	for _, test := range []struct {
		query storage.Query
		want  string
	}{
		{storage.Query{Order: newest, Status: failed}, "retry_created (kind=? AND space=? AND status=? AND created>?)"},
		{storage.Query{Order: oldest, Status: failed}, "retry_created (kind=? AND space=? AND status=? AND created>?)"},
		{
			storage.Query{Order: newest, Status: []storage.Status{storage.StatusOpen, storage.StatusParked}},
			"retry_created (kind=? AND space=? AND status=? AND created>?)",
		},
		{
			storage.Query{Order: newest, Status: failed, CreatedFrom: day, From: storage.AfterCreated(now, "r")},
			"retry_created (kind=? AND space=? AND status=? AND created>? AND (created,run,id)<(?,?,?))",
		},
		{
			storage.Query{Order: oldest, Status: failed, CreatedBefore: now, From: storage.AfterCreated(day, "r")},
			"retry_created (kind=? AND space=? AND status=? AND (created,run,id)>(?,?,?) AND created<?)",
		},
		{
			storage.Query{Order: newest, Status: failed, Handlers: []string{"h"}},
			"retry_handler_created (kind=? AND space=? AND handler=? AND status=? AND created>?)",
		},
		{
			storage.Query{Order: newest, Status: failed}.Prefix("r"),
			"retry_created (kind=? AND space=? AND status=? AND created>?)",
		},
	} {
		plan := explain(t, s, test.query, listOrder(test.query))
		page := slices.Index(plan, "SCAN page")
		if page < 0 || sorts(plan[:page]) {
			t.Errorf("%+v: got %q; want only the page to be sorted", test.query, plan)
			continue
		}
		got := slices.DeleteFunc(plan[:page], func(step string) bool { return !strings.HasPrefix(step, "SEARCH") })
		want := slices.Repeat([]string{"SEARCH retry_record USING COVERING INDEX " + test.want}, len(test.query.Status))
		if !slices.Equal(got, want) {
			t.Errorf("%+v: got %q; want %q", test.query, got, want)
		}
	}
}

// explain returns how SQLite executes a query.
func explain(t *testing.T, s *Store, q storage.Query, order string) (plan []string) {
	t.Helper()
	text, args, err := querySQL(q, order)
	if order == ofPriority {
		args = append(args, 0)
	}
	if err == nil {
		err = s.write.session.query(func(r *row) error {
			plan = append(plan, r.text(3))
			return r.err
		}, "EXPLAIN QUERY PLAN "+text, append(args, 10)...)
	}
	if err != nil || len(plan) == 0 {
		t.Fatalf("%s: got %q, %v", text, plan, err)
	}
	return plan
}

// sorts reports whether SQLite sorts the result of a query.
func sorts(plan []string) bool {
	return slices.ContainsFunc(plan, func(step string) bool { return strings.Contains(step, "TEMP B-TREE") })
}

func TestCursor(t *testing.T) {
	s := newStore(t)
	if _, _, err := s.List(t.Context(), storage.Query{From: "x"}); !errors.Is(err, storage.ErrStore) {
		t.Errorf("List: got %v", err)
	}
	if _, _, err := s.History(t.Context(), storage.Key{}, "x"); !errors.Is(err, storage.ErrStore) {
		t.Errorf("History: got %v", err)
	}
}
