// Package grouptest has the tests that groups pass wherever their state is: in the
// memory of job.Run, and on the store of durable.Group.
package grouptest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/job"
)

// A Carrier is where the state of a group is.
type Carrier struct {
	Run    Run
	Slack  time.Duration // by which a group may end later than in memory
	Settle time.Duration // after which the last late result is reported
}

// A Run executes a group.
type Run func(
	ctx context.Context, g *job.Group, units []string,
	op func(ctx context.Context, unit string) (int, error), provisional func(job.Outcome[int]),
) (job.Outcome[int], error)

var errFailed = errors.New("failed")

// A group is a test case. Its units are "0", "1", …
type group struct {
	policy job.GroupPolicy
	units  []int // the seconds after which each ends: with an error if negative

	want    string // the kind and the text of the decision
	results string // the units with results
	errors  string // those with errors
	letters string // the dead letters
	early   string // the units in the provisional result
	events  string // the kinds and texts of the events, but for batches of failures
	batches string // the units in these
	took    int    // seconds
	err     error
}

// each returns units of which the first takes one second, the second two, and so
// on: s succeeds, f fails.
func each(pattern string) (units []int) {
	for i, c := range pattern {
		if i++; c == 'f' {
			i = -i
		}
		units = append(units, i)
	}
	return units
}

var effort = job.BestEffort{MinSuccess: 2}

var groups = map[string]group{
	"no units":  {want: "complete all_dcs_reported", events: "BestEffortCompletion all_dcs_reported"},
	"no policy": {units: each("fsfs"), want: "success all_dcs_reported", results: "1 3", errors: "0 2", took: 4},
	"dead letter": {
		policy: job.GroupPolicy{OnUnitFailure: job.FailureDeadLetter}, units: each("fsfs"),
		want: "success all_dcs_reported", results: "1 3", errors: "0 2", letters: "0 2", took: 4,
	},
	"stop": {
		policy: job.GroupPolicy{OnUnitFailure: job.FailureStop}, units: each("sfsf"),
		want: "complete unit_failed (failed: 1)", results: "0", errors: "1", took: 2,
		events: "BestEffortCompletion unit_failed (failed: 1), LateDatacenterResult logged, LateDatacenterResult logged",
	},
	"max failures": {
		policy: job.GroupPolicy{OnUnitFailure: job.FailureDeadLetter, MaxFailures: 2}, units: each("fsffs"),
		want: "complete max_failures_reached (2/2)", results: "1", errors: "0 2", letters: "0 2", took: 3,
	},
	"failure rate": {
		policy: job.GroupPolicy{FailureRate: 0.2}, units: each("sssssssssfffsssss"),
		want: "complete failure_rate_exceeded (3/12)", results: "0 1 2 3 4 5 6 7 8", errors: "9 10 11", took: 12,
	},
	"failure rate, few units": {
		policy: job.GroupPolicy{FailureRate: 0.1, MinUnits: 2}, units: each("fs"),
		want: "complete failure_rate_exceeded (1/2)", results: "1", errors: "0", took: 2,
	},
	"breaker first": {
		policy: job.GroupPolicy{
			MaxFailures: 3, FailureRate: 0.1, MinUnits: 3, OnUnitFailure: job.FailureDeadLetter,
			Breaker: &breaker.Policy{Failures: 2},
		},
		units: each("fffff"),
		want:  "complete breaker_open (failed: 3)", errors: "0 1 2", letters: "0 1 2", took: 3,
	},
	"best effort": {
		policy: job.GroupPolicy{MaxFailures: 3, BestEffort: &effort}, units: each("fsfsf"),
		want: "success min_dcs_reached (2/2)", results: "1 3", errors: "0 2", took: 4,
		events: "BestEffortCompletion min_dcs_reached (2/2), LateDatacenterResult logged",
	},
	"best effort fails": {
		policy: job.GroupPolicy{MaxFailures: 2, BestEffort: &effort}, units: each("fsfsf"),
		want: "complete max_failures_reached (2/2)", results: "1", errors: "0 2", took: 3,
	},
	"provisional": {
		policy: job.GroupPolicy{MaxFailures: 2, BestEffort: &job.BestEffort{MinSuccess: 2, Late: job.LateUpdate}},
		units:  each("sfssfs"),
		want:   "success max_failures_reached (2/2)", results: "0 2 3", errors: "1 4", early: "0 2", took: 5,
		events: "BestEffortCompletion min_dcs_reached (2/2), LateDatacenterResult updated, " +
			"LateDatacenterResult updated, BestEffortRatio max_failures_reached (2/2), LateDatacenterResult logged",
	},
	"provisional, then the deadline": {
		policy: job.GroupPolicy{BestEffort: &job.BestEffort{Late: job.LateUpdate, Deadline: time.Minute}},
		units:  []int{1, 2, 3600},
		want:   "success deadline_expired (completed: 2)", results: "0 1", early: "0", took: 60,
		events: "BestEffortCompletion min_dcs_reached (1/1), LateDatacenterResult updated, " +
			"BestEffortRatio deadline_expired (completed: 2), LateDatacenterResult logged",
	},
	"provisional, then all": {
		policy: job.GroupPolicy{BestEffort: &job.BestEffort{Late: job.LateUpdate}}, units: []int{1, -2},
		want: "success all_dcs_reported", results: "0", errors: "1", early: "0", took: 2,
	},
	"deadline": {
		policy: job.GroupPolicy{BestEffort: &job.BestEffort{Deadline: 10 * time.Second}}, units: []int{3600},
		want: "complete deadline_expired (completed: 0)", took: 10,
	},
	"deadline at most an hour": {
		policy: job.GroupPolicy{BestEffort: &job.BestEffort{Deadline: 2 * time.Hour}}, units: []int{90000},
		want: "complete deadline_expired (completed: 0)", took: 3600,
	},
	"timeout": {
		policy: job.GroupPolicy{Timeout: time.Minute, OnUnitFailure: job.FailureStop, Workers: 2},
		units:  []int{1, 3600, 3600},
		want:   "open waiting_for_all_dcs", results: "0", took: 60, err: retry.ErrTimeout,
		events: "LateDatacenterResult logged, LateDatacenterResult logged",
	},
	"collect first": {
		policy: job.GroupPolicy{OnUnitFailure: job.FailureDeadLetter, Collect: job.CollectFirst}, units: each("sffsf"),
		want: "success all_dcs_reported", results: "0 3", errors: "1", letters: "1 2 4", took: 5,
	},
	"collect every": {
		policy: job.GroupPolicy{Collect: 2}, units: each("sffsfff"),
		want: "success all_dcs_reported", results: "0 3", errors: "6", batches: "1 2, 4 5", took: 7,
	},
	"collect each": {
		policy: job.GroupPolicy{Collect: 1}, units: each("ff"),
		want: "complete all_dcs_reported", batches: "0, 1", took: 2,
	},
	"workers": {
		policy: job.GroupPolicy{Workers: 2}, units: []int{1, 1, 1, -1, 1},
		want: "success all_dcs_reported", results: "0 1 2 4", errors: "3", took: 3,
	},
	"one worker": {
		policy: job.GroupPolicy{Workers: 1, MaxFailures: 2}, units: []int{1, -1, 1, -1, 1, -1},
		want: "complete max_failures_reached (2/2)", results: "0 2", errors: "1 3", took: 4,
	},
}

