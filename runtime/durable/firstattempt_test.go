package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// unrecorded returns the policy of a step of which only failures are recorded.
func unrecorded(name string, attempts int, delay time.Duration) *genapi.StepPolicy {
	s := idempotent(name, attempts, delay)
	s.Record = genapi.RecordFailures
	return s
}

// Nothing is recorded of the calls that succeed at once; a failure of one of them is,
// and its record answers the next call with its id, in this execution and in others.
func TestFirstAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		fetch := unrecorded("fetch", 3, time.Second)
		var j journal
		for round := range 2 {
			p := startProcess(t, m)
			err := p.run("one", func(ctx context.Context) error {
				for _, id := range []string{"a", "b", "a", "flaky", "a", "c"} {
					got, err := callID(ctx, fetch, id, func(ctx context.Context) (int, error) {
						info := j.add(ctx)
						if info.Step == "fetch/flaky" && info.Attempt == 1 {
							return 0, errors.New("unavailable")
						}
						return info.Attempt, nil
					})
					if want := 1; err != nil || id != "flaky" && got != want || id == "flaky" && got != 2 {
						t.Errorf("step %q: got %d, %v", id, got, err)
					}
				}
				if round == 0 {
					_, err := callID(ctx, fetch, "flaky", func(context.Context) (int, error) { return 0, nil })
					wantError(t, err, durable.ErrRepeated)
					p.kill()
					<-ctx.Done()
				}
				return ctx.Err()
			})
			if (err != nil) != (round == 0) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		e := startProcess(t, m).Engine
		if n := len(steps(t, e, "one")); n != 1 {
			t.Errorf("%d steps are recorded, want 1", n)
		}
		wantStep(t, e, "one", "fetch/flaky", storage.StatusSucceeded)
		wantHistory(t, e, "one", "fetch/flaky", "1 failed, then 1s", "2 succeeded")
		j.want(t, "fetch/flaky", 1, 2)
		j.want(t, "fetch/a", 1, 1, 1, 1, 1, 1)
	})
}

// A record under an older name answers, too.
func TestFirstAttemptFormerly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		for _, s := range []*genapi.StepPolicy{
			unrecorded("old", 3, time.Second),
			{Name: "new", Formerly: []string{"old"}, Policy: unrecorded("new", 3, 0).Policy, Record: genapi.RecordFailures},
		} {
			p := startProcess(t, m)
			var j journal
			err := p.run("one", func(ctx context.Context) error {
				if err := oneStep(s, failing(&j, 1))(ctx); err != nil || s.Name == "new" {
					return err
				}
				p.kill()
				return ctx.Err()
			})
			if (err != nil) != (s.Name == "old") {
				t.Errorf("step %q: %v", s.Name, err)
			}
			if s.Name == "new" && len(j.calls) > 0 {
				t.Error("the step was executed although the record of its older name has a result")
			}
		}
	})
}

// Calls of one step at the same time are executed each. The first failure is
// recorded; the others get the result of the retry.
func TestFirstAttemptsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		fetch := unrecorded("fetch", 3, time.Second)
		err := p.run("one", func(ctx context.Context) error {
			results := make(chan int)
			for n := range 3 {
				go func() {
					got, err := call(ctx, fetch, func(ctx context.Context) (int, error) {
						if info, _ := durable.Current(ctx); info.Attempt == 2 {
							return 2, nil
						}
						time.Sleep(time.Millisecond)
						if n == 0 {
							return 1, nil
						}
						return 0, errors.New("unavailable")
					})
					if err != nil {
						t.Error(err)
					}
					results <- got
				}()
			}
			if sum := <-results + <-results + <-results; sum != 1+2+2 {
				t.Errorf("the results add up to %d, want 5", sum)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		wantHistory(t, p.Engine, "one", "fetch", "1 failed, then 1s", "2 succeeded")
	})
}

// An attempt that is executing when the function of the run returns is waited for, and
// its failure keeps the run from succeeding.
func TestFirstAttemptOutlivesFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		fetch := unrecorded("fetch", 3, time.Hour)
		begun := time.Now()
		left := make(chan error, 1)
		err := p.run("one", func(ctx context.Context) error {
			go func() {
				left <- oneStep(fetch, func(context.Context) (int, error) {
					time.Sleep(time.Minute)
					return 0, errors.New("unavailable")
				})(ctx)
			}()
			time.Sleep(time.Second)
			return nil
		})
		if err == nil {
			t.Error("the run has succeeded")
		}
		wantAbout(t, "the run", time.Since(begun), time.Minute, time.Minute+time.Second)
		if err := <-left; err == nil {
			t.Error("the step has succeeded")
		}
		wantStep(t, p.Engine, "one", "fetch", storage.StatusWaiting)
	})
}

// A panic goes on, and the run does not succeed over the step.
func TestFirstAttemptPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		fetch := unrecorded("fetch", 3, time.Second)
		err := p.run("one", func(ctx context.Context) error {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not go on")
				}
			}()
			return oneStep(fetch, func(context.Context) (int, error) { panic("once") })(ctx)
		})
		wantAs[*durable.UnfinishedError](t, err)
		if err := p.run("one", oneStep(fetch, func(context.Context) (int, error) { return 1, nil })); err != nil {
			t.Error(err)
		}
	})
}

// A unit has not ended while an attempt of it is executing.
func TestFirstAttemptOfUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		fetch := unrecorded("fetch", 3, time.Second)
		err := p.run("one", func(ctx context.Context) error {
			g := job.NewGroup(job.GroupPolicy{Name: "g"}, "job")
			_, err := durable.Group(ctx, g, []string{"a"}, func(ctx context.Context, _ string) (int, error) {
				go func() {
					_ = oneStep(fetch, func(context.Context) (int, error) { time.Sleep(time.Minute); return 0, nil })(ctx)
				}()
				time.Sleep(time.Second)
				return 0, nil
			}, nil)
			return err
		})
		if err == nil {
			t.Error("the run has succeeded although a step of the unit was executing")
		}
	})
}

// Limits on the time of an attempt hold for one that is not recorded.
func TestFirstAttemptTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		fetch := unrecorded("fetch", 3, time.Second)
		fetch.Policy.AttemptTimeout = 10 * time.Second
		begun := time.Now()
		err := p.run("one", oneStep(fetch, func(ctx context.Context) (int, error) {
			if info, _ := durable.Current(ctx); info.Attempt == 2 {
				return 0, nil
			}
			<-ctx.Done()
			return 0, ctx.Err()
		}))
		if err != nil {
			t.Error(err)
		}
		wantAbout(t, "the run", time.Since(begun), 11*time.Second, 11*time.Second)
		wantHistory(t, p.Engine, "one", "fetch", "1 timed_out, then 1s", "2 succeeded")
	})
}

// A step is not called whose failure could not be recorded.
func TestFirstAttemptWithoutID(t *testing.T) {
	p := startProcess(t, memory.New())
	fetch := unrecorded("fetch", 3, time.Second)
	fn := func(context.Context) (int, error) { t.Error("called"); return 0, nil }
	err := p.run("one", func(ctx context.Context) error {
		_, err := genapi.Call(ctx, fetch, genapi.ID(1.5), genapi.Arguments(), fn)
		wantError(t, err, durable.ErrID)
		_, err = genapi.Call(ctx, fetch, genapi.ID(), genapi.Arguments("f", func() {}), fn)
		wantError(t, err, durable.ErrArguments)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
