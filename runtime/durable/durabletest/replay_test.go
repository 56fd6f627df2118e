package durabletest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
)

// reports is a test that keeps what fails.
type reports struct {
	testing.TB
	lines []string
}

func (r *reports) Errorf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

var policy = &retry.Policy{
	Name: "p", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Hour, MaxDelay: retry.None},
}

// step calls a step that fails once.
func step(ctx context.Context, name string) error {
	_, err := durable.Step(ctx, name, policy, func(ctx context.Context) (int, error) {
		if info, _ := durable.Current(ctx); info.Attempt == 1 {
			return 0, errors.New("unavailable")
		}
		return 1, nil
	})
	return err
}

func TestReplay(t *testing.T) {
	n := 0
	for _, c := range []struct {
		name string
		fn   func(context.Context) error
		want []string // of what is reported
	}{
		{"same", func(ctx context.Context) error {
			return errors.Join(step(ctx, "a"), step(ctx, "b"), step(ctx, "a"))
		}, nil},
		{"concurrent", func(ctx context.Context) error {
			n++
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					time.Sleep(time.Duration((i*7+n)%20) * time.Millisecond)
					_ = step(ctx, fmt.Sprint(i))
				})
			}
			all.Wait()
			return nil
		}, nil},
		{"fails", func(ctx context.Context) error {
			_, err := durable.Step(ctx, "a", policy, func(context.Context) (int, error) { return 0, errors.New("down") })
			return err
		}, nil},
		{"order", func(ctx context.Context) error {
			if n++; n%2 == 0 {
				return errors.Join(step(ctx, "b"), step(ctx, "a"))
			}
			return errors.Join(step(ctx, "a"), step(ctx, "b"))
		}, []string{`step "a" came before step "b"`, `step "b" came before step "a"`}},
		{"other", func(ctx context.Context) error {
			n++
			return step(ctx, fmt.Sprint("step-", n))
		}, []string{"recorded results only", "is not called with"}},
		{"error", func(ctx context.Context) error { n++; return fmt.Errorf("call %d", n) }, []string{"returned"}},
		{"parked", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return step(ctx, "a")
		}, []string{"execution 1 of the run does not end"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &reports{TB: t}
			durabletest.Replay(r, c.fn)
			text := strings.Join(r.lines, "\n")
			found := len(c.want) == 0
			for _, want := range c.want {
				found = found || strings.Contains(text, want)
			}
			if !found || len(c.want) == 0 && text != "" {
				t.Errorf("%s: got reports %q, want %q", c.name, r.lines, c.want)
			}
		})
	}
}
