package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// asParked returns what err says about a parked run, or fails the test.
func asParked(t *testing.T, err error) *durable.ParkedError {
	t.Helper()
	parked, ok := errors.AsType[*durable.ParkedError](err)
	if !ok {
		t.Fatalf("got error %v, want a ParkedError", err)
	}
	return parked
}

// wantClean fails the test if the store has records that contradict each other.
func wantClean(t *testing.T, e *durable.Engine) {
	t.Helper()
	for problem, err := range e.Admin().Verify(t.Context()) {
		t.Errorf("verify: %v, error %v", problem, err)
	}
}

// A sleep is recorded once. What a crash leaves of it is waited for, and its end is
// remembered.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		sleep := func(ctx context.Context) error {
			if err := durable.Sleep(ctx, "cool down", time.Hour); err != nil {
				return err
			}
			return errors.New("later")
		}
		first := startProcess(t, m)
		first.killAfter(20 * time.Minute)
		_ = first.run("one", sleep)
		second := startProcess(t, m)
		for range 2 { // the second one does not wait
			if err := second.run("one", sleep); err == nil || err.Error() != "later" {
				t.Fatal(err)
			}
			wantAbout(t, "the sleep", time.Since(epoch), time.Hour, time.Hour+time.Second)
		}
		stats, err := second.Admin().Stats(t.Context(), admin.Filter{})
		if err != nil || stats.Attempts != 0 || stats.Failures != 0 || stats.Success.Count != 0 {
			t.Errorf("got %+v, error %v, want no attempts", stats, err)
		}
		wantClean(t, second.Engine)
	})
}

// A sleep beyond the deadline of the context parks the run. Overdue, it has ended
// within the spread.
func TestSleepParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		until := time.Now().Add(time.Hour).Round(0).UTC()
		sleep := func(ctx context.Context) error { return durable.SleepUntil(ctx, "opening", until) }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if p := asParked(t, e.Run(ctx, "one", sleep)); !p.Until.Equal(until) {
			t.Errorf("parked until %v, want %v", p.Until, until)
		}
		time.Sleep(2 * time.Hour)
		if err := e.Run(t.Context(), "one", sleep); err != nil {
			t.Error(err)
		}
		wantAbout(t, "the sleep", time.Since(epoch), 2*time.Hour, 2*time.Hour+30*time.Second)
	})
}

// Another duration, another function and a second call under one name are errors.
func TestSleepMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		for _, test := range []struct {
			name string
			call func(context.Context) error
			want error
		}{
			{"duration", func(ctx context.Context) error { return durable.Sleep(ctx, "a", 2*time.Second) }, durable.ErrChanged},
			{"time", func(ctx context.Context) error { return durable.SleepUntil(ctx, "a", epoch) }, durable.ErrChanged},
			{"wait", func(ctx context.Context) error {
				_, err := durable.Wait[int](ctx, "a", time.Second)
				return err
			}, durable.ErrChanged},
			{"step", func(ctx context.Context) error {
				_, err := durable.Step(ctx, "a", nil, func(context.Context) (int, error) { return 1, nil })
				return err
			}, durable.ErrChanged},
			{"loop", func(ctx context.Context) error {
				return errors.Join(durable.Sleep(ctx, "a", time.Second), durable.Sleep(ctx, "a", time.Second))
			}, durable.ErrRepeated},
			{"nested", func(ctx context.Context) error {
				_, err := durable.Step(ctx, "b", nil, func(ctx context.Context) (int, error) {
					return 0, durable.Sleep(ctx, "c", time.Second)
				})
				return err
			}, durable.ErrConflict},
		} {
			_ = e.Run(t.Context(), test.name, func(ctx context.Context) error {
				if err := durable.Sleep(ctx, "a", time.Second); err != nil {
					return err
				}
				return errors.New("again")
			})
			if err := e.Run(t.Context(), test.name, test.call); !errors.Is(err, test.want) {
				t.Errorf("%s: got %v, want %v", test.name, err, test.want)
			}
		}
		if err := durable.Sleep(t.Context(), "a", time.Second); !errors.Is(err, durable.ErrNoRun) {
			t.Errorf("without a run: %v", err)
		}
	})
}

// approval waits for a person.
func approval(ctx context.Context) (string, error) {
	return durable.Wait[string](ctx, "approve", time.Hour)
}

