package job

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

var errFailed = errors.New("failed")

// newGroup returns a group and the kinds of its events so far.
func newGroup(t *testing.T, p GroupPolicy) (*Group, func() []string) {
	t.Helper()
	g := NewGroup(p, "job-1")
	var mu sync.Mutex
	var kinds []string
	g.Observe(func(_ context.Context, e Event) {
		mu.Lock()
		defer mu.Unlock()
		kinds = append(kinds, e.Kind.String()+" "+e.Text())
	})
	return g, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(kinds)
	}
}

// after returns an op whose unit n takes n times a second, and fails where n is
// negative.
func after(delays map[string]time.Duration) func(context.Context, string) (string, error) {
	return func(ctx context.Context, unit string) (string, error) {
		d := delays[unit]
		select {
		case <-time.After(max(d, -d)):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if d < 0 {
			return "", errFailed
		}
		return "result of " + unit, nil
	}
}

func TestGroupWaitsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := newGroup(t, GroupPolicy{})
		out, err := Run(t.Context(), g, []string{"a", "b", "c"},
			after(map[string]time.Duration{"a": time.Second, "b": -time.Hour, "c": 2 * time.Second}), nil)
		if err != nil || !out.Success || len(out.Results) != 2 || out.Errors["b"] != errFailed ||
			out.Decision.String() != "all_dcs_reported" {
			t.Errorf("got %+v, %v", out, err)
		}
		if got := events(); !slices.Equal(got, []string{"BestEffortCompletion all_dcs_reported"}) {
			t.Errorf("events %v", got)
		}
		out, err = Run(t.Context(), g, nil, after(nil), nil)
		if err != nil || !out.Complete || out.Success || out.Ratio != 0 {
			t.Errorf("without units: %+v, %v", out, err)
		}
	})
}

// An outcome holds what was decided on, however fast more results come.
func TestGroupOutcomeIsOfOneMoment(t *testing.T) {
	units := []string{"a", "b", "c", "d"}
	check := func(out Outcome[string]) {
		if got := float64(len(out.Results)) / float64(len(units)); got != out.Ratio {
			t.Errorf("%d results, but %v", len(out.Results), out.Decision)
		}
	}
	for i := range 2000 {
		g, _ := newGroup(t, GroupPolicy{BestEffort: &BestEffort{MinSuccess: 1, Late: Late(i % 2)}})
		out, err := Run(t.Context(), g, units, func(context.Context, string) (string, error) { return "", nil }, check)
		if check(out); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGroupEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGroup(t, GroupPolicy{Timeout: time.Minute})
		out, err := Run(t.Context(), g, []string{"a", "b"},
			after(map[string]time.Duration{"a": time.Second, "b": time.Hour}), nil)
		if !errors.Is(err, retry.ErrTimeout) || len(out.Results) != 1 {
			t.Errorf("got %+v, %v", out, err)
		}
		g, _ = newGroup(t, GroupPolicy{BestEffort: &BestEffort{Deadline: 10 * time.Second}})
		out, err = Run(t.Context(), g, []string{"a"}, after(map[string]time.Duration{"a": time.Hour}), nil)
		if err != nil || out.Success || out.Decision.String() != "deadline_expired (completed: 0)" {
			t.Errorf("got %+v, %v", out, err)
		}
		out, err = Run(t.Context(), g, []string{"a"}, func(context.Context, string) (string, error) {
			runtime.Goexit()
			return "", nil
		}, nil)
		if err != nil || out.Errors["a"] != ErrGoexit {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

func TestGroupBudget(t *testing.T) {
	g, events := newGroup(t, GroupPolicy{Budget: &BudgetPolicy{Retries: 3, PerUnit: 2}})
	p := retry.Policy{RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 4, InitialDelay: retry.None}}
	for unit, want := range map[string]string{"a": "workflow_budget_exhausted (2/2)"} {
		_, err := retry.DoWith(t.Context(), &p, retry.Shared{Budget: g.Unit(unit)},
			func(context.Context) (int, error) { return 0, errFailed })
		if e, ok := errors.AsType[*retry.Error](err); !ok || e.Reason != ErrBudget ||
			e.Cause.Error() != want || !errors.Is(err, ErrBudget) {
			t.Errorf("unit %s: %v, want %s", unit, err, want)
		}
	}
	if got := events(); len(got) != 3 || got[2] != "RetryBudgetExhausted workflow_budget_exhausted (2/2)" {
		t.Errorf("events %v", got)
	}
	if (&Group{}).Unit("a") != nil {
		t.Error("a group without a budget limits its units")
	}
}

// A group whose last unit ends the caller's context is complete all the same.
func TestGroupCompleteAsContextEnds(t *testing.T) {
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		g, _ := newGroup(t, GroupPolicy{})
		out, err := Run(ctx, g, []string{"a"}, func(context.Context, string) (int, error) {
			defer cancel()
			return 1, nil
		}, nil)
		if err != nil && len(out.Results) == 1 || err == nil && !out.Success {
			t.Fatalf("got %+v, %v", out, err)
		}
	}
}

// Intervals that are not above zero mean their defaults: a run waits, and ends
// at its deadline.
func TestGroupIntervals(t *testing.T) {
	for _, tt := range []struct {
		effort BestEffort
		want   time.Duration
	}{
		{BestEffort{CheckEvery: retry.None}, 5 * time.Minute},
		{BestEffort{CheckEvery: time.Hour, Deadline: time.Minute}, time.Minute},
		{BestEffort{Deadline: retry.None, MinSuccess: -1}, 5 * time.Minute},
		{BestEffort{Deadline: 2 * time.Hour}, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			out, err := Run(t.Context(), NewGroup(GroupPolicy{BestEffort: &tt.effort}, ""), []string{"a"},
				after(map[string]time.Duration{"a": 24 * time.Hour}), nil)
			if got := time.Since(start); err != nil || out.Reason != ReasonDeadline || out.MinSuccess != 1 ||
				got != tt.want {
				t.Errorf("%+v: %v, %v after %v", tt.effort, out, err, got)
			}
		})
	}
}

