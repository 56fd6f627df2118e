package durable_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
)

// A listing is a store that counts the records that it lists.
type listing struct {
	*durable.Memory
	records atomic.Int64
}

func (s *listing) List(ctx context.Context, q durable.Query) ([]durable.Record, durable.Cursor, error) {
	records, next, err := s.Memory.List(ctx, q)
	s.records.Add(int64(len(records)))
	return records, next, err
}

// TestDeadLetterClasses: the dead letters of some classes are listed in the order of
// runs and ids, and nothing else is read.
func TestDeadLetterClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &listing{Memory: durable.NewMemory()}
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
			filter durable.Filter
			want   []string
		}{
			{durable.Filter{Class: []retry.Class{network}}, []string{"a:copy/0", "a:copy/3", "b:copy/0", "b:copy/3"}},
			{durable.Filter{Class: []retry.Class{network, network}, Run: "b"}, []string{"b:copy/0", "b:copy/3"}},
			{durable.Filter{Class: []retry.Class{absent}}, nil},
			{
				durable.Filter{Class: []retry.Class{absent, other, network}, AfterRun: "a", AfterStep: "copy/0"},
				[]string{"a:copy/1", "a:copy/3", "a:copy/4", "b:copy/0", "b:copy/1", "b:copy/3", "b:copy/4"},
			},
		} {
			for _, status := range [][]durable.Status{nil, {durable.StatusDead}} {
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
		p := startProcess(t, durable.NewMemory())
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
		of := func(class retry.Class) durable.Filter {
			return durable.Filter{DeadLetter: true, Class: []retry.Class{class}}
		}
		requeue := func() {
			t.Helper()
			for r, err := range p.RequeueDead(t.Context(), durable.Filter{}, durable.Rate(0)) {
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
		if err := p.Discard(t.Context(), "a", "copy/0", durable.By("ada", "closed")); err != nil {
			t.Fatal(err)
		}
		wantListed(t, p.Engine, of(retry.ClassUnknown), "a:copy/1")
		requeue()
		text = ""
		execute()
		wantListed(t, p.Engine, of(retry.ClassUnknown))
		for v, err := range p.Verify(t.Context()) {
			t.Error(v, err)
		}
	})
}