// A signal that comes first is kept. Sent again, it is the same signal; another value
// is a conflict.
func TestSignalFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		if err := e.Admin().Signal(t.Context(), "one", "approve", "yes"); !errors.Is(err, durable.ErrNotFound) {
			t.Errorf("unknown run: %v", err)
		}
		_ = e.Run(t.Context(), "one", func(context.Context) error { return errors.New("not yet") })
		if err := e.Admin().Signal(t.Context(), "one", "approve", "yes"); !errors.Is(err, durable.ErrConflict) {
			t.Errorf("a run that has failed: %v", err)
		}
		got, err := durable.Run(t.Context(), e, "two", func(ctx context.Context) (string, error) {
			for _, test := range []struct {
				value string
				want  error
			}{{"yes", nil}, {"yes", nil}, {"no", durable.ErrConflict}} {
				err := e.Admin().Signal(ctx, "two", "approve", test.value, admin.By("ada", "checked"))
				if !errors.Is(err, test.want) {
					t.Errorf("signal %q: got %v, want %v", test.value, err, test.want)
				}
			}
			return approval(ctx)
		})
		if got != "yes" || err != nil {
			t.Errorf("got %q, error %v", got, err)
		}
		for a, err := range e.Admin().Attempts(t.Context(), "two", "approve") {
			if a.Outcome != events.OutcomeSignaled || a.By.Name != "ada" || err != nil {
				t.Errorf("got %+v, error %v", a, err)
			}
		}
		if err := e.Admin().Signal(t.Context(), "two", "other", 1); !errors.Is(err, durable.ErrConflict) {
			t.Errorf("a run that has succeeded: %v", err)
		}
		wantClean(t, e)
	})
}

// The timeout is recorded: signals are refused afterwards, and the next execution
// takes the same branch.
func TestWaitTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		p := asParked(t, func() error { _, err := durable.Run(t.Context(), e, "one", approval); return err }())
		if want := epoch.Add(time.Hour); !p.Until.Equal(want) {
			t.Errorf("parked until %v, want %v", p.Until, want)
		}
		time.Sleep(time.Hour)
		for range 2 {
			err := e.Run(t.Context(), "one", func(ctx context.Context) error {
				_, err := approval(ctx)
				if err := e.Admin().Signal(ctx, "one", "approve", "yes"); !errors.Is(err, durable.ErrConflict) {
					t.Errorf("signal: %v", err)
				}
				return err
			})
			if !errors.Is(err, durable.ErrNoSignal) {
				t.Errorf("got %v, want %v", err, durable.ErrNoSignal)
			}
		}
		wantClean(t, e)
	})
}

// A worker is free while a run waits, and goes on at the signal, also if that comes
// while the run is about to be parked.
func TestSignalWakes(t *testing.T) {
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(t, memory.New())
			durable.Handle(e, "decide", func(ctx context.Context, _ int) (string, error) {
				got, err := approval(ctx)
				if _, parked := errors.AsType[*durable.ParkedError](err); parked && early {
					if err := e.Admin().Signal(ctx, "one", "approve", "yes"); err != nil {
						t.Error(err)
					}
				}
				return got, err
			})
			if err := durable.Start(t.Context(), e, "decide", "one", 0); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _ = e.Work(ctx) }()
			time.Sleep(10 * time.Minute)
			if !early {
				if err := e.Admin().Signal(t.Context(), "one", "approve", "yes"); err != nil {
					t.Error(err)
				}
			}
			if got, err := durable.Await[string](t.Context(), e, "one"); got != "yes" || err != nil {
				t.Errorf("got %q, error %v", got, err)
			}
			wantAbout(t, "the wait", time.Since(epoch), 10*time.Minute, 10*time.Minute+5*time.Second)
			cancel()
			synctest.Wait()
		})
	}
}

// A crash at any commit loses neither a sleep nor a signal: exactly one of the signal
// and the timeout wins, and stays the winner.
func TestCrashWhileWaiting(t *testing.T) {
	for n := 1; ; n++ {
		crashed := false
		synctest.Test(t, func(t *testing.T) { crashed = crashWhileWaiting(t, n) })
		if !crashed {
			if n < 5 {
				t.Errorf("there are only %d commits", n-1)
			}
			return
		}
	}
}

func crashWhileWaiting(t *testing.T, n int) (crashed bool) {
	m := memory.New()
	var branches []string
	work := func(ctx context.Context) error {
		if err := durable.Sleep(ctx, "cool down", time.Minute); err != nil {
			return err
		}
		got, err := approval(ctx)
		if _, parked := errors.AsType[*durable.ParkedError](err); parked {
			return err
		}
		if err != nil && !errors.Is(err, durable.ErrNoSignal) {
			return err
		}
		branches = append(branches, got)
		return nil
	}
	faulty := durabletest.CrashAt(m, n)
	ctx, cancel := faulty.Context(t.Context())
	defer cancel()
	broken := newEngine(t, faulty)
	_ = broken.Run(ctx, "one", work)
	sent := broken.Admin().Signal(ctx, "one", "approve", "yes")
	_ = broken.Run(ctx, "one", work)
	crashed = faulty.Failed()

	e := newEngine(t, m)
	err := e.Run(t.Context(), "one", work)
	for ; err != nil; err = e.Run(t.Context(), "one", work) {
		until := asParked(t, err).Until
		time.Sleep(time.Until(until))
	}
	for _, b := range branches {
		if b != branches[0] || sent == nil && b != "yes" {
			t.Errorf("crash at %d: the branches are %v, sent with error %v", n, branches, sent)
		}
	}
	wantClean(t, e)
	return crashed
}
