package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A dead letter is not deleted with the results of its run: somebody has to look
// at it. Other runs do not wait for that.
func TestExpireKeepsDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		dead := careful("charge", 1, 0)
		dead.OnExhausted = genapi.ExhaustedDeadLetter
		var j journal
		const n = 15 // more than a page
		for i := range n {
			err := p.run(fmt.Sprint("dead-", i+10), func(ctx context.Context) error {
				if _, err := call(ctx, dead, failing(&j, n)); !errors.Is(err, retry.ErrAttempts) {
					return err
				}
				return nil
			}, durable.Retention(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := p.run("done", func(context.Context) error { return nil }, durable.Retention(time.Hour)); err != nil {
			t.Fatal(err)
		}
		var runs []admin.RunInfo
		for r, err := range p.Admin().List(t.Context(), storage.Query{}) {
			if runs = append(runs, r); err != nil {
				t.Fatal(err)
			}
		}
		o, err := p.Admin().Outlook(t.Context(), runs)
		for _, r := range runs {
			if o.Kept(r) != (r.ID != "done") || err != nil {
				t.Errorf("the outlook of run %q is wrong, %v", r.ID, err)
			}
		}
		time.Sleep(90 * time.Minute)
		wantRun(t, p.Engine, "done", storage.StatusExpired)
		wantStep(t, p.Engine, "dead-10", "charge", storage.StatusDead)
		if err := p.Admin().Requeue(t.Context(), "dead-10", "charge"); err != nil {
			t.Fatal(err)
		}
		if err := p.run("dead-10", oneStep(dead, failing(&j, n))); err != nil {
			t.Error(err)
		}
		time.Sleep(90 * time.Minute)
		wantRun(t, p.Engine, "dead-10", storage.StatusExpired)
	})
}

// Runs that ended without success are deleted after a time of their own, with their
// inputs. A failed one can be continued before, and is never executed again after.
func TestExpireFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		options := []durable.RunOption{durable.Retention(time.Minute), durable.FailedRetention(2 * time.Hour)}
		failing := func(context.Context, string) (int, error) { return 0, errors.New("no") }
		durable.Handle(p.Engine, "fail", failing, options[0], options[1])
		defer work(t, p.Engine)()
		if err := durable.Start(t.Context(), p.Engine, "fail", "failed", "secret"); err != nil {
			t.Fatal(err)
		}
		fail := func(context.Context) error { return errors.New("no") }
		_ = p.run("canceled", fail, options...)
		if err := p.Admin().Cancel(t.Context(), "canceled"); err != nil {
			t.Fatal(err)
		}
		_ = p.run("timed out", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			append(options, durable.Timeout(time.Second))...)
		_ = p.run("continued", fail, options...)
		time.Sleep(time.Hour)
		for run, status := range map[string]storage.Status{"failed": storage.StatusFailed, "canceled": storage.StatusCanceled,
			"timed out": storage.StatusTimedOut, "continued": storage.StatusFailed} {
			wantRun(t, p.Engine, run, status)
		}
		if err := p.run("continued", func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		for _, run := range []string{"failed", "canceled", "timed out", "continued"} {
			wantRun(t, p.Engine, run, storage.StatusExpired)
			err := p.run(run, fail)
			wantError(t, err, durable.ErrExpired)
			if run != "continued" && strings.Contains(err.Error(), "succeeded") {
				t.Errorf("run %q did not succeed: %v", run, err)
			}
		}
		if err := durable.Start(t.Context(), p.Engine, "fail", "failed", "secret"); err != nil {
			t.Error(err)
		}
		wantRun(t, p.Engine, "failed", storage.StatusExpired)
	})
}