// Test executes all groups. start is called in the bubble of each test.
func Test(t *testing.T, start func(t *testing.T) Carrier) {
	for name, tt := range groups {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tt.test(t, start(t)) })
		})
	}
}

func (tt *group) test(t *testing.T, c Carrier) {
	tt.policy.Name = "import"
	g := job.NewGroup(tt.policy, "job-1")
	var mu sync.Mutex
	var events, batches []string
	g.Observe(func(_ context.Context, e job.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == job.EventFailures {
			batches = append(batches, failed(e.Failures))
		} else {
			events = append(events, e.Kind.String()+" "+e.Text())
		}
	})
	var names []string
	for i := range tt.units {
		names = append(names, strconv.Itoa(i))
	}
	var early []string
	begun := time.Now()
	out, err := c.Run(t.Context(), g, names, tt.op, func(o job.Outcome[int]) {
		early = append(early, keys(o.Results))
		if !o.Provisional || !o.Success {
			t.Errorf("a provisional result with %+v", o.Decision)
		}
	})
	if late := time.Since(begun) - time.Duration(tt.took)*time.Second; late < 0 || late > c.Slack {
		t.Errorf("the group ended %v later than after %ds", late, tt.took)
	}
	time.Sleep(c.Settle)
	synctest.Wait()
	mu.Lock()
	defer mu.Unlock()
	equal := func(what, got, want string) {
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	if !errors.Is(err, tt.err) {
		t.Errorf("got error %v, want %v", err, tt.err)
	}
	equal("decision", kind(out.Decision)+" "+out.String(), tt.want)
	equal("results", keys(out.Results), tt.results)
	equal("errors", keys(out.Errors), tt.errors)
	equal("dead letters", failed(out.DeadLetters), tt.letters)
	equal("provisional results", strings.Join(early, ", "), tt.early)
	equal("batches", strings.Join(batches, ", "), tt.batches)
	if tt.events != "" {
		equal("events", strings.Join(events, ", "), tt.events)
	}
	for unit, n := range out.Results {
		equal("result", fmt.Sprint(n), unit)
	}
	for unit, err := range out.Errors {
		if !strings.Contains(err.Error(), errFailed.Error()) {
			t.Errorf("error of unit %s: %v", unit, err)
		}
	}
}

// op is the function of a unit.
func (tt *group) op(ctx context.Context, unit string) (int, error) {
	n, _ := strconv.Atoi(unit)
	after := tt.units[n]
	timer := time.NewTimer(time.Duration(max(after, -after)) * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if after < 0 {
		return 0, errFailed
	}
	return n, nil
}

// kind returns the kind of a decision.
func kind(d job.Decision) string {
	switch {
	case !d.Complete:
		return "open"
	case d.Success:
		return "success"
	}
	return "complete"
}

// failed returns the names of units that have failed.
func failed(failures []job.Failure) string {
	var names []string
	for _, f := range failures {
		names = append(names, f.Unit)
	}
	return strings.Join(names, " ")
}

// keys returns the keys of a map, which are numbers, in their order.
func keys[V any](m map[string]V) string {
	return strings.Join(slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	}), " ")
}
