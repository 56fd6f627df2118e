package job_test

import (
	"context"
	"fmt"

	"github.com/retrygen/retrygen/runtime/job"
)

// Two of three units are enough.
func ExampleRun() {
	group, err := job.NewGroup(job.GroupPolicy{
		Name:       "import",
		Budget:     &job.BudgetPolicy{Retries: 10, PerUnit: 2},
		BestEffort: &job.BestEffort{MinSuccess: 2},
	}, "job-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := job.Run(context.Background(), group, []string{"east", "west", "south"}, func(ctx context.Context, unit string) (int, error) {
		if unit == "south" {
			<-ctx.Done() // never answers
			return 0, ctx.Err()
		}
		return len(unit), nil
	}, nil)
	fmt.Println(outcome.Reason, outcome.Results, err)
	// Output:
	// min_dcs_reached (2/2) map[east:4 west:4] <nil>
}