// A run that is requeued while its results are deleted is left as it is, and not
// reported as deleted.
func TestExpireRequeuedRun(t *testing.T) {
	for _, steps := range []int{1, storage.MaxPage + 1} { // in one transaction, and in more
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			s := &hooked{Store: m}
			a, b := startProcess(t, s), startProcess(t, m)
			var updates int
			var ended bool
			var mu sync.Mutex
			s.hook = func(
				ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error), next update,
			) error {
				mu.Lock()
				defer mu.Unlock()
				if ended && slices.ContainsFunc(sel.Queries, func(q storage.Query) bool { return len(q.Runs) > 0 }) {
					if updates++; updates > 1 {
						return storage.ErrStore
					}
					if err := b.Admin().Requeue(ctx, "one", "s/0", admin.Repeat()); err != nil {
						t.Error(err)
					}
				}
				return next(ctx, sel, decide)
			}
			err := a.run("one", func(ctx context.Context) error {
				for i := range steps {
					if _, err := callID(ctx, careful("s", 1, 0), i, failing(&journal{}, 0)); err != nil {
						return err
					}
				}
				return nil
			}, durable.Retention(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			ended = true
			mu.Unlock()
			time.Sleep(2 * time.Minute)
			wantRun(t, a.Engine, "one", storage.StatusOpen)
			if events := a.saw(events.EventExpired); len(events) > 0 || updates != 1 {
				t.Errorf("got %d transactions and the events %+v, want 1 and none", updates, events)
			}
		})
	}
}

// Runs expire as fast as an engine ends them.
func TestExpireMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		for i := range 200 {
			err := p.run(fmt.Sprint(i), func(context.Context) error { return nil }, durable.Retention(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour + 15*time.Second)
		if got := len(p.saw(events.EventExpired)); got != 200 {
			t.Errorf("%d runs have expired, want 200", got)
		}
	})
}

// Many runs expire in one transaction, but not one that has more steps than such a
// transaction deletes, nor those with dead letters, however many these are.
func TestExpireInSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &hooked{Store: m}
		p := startProcess(t, s)
		var updates atomic.Int64
		s.hook = func(
			ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error), next update,
		) error {
			if slices.ContainsFunc(sel.Queries, func(q storage.Query) bool { return len(q.Runs) > 0 }) {
				updates.Add(1)
			}
			return next(ctx, sel, decide)
		}
		want := map[string]storage.Status{}
		add := func(run string, n int, status storage.Status) {
			steps := make([]admin.ImportedStep, n)
			for i := range steps {
				steps[i] = admin.ImportedStep{Name: "s", ID: genapi.ID(i), Status: status, Attempts: 1}
				if status == storage.StatusSucceeded {
					steps[i].Result = i
				}
			}
			if _, err := p.Admin().Import(t.Context(), run, steps); err != nil {
				t.Fatal(err)
			}
			if err := p.run(run, func(context.Context) error { return nil }); err != nil {
				t.Fatal(err)
			}
			want[run] = storage.StatusExpired
			if status == storage.StatusDead {
				want[run] = storage.StatusSucceeded
			}
		}
		for i := range 100 {
			add(fmt.Sprintf("run-%02d", i), i%3, storage.StatusSucceeded)
		}
		add("run-30-large", 2*storage.MaxPage+1, storage.StatusSucceeded)
		add("run-60-dead", storage.MaxPage-1, storage.StatusDead)
		add("run-61-dead", storage.MaxPage+1, storage.StatusDead)
		time.Sleep(time.Second)
		for _, err := range p.Admin().Expire(t.Context(), time.Now()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for run, status := range want {
			wantRun(t, p.Engine, run, status)
		}
		if n := updates.Load(); n < 6 || n > 12 {
			t.Errorf("the runs expired in %d transactions", n)
		}
	})
}

// The record of a dead engine whose runs nobody takes over does not keep those of
// others.
func TestExpireOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		for i := range 30 {
			dying := startProcess(t, m)
			run := func(context.Context) error { return nil }
			if i%2 == 0 {
				run = func(context.Context) error { dying.kill(); return nil }
			}
			_ = dying.run(fmt.Sprint(i), run)
			dying.kill()
		}
		p := startProcess(t, m)
		if err := p.run("last", func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		owners, _, err := m.List(t.Context(), storage.Query{Kind: storage.KindOwner})
		if err != nil || len(owners) != 16 {
			t.Errorf("got %d engines, %v; want those of 15 runs, and the last one", len(owners), err)
		}
	})
}
