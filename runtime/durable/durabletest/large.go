package durabletest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// The tests in this file end runs with more steps than one transaction changes, and
// die at each commit of that.

// manySteps is the number of steps of such a run.
const manySteps = 2*storage.MaxPage + 500

// A large is a run with many steps of one status, in a namespace of its own.
type large struct {
	*tester
	name string // of the namespace
}

// engine returns an engine over s, whose lease is short.
func (l *large) engine(s storage.Store) *durable.Engine {
	e, err := durable.New(s, durable.Namespace(l.name), durable.Lease(time.Second))
	if err != nil {
		l.t.Fatal(err)
	}
	return e
}

// create records the run.
func (l *large) create(ctx context.Context, e *durable.Engine, status storage.Status) {
	steps := make([]admin.ImportedStep, manySteps)
	for i := range steps {
		steps[i] = admin.ImportedStep{Name: "copy", ID: genapi.ID(i), Status: status, Attempts: 1, Result: i}
		if status != storage.StatusSucceeded {
			steps[i].Result = nil
		}
	}
	if _, err := e.Admin().Import(ctx, "job", steps); err != nil {
		l.t.Fatal(err)
	}
}

// die calls f with an engine that dies at point n of its store, and reports whether
// it has died.
func (l *large) die(ctx context.Context, n int, f func(context.Context, *durable.Engine) error) bool {
	faulty := CrashAt(l.Store, n)
	ctx, cancel := faulty.Context(ctx)
	defer cancel()
	e := l.engine(faulty)
	err := f(ctx, e)
	died := faulty.Failed()
	if err != nil && !died {
		l.t.Errorf("%s: %v without a crash", l.name, err)
	}
	faulty.Crash()
	cancel()
	dead, stop := context.WithCancel(context.Background())
	stop()
	_ = e.Close(dead) // fails: it has died
	return died
}

// expire deletes all runs that have ended, and goes on with what others have begun.
func expire(ctx context.Context, e *durable.Engine, before time.Time) error {
	for _, err := range e.Admin().Expire(ctx, before) {
		if err != nil {
			return err
		}
	}
	return nil
}

// verify reports what is wrong with the records.
func (l *large) verify(ctx context.Context, e *durable.Engine) {
	for problem, err := range e.Admin().Verify(ctx) {
		l.t.Fatalf("%s: verify: %v, %v", l.name, problem, err)
	}
}

// count returns the number of steps that a filter selects.
func (l *large) count(ctx context.Context, e *durable.Engine, status ...storage.Status) (n int) {
	for _, err := range e.Admin().Steps(ctx, admin.Filter{Run: "job", Status: status}) {
		if err != nil {
			l.t.Fatal(err)
		}
		n++
	}
	return n
}

func nothing(context.Context) error { return nil }

// testLargeRunSucceeds: a run succeeds without the many steps that it has begun, and
// its process dies before and after each commit. All steps are abandoned in the end,
// and at no time is the run one that has succeeded over unfinished steps.
func testLargeRunSucceeds(t *testing.T, p *place) {
	s := p.store()
	ctx := s.limited()
	for n, died := 1, true; died; n++ {
		l := &large{tester: s, name: fmt.Sprint("succeeds", n)}
		e := l.engine(s.Store)
		l.create(ctx, e, storage.StatusWaiting)
		died = l.die(ctx, n, func(ctx context.Context, e *durable.Engine) error { return e.Run(ctx, "job", nothing) })
		l.verify(ctx, e)
		if err := e.Run(ctx, "job", nothing); err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
		if err := expire(ctx, e, time.Time{}); err != nil {
			t.Error(err)
		}
		l.verify(ctx, e)
		if got := l.count(ctx, e, storage.StatusAbandoned); got != manySteps {
			t.Errorf("%s: %d steps are abandoned, want %d", l.name, got, manySteps)
		}
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// testLargeRunExpires: the process that deletes a run dies before and after each
// commit. A run that has lost records is never executed again, and is deleted
// to the end.
func testLargeRunExpires(t *testing.T, p *place) {
	s := p.store()
	ctx := s.limited()
	for status, end := range map[storage.Status]func(context.Context, *durable.Engine) error{
		storage.StatusFailed: func(ctx context.Context, e *durable.Engine) error {
			_ = e.Run(ctx, "job", func(context.Context) error { return errors.New("no") })
			return nil
		},
		storage.StatusCanceled: func(ctx context.Context, e *durable.Engine) error { return e.Admin().Cancel(ctx, "job") },
	} {
		for n, died := 1, true; died; n++ {
			l := &large{tester: s, name: fmt.Sprint(status, n)}
			e := l.engine(s.Store)
			l.create(ctx, e, storage.StatusSucceeded)
			if err := end(ctx, e); err != nil {
				t.Fatal(err)
			}
			later := time.Now().Add(time.Hour)
			died = l.die(ctx, n, func(ctx context.Context, e *durable.Engine) error { return expire(ctx, e, later) })
			l.verify(ctx, e)
			switch err := e.Run(ctx, "job", func(context.Context) error {
				if got := l.count(ctx, e, storage.StatusSucceeded); got != manySteps {
					t.Errorf("%s: a run with %d steps is executed, of %d that had succeeded", l.name, got, manySteps)
				}
				return errors.New("no")
			}); {
			case err == nil:
				t.Errorf("%s: the run has succeeded", l.name)
			case n > 1 && !died && !errors.Is(err, durable.ErrExpired):
				t.Errorf("%s: got error %v, want ErrExpired", l.name, err)
			}
			if err := expire(ctx, e, later); err != nil {
				t.Error(err)
			}
			if got := l.count(ctx, e); got != 0 {
				t.Errorf("%s: %d steps are left of a run that has expired", l.name, got)
			}
			l.verify(ctx, e)
			if err := e.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	}
}
