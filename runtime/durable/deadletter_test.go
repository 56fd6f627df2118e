package durable_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// letterPolicy returns the policy of a step that is a dead letter after so many
// attempts.
func letterPolicy(name string, attempts int) *genapi.StepPolicy {
	s := careful(name, attempts, time.Second)
	s.OnExhausted = genapi.ExhaustedDeadLetter
	return s
}

// letters executes a run whose steps 0 to n-1 fail with the errors that fail
// returns, or succeed with nil. The run succeeds.
func letters(s *genapi.StepPolicy, n int, fail func(int) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for i := range n {
			_, err := callID(ctx, s, i, func(context.Context) (int, error) { return i, fail(i) })
			if err != nil && !errors.Is(err, retry.ErrAttempts) {
				return err
			}
		}
		return nil
	}
}

func unavailable(int) error { return errors.New("unavailable") }

// listed returns the ids of the steps that a filter selects, as run:step.
func listed(t *testing.T, e *durable.Engine, f admin.Filter) []string {
	t.Helper()
	var ids []string
	for s, err := range e.Admin().Steps(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.Run+":"+s.Step)
	}
	return ids
}

func wantListed(t *testing.T, e *durable.Engine, f admin.Filter, want ...string) {
	t.Helper()
	if got := listed(t, e, f); !slices.Equal(got, want) {
		t.Errorf("filter %+v: got %q, want %q", f, got, want)
	}
}

func TestListDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		texts := []string{"connection refused", "permission denied", "boom"}
		fail := func(i int) error { return errors.New(texts[i]) }
		if err := p.run("a", letters(letterPolicy("copy", 1), 3, fail)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		middle := time.Now()
		if err := p.run("b", letters(letterPolicy("move", 1), 2, fail)); err != nil {
			t.Fatal(err)
		}
		if err := p.run("c", letters(careful("copy", 1, 0), 1, fail)); err != nil { // failed, no dead letter
			t.Fatal(err)
		}
		dead := admin.Filter{DeadLetter: true}
		with := func(change func(*admin.Filter)) admin.Filter {
			f := dead
			change(&f)
			return f
		}
		all := []string{"a:copy/0", "a:copy/1", "a:copy/2", "b:move/0", "b:move/1"}
		wantListed(t, p.Engine, dead, all...)
		wantListed(t, p.Engine, with(func(f *admin.Filter) { f.Status = []storage.Status{storage.StatusDead} }), all...)
		wantListed(t, p.Engine, with(func(f *admin.Filter) { f.Run = "b" }), all[3:]...)
		wantListed(t, p.Engine, with(func(f *admin.Filter) { f.Name = "copy" }), all[:3]...)
		wantListed(t, p.Engine, with(func(f *admin.Filter) { f.Since = middle }), all[3:]...)
		wantListed(t, p.Engine, with(func(f *admin.Filter) { f.Until = middle }), all[:3]...)
		wantListed(t, p.Engine, with(func(f *admin.Filter) { f.Class = []retry.Class{retry.ClassNetwork} }), all[0], all[3])
		for e, want := range map[admin.Eligibility][]string{
			admin.EligibleReprocess: {all[0], all[3]}, admin.EligibleReview: {all[1], all[4]},
			admin.EligibleUnknown: {all[2]},
		} {
			wantListed(t, p.Engine, with(func(f *admin.Filter) { f.Eligibility = e }), want...)
		}
		for n := range len(all) + 2 {
			last := min(n, len(all))
			if n == 0 {
				last = len(all)
			}
			wantListed(t, p.Engine, with(func(f *admin.Filter) { f.Limit = n }), all[:last]...)
		}
		wantListed(t, p.Engine, with(func(f *admin.Filter) {
			f.Class, f.Limit = []retry.Class{retry.ClassNetwork}, 2
		}), all[0], all[3])
		for i, id := range all {
			run, step, _ := strings.Cut(id, ":")
			wantListed(t, p.Engine, with(func(f *admin.Filter) { f.AfterRun, f.AfterStep = run, step }), all[i+1:]...)
		}
		wantListed(t, p.Engine, with(func(f *admin.Filter) { f.Run, f.AfterStep = "a", "copy/1" }), all[2])

		s, err := p.Admin().Describe(t.Context(), "b", "move/0")
		if err != nil || s.Status != storage.StatusDead || s.DeadLetter.Before(middle) || s.Error != texts[0] {
			t.Errorf("got %+v, %v", s, err)
		}
		_, err = p.Admin().Describe(t.Context(), "b", "move/9")
		wantError(t, err, durable.ErrNotFound)
	})
}

