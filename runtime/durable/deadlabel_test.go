package durable_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A listing is a store that counts the records that it lists.
type listing struct {
	*memory.Store
	records atomic.Int64
}

func (s *listing) List(ctx context.Context, q storage.Query) ([]storage.Record, storage.Cursor, error) {
	records, next, err := s.Store.List(ctx, q)
	s.records.Add(int64(len(records)))
	return records, next, err
}

// TestDeadLetterClasses: the dead letters of some classes are listed in the order of
// runs and ids, and nothing else is read.
func TestDeadLetterClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &listing{Store: memory.New()}
		p := startProcess(t, store)
		texts := []string{"connection refused", "boom", "HTTP 503", "connection refused", "boom"}
		fail := func(i int) error { return errors.New(texts[i]) }
		for _, run := range []string{"a", "b"} {
			if err := p.run(run, letters(letterPolicy("copy", 1), len(texts), fail)); err != nil {
				t.Fatal(err)
			}
		}
		const network, other, absent = retry.ClassNetwork, retry.ClassUnknown, retry.ClassRateLimit
		for _, test := range []struct {
			filter admin.Filter
			want   []string
		}{
			{admin.Filter{Class: []retry.Class{network}}, []string{"a:copy/0", "a:copy/3", "b:copy/0", "b:copy/3"}},
			{admin.Filter{Class: []retry.Class{network, network}, Run: "b"}, []string{"b:copy/0", "b:copy/3"}},
			{admin.Filter{Class: []retry.Class{absent}}, nil},
			{
				admin.Filter{Class: []retry.Class{absent, other, network}, AfterRun: "a", AfterStep: "copy/0"},
				[]string{"a:copy/1", "a:copy/3", "a:copy/4", "b:copy/0", "b:copy/1", "b:copy/3", "b:copy/4"},
			},
		} {
			for _, status := range [][]storage.Status{nil, {storage.StatusDead}} {
				f := test.filter
				f.DeadLetter, f.Status = status == nil, status
				store.records.Store(0)
				wantListed(t, p.Engine, f, test.want...)
				if n := store.records.Load(); n != int64(len(test.want)) {
					t.Errorf("filter %+v: read %d records, want %d", f, n, len(test.want))
				}
			}
		}
	})
}

// TestDeadLetterClassChanges: a dead letter is listed with the class of its last
// error until it has succeeded, or was discarded.
func TestDeadLetterClassChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		text := "connection refused"
		execute := func() {
			t.Helper()
			err := p.run("a", letters(letterPolicy("copy", 2), 2, func(int) error {
				if text == "" {
					return nil
				}
				return errors.New(text)
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		of := func(class retry.Class) admin.Filter {
			return admin.Filter{DeadLetter: true, Class: []retry.Class{class}}
		}
		requeue := func() {
			t.Helper()
			for r, err := range p.Admin().RequeueDead(t.Context(), admin.Filter{}, admin.RequeueRate(0)) {
				if err != nil || r.Err != nil {
					t.Fatal(err, r.Err)
				}
			}
		}
		execute()
		wantListed(t, p.Engine, of(retry.ClassNetwork), "a:copy/0", "a:copy/1")
		requeue()
		wantListed(t, p.Engine, of(retry.ClassNetwork), "a:copy/0", "a:copy/1")
		text = "boom"
		execute()
		wantListed(t, p.Engine, of(retry.ClassNetwork))
		wantListed(t, p.Engine, of(retry.ClassUnknown), "a:copy/0", "a:copy/1")
		if err := p.Admin().Discard(t.Context(), "a", "copy/0", admin.By("ada", "closed")); err != nil {
			t.Fatal(err)
		}
		wantListed(t, p.Engine, of(retry.ClassUnknown), "a:copy/1")
		requeue()
		text = ""
		execute()
		wantListed(t, p.Engine, of(retry.ClassUnknown))
		for v, err := range p.Admin().Verify(t.Context()) {
			t.Error(v, err)
		}
	})
}
