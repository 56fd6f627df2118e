package durable_test

import (
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

func TestResetBreakersAndBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		s := careful("ping", 4, time.Second)
		s.Breaker = &breaker.Policy{Name: "server", Failures: 3, OpenFor: time.Hour}
		s.Budget = &budget.Policy{Name: "retries", Burst: 2, MinPerSecond: budget.NoRefill}
		calls := 0
		ping := func(run string, limit job.BudgetPolicy) error {
			return p.run(run, oneStep(s, down(&calls)), durable.Budget(limit))
		}
		wantError(t, ping("one", job.BudgetPolicy{Retries: 5, PerUnit: 5}), retry.ErrBreakerOpen)
		var breakers []admin.BreakerInfo
		for b, err := range p.Admin().Breakers(t.Context()) {
			breakers = append(breakers, b)
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(breakers) != 1 || breakers[0].Name != "server" || breakers[0].State != breaker.Open {
			t.Fatalf("got %+v, want one that is open", breakers)
		}
		budgets := func(f admin.Filter) map[string]admin.BudgetInfo {
			all := map[string]admin.BudgetInfo{}
			for b, err := range p.Admin().Budgets(t.Context(), f) {
				all[b.Run+b.Name] = b
				if err != nil {
					t.Fatal(err)
				}
			}
			return all
		}
		all := budgets(admin.Filter{})
		if len(all) != 2 || all["one"].Consumed != 2 || all["retries"].Tokens != 0 {
			t.Errorf("got %+v, want 2 retries of the run, and no token", all)
		}
		if all := budgets(admin.Filter{Run: "one"}); len(all) != 1 || all["one"].Consumed != 2 {
			t.Errorf("got %+v, want the budget of the run", all)
		}
		if all := budgets(admin.Filter{Limit: 1}); len(all) != 1 || all["retries"].Name == "" {
			t.Errorf("got %+v, want the first one", all)
		}
		if all := budgets(admin.Filter{AfterRun: "one"}); len(all) != 0 {
			t.Errorf("got %+v after the last run", all)
		}
		calls = 0
		wantError(t, ping("two", job.BudgetPolicy{}), retry.ErrBreakerOpen)
		if err := p.Admin().ResetBreaker(t.Context(), "server", ada); err != nil {
			t.Fatal(err)
		}
		wantError(t, ping("three", job.BudgetPolicy{}), retry.ErrBudget)
		if err := p.Admin().ResetBudget(t.Context(), "", "retries", ada); err != nil {
			t.Fatal(err)
		}
		wantError(t, ping("four", job.BudgetPolicy{}), retry.ErrBreakerOpen) // the third failure
		if calls != 1+2 {
			t.Errorf("%d calls, want 1 without a retry, then 2", calls)
		}
		if err := p.Admin().ResetBudget(t.Context(), "one", "", ada); err != nil {
			t.Fatal(err)
		}
		if got := budgets(admin.Filter{})["one"]; got.Consumed != 0 || got.Retries != 5 || got.PerUnit != 5 {
			t.Errorf("got %+v, want none consumed", got)
		}
		const reset = "reset by ada: the bank is down"
		wantAudit(t, p.Engine, storage.KindBreaker, "", "server", reset)
		wantAudit(t, p.Engine, storage.KindBudget, "", "retries", reset)
		wantAudit(t, p.Engine, storage.KindBudget, "one", "", reset)
		wantError(t, p.Admin().ResetBreaker(t.Context(), "none"), durable.ErrNotFound)
		wantError(t, p.Admin().ResetBudget(t.Context(), "none", ""), durable.ErrNotFound)
		if events := p.saw(events.EventReset); len(events) != 3 || events[0].Name != "server" || events[0].By != ada {
			t.Errorf("got the events %+v, want three by ada", events)
		}
	})
}

// A breaker that an operator forces open refuses all attempts until it is reset,
// also if the store has not had it before.
func TestForceOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		s := careful("ping", 1, time.Second)
		s.Breaker = &breaker.Policy{Name: "server"}
		var j journal
		ping := func(run string) error { return p.run(run, oneStep(s, failing(&j, 0))) }
		ada := events.Operator{Name: "ada", Reason: "maintenance"}
		if err := p.Admin().ForceOpenBreaker(t.Context(), "server", ada); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		wantError(t, ping("one"), retry.ErrBreakerOpen)
		if err := p.Admin().ResetBreaker(t.Context(), "server", ada); err != nil {
			t.Fatal(err)
		}
		if err := ping("two"); err != nil {
			t.Errorf("after the reset: %v", err)
		}
		wantAudit(t, p.Engine, storage.KindBreaker, "", "server",
			"forced open by ada: maintenance", "reset by ada: maintenance")
		if events := p.saw(events.EventForcedOpen); len(events) != 1 || events[0].Name != "server" || events[0].By != ada {
			t.Errorf("got the events %+v, want one by ada", events)
		}
	})
}
