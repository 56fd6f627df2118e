package job

import (
	"strings"
	"testing"
)

func TestBudgetEnvironment(t *testing.T) {
	t.Setenv("RETRY_BUDGET_DEFAULT", "7")
	t.Setenv("RETRY_BUDGET_PER_WORKFLOW_MAX", "2")
	b, err := NewBudget(BudgetPolicy{}, 0, 9)
	if err != nil || b.Policy().Retries != 7 || b.Policy().PerUnit != 2 || b.Clamped() != "per_unit 9 is clamped to 2" {
		t.Errorf("got %+v, %q, %v", b.Policy(), b.Clamped(), err)
	}
	t.Setenv("RETRY_BUDGET_MAX", "many")
	if _, err := NewBudget(BudgetPolicy{}, 0, 0); err == nil || !strings.Contains(err.Error(), "RETRY_BUDGET_MAX") {
		t.Errorf("got %v", err)
	}
	t.Setenv("RETRY_BUDGET_MAX", "")
	if b, _ := NewBudget(BudgetPolicy{Retries: NoRetries}, 5, 5); b.Unit("a").Withdraw() == nil || b.Clamped() != "retries 5 is clamped to 0; per_unit 5 is clamped to 0" {
		t.Errorf("got %+v, clamped: %s", b.Policy(), b.Clamped())
	}
	if b, _ := NewBudget(BudgetPolicy{PerUnit: NoRetries}, 5, 5); b.Unit("a").Withdraw() == nil || b.Clamped() != "per_unit 5 is clamped to 0" {
		t.Errorf("got %+v, clamped: %s", b.Policy(), b.Clamped())
	}
	if b, _ := NewBudget(BudgetPolicy{Retries: NoRetries}, 0, 0); b.Unit("a").Withdraw() == nil {
		t.Error("none allows a retry")
	}
}
