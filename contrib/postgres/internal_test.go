package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func openInternal(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func key(kind storage.Kind, run, id string) storage.Key {
	return storage.Key{Kind: kind, Space: "test", Run: run, ID: id}
}

// apply writes w, whose keys it selects.
func apply(t *testing.T, s *Store, w storage.Writes) {
	t.Helper()
	var keys []storage.Key
	for _, r := range w.Put {
		keys = append(keys, r.Key)
	}
	for _, e := range w.Add {
		keys = append(keys, e.Step)
	}
	keys = append(keys, w.Delete...)
	err := s.Update(t.Context(), storage.Select{Keys: keys}, func(storage.Tx) (storage.Writes, error) { return w, nil })
	if err != nil {
		t.Fatal(err)
	}
}

// ofMonth are the records and entries of a run with n steps.
func ofMonth(run string, month time.Time, n int) (w storage.Writes) {
	w.Put = []storage.Record{
		{Key: key(storage.KindRun, run, ""), Bucket: month, Body: []byte("{}")},
		{Key: key(storage.KindBudget, run, ""), Bucket: month, Body: []byte("{}")},
	}
	for i := range n {
		step := key(storage.KindStep, run, fmt.Sprint(i))
		w.Put = append(w.Put, storage.Record{Key: step, Bucket: month, Body: []byte("{}")})
		w.Add = append(w.Add, storage.Entry{Step: step, Attempt: 1, At: month, Bucket: month, Body: []byte("{}")})
	}
	return w
}

// maintainNow does what is done each hour.
func maintainNow(t *testing.T, s *Store) []time.Time {
	t.Helper()
	c, err := s.acquire(t.Context(), s.pool)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if err := s.retain(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	months, err := s.months(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return months
}

// TestMonths: partitions of this month and the next are there, those of other months
// are created by the update that needs them, and dropped when they are old and their
// runs were deleted or moved.
func TestMonths(t *testing.T) {
	s := openInternal(t)
	current := monthOf(time.Now().UTC())
	old, older := current.AddDate(0, -2, 0), current.AddDate(0, -30, 0)
	next := []time.Time{current, current.AddDate(0, 1, 0)}
	if got := maintainNow(t, s); !slices.EqualFunc(got, next, time.Time.Equal) {
		t.Errorf("got the partitions %v, want %v", got, next)
	}
	deleted, open, recent := ofMonth("deleted", older, 3), ofMonth("open", old, 20), ofMonth("recent", current, 3)
	apply(t, s, deleted)
	apply(t, s, open)
	apply(t, s, recent)
	var keys []storage.Key
	for _, r := range deleted.Put {
		keys = append(keys, r.Key)
	}
	apply(t, s, storage.Writes{Delete: keys})
	if got := maintainNow(t, s); !slices.EqualFunc(got, next, time.Time.Equal) {
		t.Errorf("got the partitions %v, want %v", got, next)
	}
	for _, w := range []storage.Writes{open, recent} {
		for _, r := range w.Put {
			got, err := s.Get(t.Context(), []storage.Key{r.Key})
			if err != nil || got[0].Version != 1 || !got[0].Bucket.Equal(current) {
				t.Errorf("got %+v and error %v, want it in the current month", got, err)
			}
		}
		for _, e := range w.Add {
			got, _, err := s.History(t.Context(), e.Step, "")
			if err != nil || len(got) != 1 || !got[0].Bucket.Equal(current) {
				t.Errorf("got %+v and error %v, want one entry in the current month", got, err)
			}
		}
	}
	// An engine that has read the run before writes it back, with an entry that exists.
	apply(t, s, open)
	step := open.Add[0].Step
	got, _, err := s.History(t.Context(), step, "")
	if err != nil || len(got) != 1 {
		t.Errorf("got %+v and error %v, want one entry", got, err)
	}
	steps, _, err := s.List(t.Context(), storage.Query{Kind: storage.KindStep, Space: "test", Run: "open"})
	if err != nil || len(steps) != 20 {
		t.Errorf("got %d steps and error %v, want 20", len(steps), err)
	}
	if got := maintainNow(t, s); !slices.EqualFunc(got, next, time.Time.Equal) {
		t.Errorf("got the partitions %v, want %v", got, next)
	}
}

// TestDropDuringUpdates drops and creates partitions under load. No update is lost.
func TestDropDuringUpdates(t *testing.T) {
	s := openInternal(t)
	old := monthOf(time.Now().UTC()).AddDate(0, -2, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				w := ofMonth(fmt.Sprint(i), old, 1+n%12)
				var keys []storage.Key
				for _, r := range w.Put {
					keys = append(keys, r.Key)
				}
				for _, w := range []storage.Writes{w, {Delete: keys}} {
					err := s.Update(t.Context(), storage.Select{Keys: keys},
						func(storage.Tx) (storage.Writes, error) { return w, nil })
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	c, err := s.acquire(t.Context(), s.pool)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	for range 10 {
		if err := s.retain(t.Context(), c); err != nil && !isConflict(err) {
			t.Error(err)
		}
	}
	cancel()
	all.Wait()
}

// settingsOf returns the settings of a transaction that begins with some statements.
func settingsOf(t *testing.T, s *Store, b *pgx.Batch) (all []string) {
	t.Helper()
	b.Queue(`SELECT current_setting(name) FROM unnest('{lock_timeout,statement_timeout,
	idle_in_transaction_session_timeout,synchronous_commit,plan_cache_mode}'::text[]) AS name`).
		Query(func(rows pgx.Rows) (err error) {
			all, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	if err := s.pool.SendBatch(t.Context(), b).Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSettings: they are in force in each transaction, whatever the session is.
func TestSettings(t *testing.T) {
	want := []string{"10s", "30s", "30s", "on", "force_generic_plan"}
	sessions := map[string]struct {
		statement string // executed in each session that a transaction has left
		lacks     bool   // settings: a transaction makes them
	}{
		"as started": {"SELECT", false},
		"reset":      {"RESET ALL", false},
		"of another": {"SET retrygen.session = ''; SET plan_cache_mode = auto; SET lock_timeout = 0", true},
		"weak":       {"SET synchronous_commit = off", true},
	}
	for name, session := range sessions {
		t.Run(name, func(t *testing.T) {
			s := openInternal(t)
			leaveWith(t, &s.pool, session.statement)
			read := func() {
				if _, err := s.Get(t.Context(), []storage.Key{key(storage.KindRun, "r", "")}); err != nil {
					t.Fatal(err)
				}
			}
			read() // leaves the session
			read()
			if got := s.bySettings.Load(); got != session.lacks {
				t.Errorf("each transaction makes its settings: %v, want %v", got, session.lacks)
			}
			b := &pgx.Batch{}
			s.set(b, false)
			if got := settingsOf(t, s, b); !slices.Equal(got, want) {
				t.Errorf("got %q in a transaction, want %q", got, want)
			}
			b = &pgx.Batch{}
			s.set(b, true)
			if got := settingsOf(t, s, b); got[4] != "force_custom_plan" {
				t.Errorf("a query has plan_cache_mode %s", got[4])
			}
			if got := settingsOf(t, s, &pgx.Batch{}); session.lacks && slices.Equal(got, want) {
				t.Errorf("got %q after the transaction", got)
			}
		})
	}
}

// TestMigration migrates a schema to a later format while its programs write. They
// go on if they may, or stop.
func TestMigration(t *testing.T) {
	s := openInternal(t)
	saved := migrations
	t.Cleanup(func() { migrations = saved })
	step := key(storage.KindStep, "r", "a")
	month := monthOf(time.Now().UTC())
	n := 0
	increment := func() error {
		return s.Update(t.Context(), storage.Select{Keys: []storage.Key{step}}, func(tx storage.Tx) (storage.Writes, error) {
			n++
			r := storage.Record{Key: step, Bucket: month, Body: fmt.Append(nil, n)}
			return storage.Writes{Put: []storage.Record{r}}, nil
		})
	}
	upgrade := func(oldestWriter int) {
		t.Helper()
		c, err := s.acquire(t.Context(), s.pool)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
		later := append(slices.Clone(migrations), migration{"ALTER TABLE retry_record ADD extra text", oldestWriter})
		if err := s.upgrade(t.Context(), c, later); err != nil {
			t.Fatal(err)
		}
	}
	if err := increment(); err != nil {
		t.Fatal(err)
	}
	upgrade(firstFormat)
	if err := increment(); err != nil {
		t.Errorf("got error %v, want that older programs may write", err)
	}
	const update = "UPDATE retry.retry_meta SET value = $1 WHERE key = 'oldest_writer'"
	if _, err := s.pool.Exec(t.Context(), update, strconv.Itoa(firstFormat+1)); err != nil {
		t.Fatal(err)
	}
	before := n
	if err := increment(); !errors.Is(err, storage.ErrFormat) || n != before {
		t.Errorf("got error %v, want ErrFormat without a decision", err)
	}
	if _, err := s.Get(t.Context(), []storage.Key{step}); !errors.Is(err, storage.ErrFormat) {
		t.Errorf("got error %v, want ErrFormat", err)
	}
}
