package job

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// Workers limits the units that run, in the order of the list. A unit that ends
// its goroutine does not take a worker with it.
func TestWorkers(t *testing.T) {
	for _, tt := range []struct {
		workers int
		want    time.Duration
	}{
		{0, time.Second}, {-1, time.Second}, {1, 6 * time.Second}, {2, 3 * time.Second}, {4, 2 * time.Second},
		{9, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var order []string
			start := time.Now()
			g := NewGroup(GroupPolicy{Workers: tt.workers}, "")
			out, err := Run(t.Context(), g, []string{"a", "b", "a", "c", "d", "e", "f"},
				func(_ context.Context, unit string) (int, error) {
					if tt.workers == 1 {
						order = append(order, unit)
					}
					time.Sleep(time.Second)
					if unit == "b" {
						runtime.Goexit()
					}
					return 0, nil
				}, nil)
			if got := time.Since(start); err != nil || len(out.Results) != 5 || out.Errors["b"] != ErrGoexit || got != tt.want {
				t.Errorf("%d workers: %+v, %v after %v, want %v", tt.workers, out, err, got, tt.want)
			}
			if got := strings.Join(order, ""); tt.workers == 1 && got != "abcdef" {
				t.Errorf("order %s", got)
			}
		})
	}
}

// A group that has ended starts no more units.
func TestStoppedGroupStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := NewGroup(GroupPolicy{Workers: 1, OnUnitFailure: FailureStop}, "")
		out, err := Run(t.Context(), g, []string{"a", "b", "c"}, func(context.Context, string) (int, error) {
			calls++
			return 0, errFailed
		}, nil)
		synctest.Wait()
		if err != nil || calls != 1 || out.Failed != 1 || out.Success {
			t.Errorf("%d calls, %+v, %v", calls, out, err)
		}
	})
}

// Units that fail because the context of the group has ended do not stop the
// group, and are no dead letters.
func TestErrorPolicyWithoutContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := newGroup(t, GroupPolicy{Timeout: time.Minute, OnUnitFailure: FailureStop, Workers: 2})
		out, err := Run(t.Context(), g, []string{"a", "b", "c"},
			after(map[string]time.Duration{"a": time.Second, "b": time.Hour, "c": time.Hour}), nil)
		if !errors.Is(err, retry.ErrTimeout) || out.Complete || out.Failed != 0 || len(out.Errors) != 0 ||
			len(out.Results) != 1 {
			t.Errorf("got %+v, %v", out, err)
		}
		synctest.Wait()
		want := []string{"LateDatacenterResult logged", "LateDatacenterResult logged"}
		if got := events(); !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	})
}

func TestNewGroupRefuses(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "Failures is -1") {
			t.Errorf("got %q", text)
		}
	}()
	NewGroup(GroupPolicy{Breaker: &breaker.Policy{Failures: -1}}, "")
}

// Defaults that are set change no decision, and the policy of the caller does not
// change.
func TestGroupPolicyEffective(t *testing.T) {
	p := GroupPolicy{
		FailureRate: 0.5, Budget: &BudgetPolicy{}, BestEffort: &BestEffort{}, Breaker: &breaker.Policy{},
	}
	e := p.Effective()
	if e.MinUnits != 10 || e.Budget.Retries != 20 || e.BestEffort.MinSuccess != 1 || e.Breaker.Failures != 3 ||
		e.Workers != 0 || p.MinUnits != 0 || p.Breaker.Failures != 0 {
		t.Errorf("got %+v of %+v", e, p)
	}
	if got := (GroupPolicy{}).Effective(); got != (GroupPolicy{}) {
		t.Errorf("without an error policy: %+v", got)
	}
}

// units returns the names of units that have failed.
func units(failures []Failure) string {
	var names []string
	for _, f := range failures {
		names = append(names, f.Unit)
	}
	return strings.Join(names, " ")
}
