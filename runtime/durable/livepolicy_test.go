package durable_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// liveStep returns the step careful with a policy that may change, and a function that
// changes its attempts.
func liveStep(name string, attempts int) (s *genapi.StepPolicy, change func(attempts int)) {
	s = careful(name, attempts, time.Second)
	s.Live, s.Policy = retry.NewLive(s.Policy), nil
	return s, func(n int) { s.Live.Store(careful(name, n, time.Second).Policy) }
}

// A step has the policy that is in force when its call begins, in all of its attempts, and a
// change is recorded as if a new build had made it. A limit of attempts does not apply.
func TestLivePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		s, change := liveStep("charge", 3)
		s.Live.Limit(1)
		attempts := 0
		err := p.run("one", func(ctx context.Context) error {
			_, first := callID(ctx, s, 1, func(context.Context) (int, error) {
				if attempts++; attempts == 1 {
					change(5)
				}
				return 0, errors.New("unavailable")
			})
			if attempts != 3 {
				t.Errorf("%d attempts of the call that began before the change, want 3", attempts)
			}
			_, second := callID(ctx, s, 2, func(context.Context) (int, error) {
				attempts++
				return 0, errors.New("unavailable")
			})
			return errors.Join(first, second)
		})
		if err == nil || attempts != 3+5 {
			t.Errorf("%d attempts of both calls, want 8: %v", attempts, err)
		}
		changes := p.saw(events.EventPolicyChanged)
		const text = `policy "charge": max_attempts 3 → 5`
		if len(changes) != 1 || changes[0].Step != "charge/2" || changes[0].Err.Error() != text {
			t.Errorf("got %+v, want one change, before charge/2", changes)
		}
	})
}

// A job follows its policy, although it was registered before the change.
func TestLiveJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		s, change := liveStep("charge", 3)
		var attempts atomic.Int64
		durable.Job(e, "job", s, func(n int) genapi.StepID { return genapi.ID(n) },
			func(context.Context, int) (int, error) { attempts.Add(1); return 0, errors.New("unavailable") })
		stop := work(t, e)
		start(t, e, "job", "one")
		time.Sleep(time.Minute)
		before := attempts.Load()
		change(5)
		start(t, e, "job", "two")
		time.Sleep(time.Minute)
		stop()
		if after := attempts.Load() - before; before != 3 || after != 5 {
			t.Errorf("%d attempts before the change and %d after it, want 3 and 5", before, after)
		}
	})
}
