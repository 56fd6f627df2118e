package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// What happens to a group whose units fail. The unit number n ends after n
// seconds.
func TestErrorPolicy(t *testing.T) {
	for name, tt := range map[string]struct {
		policy  GroupPolicy
		units   string // s: succeeds, f: fails
		want    string
		results int
		errors  string
		letters string
		batches []string
		took    int // seconds
	}{
		"no policy": {GroupPolicy{}, "fsfs", "success all_dcs_reported", 2, "0 2", "", nil, 4},
		"dead letter": {GroupPolicy{OnUnitFailure: FailureDeadLetter}, "fsfs",
			"success all_dcs_reported", 2, "0 2", "0 2", nil, 4},
		"stop": {GroupPolicy{OnUnitFailure: FailureStop}, "sfsf",
			"complete unit_failed (failed: 1)", 1, "1", "", nil, 2},
		"max failures": {GroupPolicy{OnUnitFailure: FailureDeadLetter, MaxFailures: 2}, "fsffs",
			"complete max_failures_reached (2/2)", 1, "0 2", "0 2", nil, 3},
		"failure rate": {GroupPolicy{FailureRate: 0.2}, "sssssssssfffsssss",
			"complete failure_rate_exceeded (3/12)", 9, "9 10 11", "", nil, 12},
		"failure rate, few units": {GroupPolicy{FailureRate: 0.1, MinUnits: 2}, "fs",
			"complete failure_rate_exceeded (1/2)", 1, "0", "", nil, 2},
		"breaker first": {GroupPolicy{MaxFailures: 3, FailureRate: 0.1, MinUnits: 3, OnUnitFailure: FailureDeadLetter,
			Breaker: &retry.BreakerPolicy{Failures: 2}}, "fffff",
			"complete breaker_open (failed: 3)", 0, "0 1 2", "0 1 2", nil, 3},
		"best effort": {GroupPolicy{MaxFailures: 3, BestEffort: &BestEffort{MinSuccess: 2}}, "fsfsf",
			"success min_dcs_reached (2/2)", 2, "0 2", "", nil, 4},
		"best effort fails": {GroupPolicy{MaxFailures: 2, BestEffort: &BestEffort{MinSuccess: 2}}, "fsfsf",
			"complete max_failures_reached (2/2)", 1, "0 2", "", nil, 3},
		"provisional": {GroupPolicy{MaxFailures: 2, BestEffort: &BestEffort{MinSuccess: 2, Late: LateUpdate}}, "sfssfs",
			"success max_failures_reached (2/2)", 3, "1 4", "", nil, 5},
		"collect first": {GroupPolicy{OnUnitFailure: FailureDeadLetter, Collect: CollectFirst}, "sffsf",
			"success all_dcs_reported", 2, "1", "1 2 4", nil, 5},
		"collect every": {GroupPolicy{Collect: 2}, "sffsfff", "success all_dcs_reported", 2, "6",
			"", []string{"1 2", "4 5"}, 7},
		"collect each": {GroupPolicy{Collect: 1}, "ff", "complete all_dcs_reported", 0, "", "", []string{"0", "1"}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			group := NewGroup(tt.policy, "")
			var batches []string
			group.Observe(func(_ context.Context, e Event) {
				if e.Kind == EventFailures {
					batches = append(batches, units(e.Failures))
				}
			})
			var names []string
			for i := range tt.units {
				names = append(names, fmt.Sprint(i))
			}
			start := time.Now()
			out, err := Run(t.Context(), group, names, func(ctx context.Context, unit string) (int, error) {
				n := slices.Index(names, unit)
				select {
				case <-time.After(time.Duration(n+1) * time.Second):
				case <-ctx.Done():
				}
				if tt.units[n] == 'f' {
					return 0, errFailed
				}
				return n, nil
			}, nil)
			failed := slices.SortedFunc(maps.Keys(out.Errors), compareNumbers)
			if got := kind(out.Decision) + " " + out.String(); err != nil || got != tt.want ||
				len(out.Results) != tt.results || strings.Join(failed, " ") != tt.errors ||
				units(out.DeadLetters) != tt.letters || !slices.Equal(batches, tt.batches) {
				t.Errorf("%s: got %s, %v, %+v after batches %q; want %+v", name, got, err, out, batches, tt)
			}
			if got := time.Since(start); got != time.Duration(tt.took)*time.Second {
				t.Errorf("%s: ended after %v, want %ds", name, got, tt.took)
			}
			synctest.Wait()
		})
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

// compareNumbers compares numbers in decimal.
func compareNumbers(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

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
			if got := time.Since(start); err != nil || len(out.Results) != 5 || out.Errors["b"] != errGoexit || got != tt.want {
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
	NewGroup(GroupPolicy{Breaker: &retry.BreakerPolicy{Failures: -1}}, "")
}

// Defaults that are set change no decision, and the policy of the caller does not
// change.
func TestGroupPolicyEffective(t *testing.T) {
	p := GroupPolicy{
		FailureRate: 0.5, Budget: &BudgetPolicy{}, BestEffort: &BestEffort{}, Breaker: &retry.BreakerPolicy{},
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
