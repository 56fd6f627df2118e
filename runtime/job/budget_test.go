package job

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
)

func TestBudgetClamps(t *testing.T) {
	for name, tt := range map[string]struct {
		policy           BudgetPolicy
		retries, perUnit int
		clamped          string
	}{
		"defaults":            {BudgetPolicy{}, 20, 3, ""},
		"low total":           {BudgetPolicy{Retries: 2}, 2, 2, ""},
		"low total, per unit": {BudgetPolicy{Retries: 2, PerUnit: 3}, 2, 2, "per_unit 3 is clamped to 2"},
		"ceilings":            {BudgetPolicy{Retries: 50, PerUnit: 5}, 50, 5, ""},
		"above ceilings": {BudgetPolicy{Retries: 51, PerUnit: 6}, 50, 5,
			"retries 51 is clamped to 50; per_unit 6 is clamped to 5"},
		"unlimited": {
			BudgetPolicy{Retries: retry.Unlimited, PerUnit: retry.Unlimited}, 50, 5,
			"retries unlimited is clamped to 50; per_unit unlimited is clamped to 5",
		},
		"no ceilings": {
			BudgetPolicy{Retries: 1000, PerUnit: 999, MaxRetries: retry.Unlimited, MaxPerUnit: retry.Unlimited},
			1000, 999, "",
		},
		"no retries":      {BudgetPolicy{Retries: NoRetries}, 0, 0, ""},
		"less than none":  {BudgetPolicy{Retries: -7, PerUnit: -7, MaxRetries: -7}, 0, 0, ""},
		"none for a unit": {BudgetPolicy{PerUnit: NoRetries}, 20, 0, ""},
		"request":         {BudgetPolicy{}.Request(7, 4), 7, 4, ""},
		"request nothing": {BudgetPolicy{Retries: 6, PerUnit: 2}.Request(0, -1), 6, 2, ""},
		"request too much": {BudgetPolicy{MaxRetries: 30}.Request(31, 9), 30, 5,
			"retries 31 is clamped to 30; per_unit 9 is clamped to 5"},
		"request of none": {BudgetPolicy{Retries: NoRetries}.Request(5, 5), 0, 0,
			"retries 5 is clamped to 0; per_unit 5 is clamped to 0"},
		"request of none each": {BudgetPolicy{PerUnit: NoRetries}.Request(5, 5), 5, 0, "per_unit 5 is clamped to 0"},
	} {
		b := NewBudget(tt.policy)
		if b.retries != tt.retries || b.perUnit != tt.perUnit || b.Clamped() != tt.clamped {
			t.Errorf("%s: %d retries, %d per unit, %q; want %+v", name, b.retries, b.perUnit, b.Clamped(), tt)
		}
		if again := NewBudget(b.Policy()); again.retries != tt.retries || again.perUnit != tt.perUnit ||
			again.Clamped() != "" {
			t.Errorf("%s: another budget of its policy has %d retries, %d per unit, %q", name, again.retries,
				again.perUnit, again.Clamped())
		}
		granted := 0
		for b.Withdraw("a") == nil {
			granted++
		}
		if granted != min(tt.retries, tt.perUnit) {
			t.Errorf("%s: one unit makes %d retries", name, granted)
		}
	}
}

// A constructor reads no environment.
func TestNewBudgetReadsNoEnvironment(t *testing.T) {
	t.Setenv("RETRY_BUDGET_DEFAULT", "7")
	if got := NewBudget(BudgetPolicy{}).Policy().Retries; got != 20 {
		t.Errorf("%d retries, want 20", got)
	}
}

func TestUnitOfBudget(t *testing.T) {
	b := NewBudget(BudgetPolicy{Retries: 3, PerUnit: 2})
	a := b.Unit("a")
	left := func(want float64) {
		t.Helper()
		if got := a.Left(); got != want {
			t.Errorf("%v retries are left, want %v", got, want)
		}
	}
	left(2)
	if err := a.Withdraw(); err != nil {
		t.Fatal(err)
	}
	a.Deposit() // which changes nothing
	left(1)
	for range 2 {
		if err := b.Unit("b").Withdraw(); err != nil {
			t.Fatal(err)
		}
	}
	left(0)
	err := a.Withdraw()
	want := &BudgetError{Reason: ReasonJobBudget, Unit: "a", Consumed: 3, Limit: 3}
	if got, ok := errors.AsType[*BudgetError](err); !ok || !reflect.DeepEqual(got, want) ||
		!errors.Is(err, ErrBudget) || errors.Is(err, retry.ErrBudget) {
		t.Errorf("got %#v, want %#v", err, want)
	}
}

// A nil budget is the budget of a job that is not known.
func TestNilBudget(t *testing.T) {
	var b *Budget
	u := b.Unit("a")
	if u.Deposit(); u.Left() != 0 || b.Consumed() != 0 || b.Refused() != 0 || b.Clamped() != "" {
		t.Error("a nil budget has retries")
	}
	if err := u.Withdraw(); !errors.Is(err, ErrBudget) || err.Error() != "retry_budget_missing" {
		t.Errorf("got %v", err)
	}
	if NewBudget(b.Policy()).Withdraw("a") == nil {
		t.Error("its policy allows a retry")
	}
}

func TestWords(t *testing.T) {
	for _, got := range []string{
		Reason(len(reasonWords)).String(), EventKind(len(eventNames)).String(), Late(len(lateNames)).String(),
	} {
		if got != "unknown" {
			t.Errorf("got %q", got)
		}
	}
	words := strings.Join(slices.Concat(reasonWords[:], eventNames[:], lateNames[:]), " ")
	const want = "waiting waiting_for_all_dcs all_dcs_reported min_dcs_reached deadline_expired" +
		" breaker_open max_failures_reached failure_rate_exceeded unit_failed" +
		" allowed job_budget_exhausted workflow_budget_exhausted retry_budget_missing logged updated" +
		" RetryBudgetConsumed RetryBudgetExhausted BestEffortCompletion BestEffortRatio LateDatacenterResult" +
		" UnitFailures log_only update_result"
	if words != want {
		t.Errorf("got  %s\nwant %s", words, want)
	}
}

// Reading a budget neither changes nor blocks it.
func TestReadTwice(t *testing.T) {
	b := NewBudget(BudgetPolicy{Retries: 1, PerUnit: 1})
	for asked := range 3 {
		for range 2 {
			if consumed, refused := b.Consumed(), b.Refused(); consumed != min(asked, 1) || refused != max(asked-1, 0) {
				t.Errorf("of %d retries %d are consumed and %d refused", asked, consumed, refused)
			}
		}
		_ = b.Withdraw("unit")
	}
}
