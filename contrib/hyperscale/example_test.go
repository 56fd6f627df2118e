package hyperscale_test

import (
	"fmt"

	"github.com/retrygen/retrygen/contrib/hyperscale"
	"github.com/retrygen/retrygen/runtime/job"
)

// The environment changes the limits of a policy, and a job asks for its own.
func ExampleBudget() {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"RETRY_BUDGET_MAX": "30"}[name]
		return value, ok
	}
	limits, err := hyperscale.Budget(job.BudgetPolicy{Retries: 20}, env) // usually os.LookupEnv
	if err != nil {
		fmt.Println(err)
		return
	}
	budget := job.NewBudget(limits.Request(80, 2))
	fmt.Println(budget.Policy().Retries, budget.Policy().PerUnit, budget.Clamped())
	// Output:
	// 30 2 retries 80 is clamped to 30
}