// TestEligibility has what decides besides the vectors: the reason before the
// class, the class before the text, and whole words only.
func TestEligibility(t *testing.T) {
	abort := retry.ErrorClass{Class: "access-denied", Pattern: regexp.MustCompile("no entry"), Action: retry.ActionFail}
	for _, c := range []struct {
		err  error
		want admin.Eligibility
	}{
		{errors.New("connection refused: validation failed"), admin.EligibleReprocess},
		{retry.Permanent(errors.New("connection refused")), admin.EligibleReview},
		{errors.New("no entry"), admin.EligibleReview},
		{errors.New("Rate-Limit: 5"), admin.EligibleReprocess},
		{errors.New("the TEMPORARY file is gone"), admin.EligibleReprocess},
		{errors.New("resources"), admin.EligibleUnknown},
		{errors.New("invalidation"), admin.EligibleUnknown},
		{errors.New(""), admin.EligibleUnknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := startProcess(t, memory.New())
			s := letterPolicy("copy", 2)
			s.Policy.Classes = []retry.ErrorClass{abort}
			_ = p.run("one", oneStep(s, func(context.Context) (int, error) { return 0, c.err }))
			if got := wantStep(t, p.Engine, "one", "copy", storage.StatusDead); got.Eligibility != c.want {
				t.Errorf("%v: got %q, want %q", c.err, got.Eligibility, c.want)
			}
		})
	}
}

// A dead letter that was requeued is one until it has succeeded, whatever the
// policy says by then. Its history has all attempts, and who requeued it and why.
func TestRequeuedLetterStaysUntilSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		failures := 100
		var j journal
		job := func(s *genapi.StepPolicy) func(context.Context) error {
			return oneStep(s, func(ctx context.Context) (int, error) {
				j.add(ctx)
				if failures--; failures >= 0 {
					return 0, errors.New("unavailable")
				}
				return 1, nil
			})
		}
		dead := admin.Filter{DeadLetter: true}
		wantError(t, p.run("one", job(letterPolicy("charge", 2))), retry.ErrAttempts)
		if len(p.saw(events.EventDeadLetter)) != 1 || len(p.saw(events.EventExhausted)) != 0 {
			t.Errorf("got the events %+v, want one dead letter", p.events)
		}
		by := admin.By("ada", "the bank is back")
		if err := p.Admin().Requeue(t.Context(), "one", "charge", admin.RequeueBy(by), admin.NewKey()); err != nil {
			t.Fatal(err)
		}
		wantListed(t, p.Engine, dead, "one:charge")
		if events := p.saw(events.EventRequeued); len(events) != 1 || events[0].By != by || events[0].Step != "charge" {
			t.Errorf("got the events %+v, want one by %v", events, by)
		}
		wantError(t, p.run("one", job(careful("charge", 1, 0))), retry.ErrAttempts)
		wantStep(t, p.Engine, "one", "charge", storage.StatusDead)
		wantListed(t, p.Engine, dead, "one:charge")

		failures = 0
		if err := p.Admin().Requeue(t.Context(), "one", "charge"); err != nil {
			t.Fatal(err)
		}
		if err := p.run("one", job(letterPolicy("charge", 2))); err != nil {
			t.Fatal(err)
		}
		wantListed(t, p.Engine, dead)
		wantHistory(t, p.Engine, "one", "charge",
			"1 failed, then 1s", "2 failed", "2 requeued", "3 failed", "3 requeued", "4 succeeded")
		for a, err := range p.Admin().Attempts(t.Context(), "one", "charge") {
			if err != nil {
				t.Fatal(err)
			}
			if want := (events.Operator{}); a.By != want && (a.By != by || a.Attempt != 2) {
				t.Errorf("attempt %d: got %+v", a.Attempt, a.By)
			}
		}
		j.want(t, "charge", 1, 2, 3, 4)
	})
}