func TestGroupRunsUnitsOnce(t *testing.T) {
	var calls atomic.Int32
	out, err := Run(t.Context(), NewGroup(GroupPolicy{BestEffort: &BestEffort{MinSuccess: 9}}, ""),
		[]string{"a", "a", "b"}, func(context.Context, string) (int, error) {
			calls.Add(1)
			return 0, nil
		}, nil)
	if err != nil || calls.Load() != 2 || len(out.Results) != 2 || out.MinSuccess != 2 ||
		out.Reason != ReasonAllReported {
		t.Errorf("%d calls, %v, %v", calls.Load(), out, err)
	}
}

// All observers see every event, with the names of group and job.
func TestGroupObservers(t *testing.T) {
	g := NewGroup(GroupPolicy{Name: "import", Budget: &BudgetPolicy{Retries: 9}}, "job-1")
	var first, second []Event
	g.Observe(func(_ context.Context, e Event) { first = append(first, e) })
	g.Observe(func(_ context.Context, e Event) { second = append(second, e) })
	shared := NewBudget(g.Policy().Budget.Request(1, 1))
	g.SetBudget(shared)
	_ = g.Unit("a").Withdraw()
	err := g.Unit("b").Withdraw()
	want := []Event{
		{Kind: EventBudgetConsumed, Group: "import", JobID: "job-1", Unit: "a", Reason: ReasonAllowed},
		{Kind: EventBudgetExhausted, Group: "import", JobID: "job-1", Unit: "b", Reason: ReasonJobBudget, Err: err},
	}
	if !reflect.DeepEqual(first, want) || !reflect.DeepEqual(second, want) || g.Budget() != shared {
		t.Errorf("got %+v and %+v, want %+v", first, second, want)
	}
	if g.SetBudget(nil); g.Unit("a") != nil {
		t.Error("a group without a budget limits its units")
	}
}

func TestLog(t *testing.T) {
	var b strings.Builder
	log := Log(slog.New(slog.NewTextHandler(&b,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})))
	done := Decision{Complete: true, Success: true, Reason: ReasonEnough, Completed: 1, MinSuccess: 1, Ratio: 0.5}
	for _, e := range []Event{
		{Kind: EventBudgetConsumed, JobID: "j", Unit: "a", Reason: ReasonAllowed},
		{Kind: EventBudgetExhausted, JobID: "j", Unit: "a", Reason: ReasonJobBudget,
			Err: &BudgetError{ReasonJobBudget, "a", 5, 5}},
		{Kind: EventCompletion, Group: "g", JobID: "j", Reason: ReasonEnough, Decision: done},
		{Kind: EventRatio, JobID: "j", Reason: ReasonEnough, Decision: done},
		{Kind: EventLateResult, JobID: "j", Unit: "b", Reason: ReasonUpdated},
		{Kind: EventLateResult, JobID: "j", Unit: "c", Reason: ReasonLogged, Err: errFailed},
	} {
		log(t.Context(), e)
	}
	const want = `level=WARN msg=RetryBudgetExhausted group="" job_id=j reason="job_budget_exhausted (5/5)" unit=a
level=INFO msg=BestEffortCompletion group=g job_id=j reason="min_dcs_reached (1/1)" ratio=0.5
level=INFO msg=LateDatacenterResult group="" job_id=j reason=updated unit=b
level=INFO msg=LateDatacenterResult group="" job_id=j reason=logged unit=c err=failed
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// A run that its context ends has the results so far, and does not wait for
// units that go on.
func TestGroupWithUnitsThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g, _ := newGroup(t, GroupPolicy{})
		out, err := Run(ctx, g, []string{"a", "b"}, func(_ context.Context, unit string) (string, error) {
			if unit == "b" {
				time.Sleep(time.Hour)
			}
			return unit, nil
		}, nil)
		if !errors.Is(err, context.DeadlineExceeded) || out.Complete || len(out.Results) != 1 || out.Results["a"] != "a" {
			t.Errorf("got %+v, %v", out, err)
		}
		synctest.Wait()
		time.Sleep(time.Hour)
	})
}

// Nothing has to be done with provisional results.
func TestGroupWithoutProvisional(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGroup(t, GroupPolicy{BestEffort: &BestEffort{MinSuccess: 1, Late: LateUpdate}})
		out, err := Run(t.Context(), g, []string{"a", "b"},
			after(map[string]time.Duration{"a": time.Second, "b": 2 * time.Second}), nil)
		if err != nil || len(out.Results) != 2 {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

// A job asks for best effort where its policy has none, and for other numbers.
func TestBestEffortOfJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup(GroupPolicy{}, "job")
		effort := BestEffort{MinSuccess: 3, Deadline: time.Hour}.Request(0, 10*time.Second)
		if effort.MinSuccess != 3 {
			t.Errorf("a request of none asks for %d successes", effort.MinSuccess)
		}
		effort = effort.Request(2, 0)
		g.SetBestEffort(&effort)
		start := time.Now()
		outcome, err := Run(t.Context(), g, []string{"a", "b"}, func(ctx context.Context, unit string) (string, error) {
			if unit == "b" {
				<-ctx.Done()
				return "", errors.New("lost")
			}
			return unit, nil
		}, nil)
		if took := time.Since(start); err != nil || outcome.Reason != ReasonDeadline || took != 10*time.Second {
			t.Errorf("%v after %v, %v", outcome.Reason, took, err)
		}
	})
}
