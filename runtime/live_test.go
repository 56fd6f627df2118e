package retry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
)

// Calls of several goroutines keep the policy with which they began, however often it
// changes: none makes the attempts of one version under the name of another.
func TestLive(t *testing.T) {
	version := func(n int) *retry.Policy {
		return &retry.Policy{
			Name:     fmt.Sprint(n),
			Schedule: retry.Schedule{MaxAttempts: n, InitialDelay: retry.None}, RetryOn: []retry.Class{retry.ClassAny},
		}
	}
	live := retry.NewLive(version(2))
	var wg sync.WaitGroup
	var done atomic.Bool
	var calls atomic.Int64
	for range 8 {
		wg.Go(func() {
			for first := true; first || !done.Load(); first = false {
				calls.Add(1)
				call, attempts := live.Load().Begin(), 0
				var err error
				for err == nil {
					attempts++
					err = call.Next(context.Background(), errors.New("broken"))
				}
				var e *retry.Error
				if !errors.As(err, &e) || e.Policy != fmt.Sprint(attempts) {
					t.Errorf("%d attempts: %v", attempts, err)
				}
			}
		})
	}
	for n := range 1000 {
		live.Store(version(2 + n%3))
	}
	done.Store(true)
	wg.Wait()
	if calls.Load() < 8 {
		t.Errorf("%d calls", calls.Load())
	}
}

func TestLiveLimit(t *testing.T) {
	attempts := func(live *retry.Live, class error) (n int) {
		_, _ = retry.Do(context.Background(), live.Load(), func(context.Context) (int, error) { n++; return n, class })
		return n
	}
	policy := func(n int) *retry.Policy {
		once := retry.Schedule{MaxAttempts: n, InitialDelay: retry.None}
		return &retry.Policy{
			Name: "read", Schedule: once,
			PerError: []retry.Override{{Class: retry.ClassTimeout, Schedule: once}},
		}
	}
	timeout, network := context.DeadlineExceeded, errors.New("connection refused")
	live := retry.NewLive(policy(3))
	for _, step := range []struct {
		name   string
		change func()
		want   int
	}{
		{"as compiled", func() {}, 3},
		{"off", func() { live.Limit(1) }, 1},
		{"changed while off", func() { live.Store(policy(4)) }, 1},
		{"less", func() { live.Limit(2) }, 2},
		{"more than the policy", func() { live.Limit(9) }, 4},
		{"on", func() { live.Limit(0) }, 4},
	} {
		step.change()
		if got := attempts(live, network); got != step.want {
			t.Errorf("%s: %d attempts, want %d", step.name, got, step.want)
		}
		if got := attempts(live, timeout); got != step.want {
			t.Errorf("%s: %d attempts of an error with a schedule, want %d", step.name, got, step.want)
		}
	}
}