func requeueDead(
	t *testing.T, e *durable.Engine, f admin.Filter, o ...admin.RequeueOption,
) (ids []string, err error) {
	t.Helper()
	for r, err := range e.Admin().RequeueDead(t.Context(), f, o...) {
		if err != nil {
			return ids, err
		}
		id := r.Letter.Run + ":" + r.Letter.Step
		if r.Err != nil {
			id += " " + r.Err.Error()
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// All dead letters are requeued, from run to run not faster than the rate;
// the second time there is nothing to do. What cannot be requeued is reported.
func TestRequeueDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		for _, run := range []string{"a", "b", "c"} {
			if err := p.run(run, letters(letterPolicy("copy", 1), 5, unavailable)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Admin().Requeue(t.Context(), "c", "copy/0"); err != nil {
			t.Fatal(err)
		}
		if err := p.Admin().Cancel(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		odd := admin.Only(func(s admin.StepInfo) bool { return s.Step == "copy/1" || s.Step == "copy/3" })
		got, err := requeueDead(t, p.Engine, admin.Filter{Run: "a"}, odd, admin.RequeueRate(2))
		if err != nil || !slices.Equal(got, []string{"a:copy/1", "a:copy/3"}) {
			t.Errorf("only two: got %q, %v", got, err)
		}
		by := admin.RequeueBy(admin.By("ada", "night"))
		got, err = requeueDead(t, p.Engine, admin.Filter{Run: "a"}, admin.RequeueRate(2), by)
		if err != nil || !slices.Equal(got, []string{"a:copy/0", "a:copy/2", "a:copy/4"}) {
			t.Errorf("got %q, %v", got, err)
		}
		wantAbout(t, "the letters of one run", time.Since(begin), 0, 0)
		wantRun(t, p.Engine, "a", storage.StatusOpen)
		wantHistory(t, p.Engine, "a", "copy/4", "1 failed", "1 requeued")
		begin = time.Now()
		got, err = requeueDead(t, p.Engine, admin.Filter{AfterRun: "b", AfterStep: "copy/3"})
		want := `c:copy/%d run "c" is canceled: not possible in this state`
		if err != nil || !slices.Equal(got, []string{
			"b:copy/4", fmt.Sprintf(want, 1), fmt.Sprintf(want, 2), fmt.Sprintf(want, 3), fmt.Sprintf(want, 4),
		}) {
			t.Errorf("got %q, %v", got, err)
		}
		wantAbout(t, "one letter, and the next run", time.Since(begin), 100*time.Millisecond, 100*time.Millisecond)
		if got, err = requeueDead(t, p.Engine, admin.Filter{Run: "a"}); len(got) != 0 || err != nil {
			t.Errorf("the second time: got %q, %v", got, err)
		}
	})
}

// Two programs that requeue the same dead letters requeue each once.
func TestRequeueDeadConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		const n = 40
		if err := startProcess(t, m).run("one", letters(letterPolicy("copy", 1), n, unavailable)); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		requeued := map[string]int{}
		for range 2 {
			e := startProcess(t, m).Engine
			wg.Go(func() {
				for r, err := range e.Admin().RequeueDead(t.Context(), admin.Filter{}) {
					if err != nil || r.Err != nil {
						t.Error(err, r.Err)
						return
					}
					mu.Lock()
					requeued[r.Letter.Step]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for step, times := range requeued {
			if times != 1 {
				t.Errorf("%s was requeued %d times", step, times)
			}
			wantHistory(t, startProcess(t, m).Engine, "one", step, "1 failed", "1 requeued")
		}
		if len(requeued) != n {
			t.Errorf("%d were requeued, want %d", len(requeued), n)
		}
	})
}

// The first error of the store ends the sequence, and calling it again goes on.
// A lost reply is not an error.
func TestRequeueDeadStopsAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		if err := startProcess(t, m).run("one", letters(letterPolicy("copy", 1), 4, unavailable)); err != nil {
			t.Fatal(err)
		}
		updates := 0
		p := startProcess(t, &hooked{Store: m, hook: func(
			ctx context.Context, sel storage.Select, decide decision, next update,
		) error {
			switch updates++; updates {
			case 2:
				if err := next(ctx, sel, decide); err != nil {
					return err
				}
				return storage.ErrUnknown // it is repeated
			case 4:
				return storage.ErrStore
			}
			return next(ctx, sel, decide)
		}})
		got, err := requeueDead(t, p.Engine, admin.Filter{})
		if !errors.Is(err, storage.ErrStore) || !slices.Equal(got, []string{"one:copy/0", "one:copy/1"}) {
			t.Errorf("got %q, %v; want 2 and the error of the store", got, err)
		}
		wantHistory(t, p.Engine, "one", "copy/1", "1 failed", "1 requeued")
		got, err = requeueDead(t, p.Engine, admin.Filter{})
		if err != nil || !slices.Equal(got, []string{"one:copy/2", "one:copy/3"}) {
			t.Errorf("got %q, %v; want the other 2", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range p.Admin().RequeueDead(ctx, admin.Filter{}) {
			wantError(t, err, context.Canceled)
		}
	})
}

// A dead letter of a run that is executed is not requeued, but may be discarded.
func TestDeadLetterOfExecutedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		a, b := startProcess(t, m), startProcess(t, m)
		done := make(chan error)
		s := letterPolicy("copy", 1)
		go func() {
			done <- a.run("one", func(ctx context.Context) error {
				_, first := callID(ctx, s, 0, func(context.Context) (int, error) { return 0, unavailable(0) })
				time.Sleep(time.Minute)
				_, again := callID(ctx, s, 0, func(context.Context) (int, error) { return 1, nil })
				if again == nil || again.Error() != first.Error() {
					t.Errorf("got the error %v again, want %v", again, first)
				}
				return nil
			})
		}()
		time.Sleep(time.Second)
		got, err := requeueDead(t, b.Engine, admin.Filter{})
		if err != nil || len(got) != 1 || !strings.Contains(got[0], "is executed by") {
			t.Errorf("got %q, %v", got, err)
		}
		if err := b.Admin().Discard(t.Context(), "one", "copy/0", admin.By("ada", "not needed")); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		wantStep(t, b.Engine, "one", "copy/0", storage.StatusDiscarded)
	})
}

