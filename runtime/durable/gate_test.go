package durable_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// gatedStep returns a step whose attempts need the only permit of a limiter.
func gatedStep(l *capacity.Limiter, p retry.Policy, r genapi.Recording) *genapi.StepPolicy {
	p.Name, p.RetryUnknown = "ping", true
	return &genapi.StepPolicy{
		Name: "ping", Policy: &p, Record: r, Idempotent: true,
		Shared: retry.Shared{Gate: capacity.Gate{Limiter: l}},
	}
}

// pinged calls a step in a run.
func pinged(ctx context.Context, e *durable.Engine, run string, s *genapi.StepPolicy, fn func() error) error {
	return e.Run(ctx, run, func(ctx context.Context) error {
		_, err := genapi.Call(ctx, s, genapi.ID(), genapi.Arguments(), func(context.Context) (int, error) { return 0, fn() })
		return err
	})
}

// TestGateOfSteps: an attempt of a step waits for its permit before it is recorded, holds
// it while it runs, and returns it before the wait for the next one.
func TestGateOfSteps(t *testing.T) {
	for _, recording := range []genapi.Recording{genapi.RecordAttempts, genapi.RecordFailures} {
		t.Run(recording.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := capacity.NewLimiter(capacity.LimiterPolicy{Name: "db", Limit: 1, MaxWait: 5 * time.Second})
				s := gatedStep(l, retry.Policy{Schedule: retry.Schedule{InitialDelay: time.Second}}, recording)
				e := newEngine(t, memory.New())
				l.TryAcquire()
				time.AfterFunc(2*time.Second, l.Release)
				var wait sync.WaitGroup
				begun := time.Now()
				var attempts atomic.Int64
				wait.Go(func() {
					time.Sleep(2500 * time.Millisecond)
					if n := attempts.Load(); n != 1 || l.InUse() != 0 {
						t.Errorf("%d attempts, %d permits are in use during the wait", n, l.InUse())
					}
				})
				err := pinged(t.Context(), e, "one", s, func() error {
					if l.InUse() != 1 {
						t.Error("the attempt holds no permit")
					}
					if attempts.Add(1) == 1 {
						return errDown
					}
					return nil
				})
				if got := time.Since(begun); err != nil || got != 3*time.Second || l.InUse() != 0 {
					t.Errorf("got %v after %v, and %d permits are in use", err, got, l.InUse())
				}
				wait.Wait()
			})
		})
	}
}

// TestGateRefusesStep: a refused step has no attempt, and its run ends with the reason. If
// the policy retries refusals, the step waits.
func TestGateRefusesStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := capacity.NewLimiter(capacity.LimiterPolicy{Name: "db", Limit: 1, MaxWait: time.Second})
		l.TryAcquire()
		e := newEngine(t, memory.New())
		s := gatedStep(l, retry.Policy{Schedule: retry.Schedule{InitialDelay: time.Minute}}, genapi.RecordAttempts)
		never := func() error { panic("an attempt") }
		begun := time.Now()
		if err := pinged(t.Context(), e, "one", s, never); !errors.Is(err, retry.ErrLimited) ||
			time.Since(begun) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		step := stepOf(t, e, "one")
		const want = "refused: concurrency limit db is reached: no permit is free"
		if step.Attempts != 0 || step.Reason != retry.ErrLimited || step.Error != want || step.Class != retry.ClassLimited {
			t.Errorf("the step is %+v", step)
		}
		s.Policy.RetryOn = []retry.Class{retry.ClassLimited}
		time.AfterFunc(30*time.Second, l.Release)
		if err := pinged(t.Context(), e, "two", s, func() error { return nil }); err != nil {
			t.Error(err)
		}
		if step = stepOf(t, e, "two"); step.Attempts != 1 || step.Refusals != 1 || step.Status != storage.StatusSucceeded {
			t.Errorf("the step is %+v", step)
		}
	})
}

// TestCanceledAtGate: a run whose context ends while a step waits for a permit has recorded
// nothing about it, and goes on later.
func TestCanceledAtGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := capacity.NewLimiter(capacity.LimiterPolicy{Limit: 1, MaxWait: time.Hour})
		l.TryAcquire()
		e := newEngine(t, memory.New())
		s := gatedStep(l, retry.Policy{}, genapi.RecordAttempts)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := pinged(ctx, e, "one", s, func() error { panic("an attempt") }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		l.Release()
		if err := pinged(t.Context(), e, "one", s, func() error { return nil }); err != nil || l.InUse() != 0 {
			t.Errorf("got %v, and %d permits are in use", err, l.InUse())
		}
		if step := stepOf(t, e, "one"); step.Attempts != 1 || step.Refusals != 0 {
			t.Errorf("the step is %+v", step)
		}
	})
}

// stepOf returns the only step of a run.
func stepOf(t *testing.T, e *durable.Engine, run string) (step admin.StepInfo) {
	t.Helper()
	n := 0
	for s, err := range e.Admin().Steps(t.Context(), admin.Filter{Run: run}) {
		if err != nil {
			t.Fatal(err)
		}
		step, n = s, n+1
	}
	if n != 1 {
		t.Fatalf("run %s has %d steps", run, n)
	}
	return step
}