// A discarded dead letter leaves the list, with a reason that stays, and lets its
// run expire.
func TestDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		job := letters(letterPolicy("copy", 1), 3, unavailable)
		if err := p.run("one", job, durable.Retention(time.Hour)); err != nil {
			t.Fatal(err)
		}
		by := admin.By("ada", "the customer has left")
		for _, bad := range []events.Operator{{}, admin.By("ada", "")} {
			if err := p.Admin().Discard(t.Context(), "one", "copy/0", bad); err == nil {
				t.Errorf("discarded without a reason by %+v", bad)
			}
		}
		for range 2 { // the second time changes nothing
			if err := p.Admin().Discard(t.Context(), "one", "copy/0", by); err != nil {
				t.Fatal(err)
			}
		}
		if events := p.saw(events.EventDiscarded); len(events) != 1 || events[0].By != by {
			t.Errorf("got the events %+v, want one by %v", events, by)
		}
		wantListed(t, p.Engine, admin.Filter{DeadLetter: true}, "one:copy/1", "one:copy/2")
		wantListed(t, p.Engine, admin.Filter{Status: []storage.Status{storage.StatusDiscarded}}, "one:copy/0")
		wantHistory(t, p.Engine, "one", "copy/0", "1 failed", "1 discarded")
		for a, err := range p.Admin().Attempts(t.Context(), "one", "copy/0") {
			if err != nil || a.Outcome == events.OutcomeDiscarded && a.By != by {
				t.Errorf("got %+v, %v", a, err)
			}
		}
		wantError(t, p.Admin().Discard(t.Context(), "one", "copy/9", by), durable.ErrNotFound)
		if err := p.run("one", job); err != nil { // returns what is recorded
			t.Fatal(err)
		}

		if err := p.Admin().Requeue(t.Context(), "one", "copy/0"); err != nil { // a mistake
			t.Fatal(err)
		}
		wantListed(t, p.Engine, admin.Filter{DeadLetter: true}, "one:copy/0", "one:copy/1", "one:copy/2")
		wantError(t, p.Admin().Discard(t.Context(), "one", "copy/0", by), durable.ErrConflict)
		if err := p.run("one", job); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		wantRun(t, p.Engine, "one", storage.StatusSucceeded)
		for i := range 3 {
			if err := p.Admin().Discard(t.Context(), "one", fmt.Sprint("copy/", i), by); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(90 * time.Minute)
		wantRun(t, p.Engine, "one", storage.StatusExpired)
	})
}
