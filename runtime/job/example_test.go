package job_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/job"
)

// Two of three units are enough.
func ExampleRun() {
	group := job.NewGroup(job.GroupPolicy{Name: "import", BestEffort: &job.BestEffort{MinSuccess: 2}}, "job-1")
	outcome, err := job.Run(context.Background(), group, []string{"east", "west", "south"},
		func(ctx context.Context, unit string) (int, error) {
			if unit == "south" {
				<-ctx.Done() // never answers
				return 0, ctx.Err()
			}
			return len(unit), nil
		}, nil)
	fmt.Println(outcome.Decision, outcome.Results, err)
	// Output:
	// min_dcs_reached (2/2) map[east:4 west:4] <nil>
}

// The third failure stops the group: nothing starts after it.
func ExampleRun_errorPolicy() {
	group := job.NewGroup(job.GroupPolicy{
		Name: "import", Workers: 1, OnUnitFailure: job.FailureDeadLetter, MaxFailures: 3,
	}, "job-1")
	outcome, err := job.Run(context.Background(), group, []string{"a", "b", "c", "d", "e", "f"},
		func(ctx context.Context, unit string) (int, error) {
			if unit == "b" {
				return 1, nil
			}
			return 0, fmt.Errorf("no connection")
		}, nil)
	fmt.Println(outcome.Decision, outcome.Success, outcome.Results, err)
	for _, letter := range outcome.DeadLetters {
		fmt.Println(letter.Unit, letter.Err)
	}
	// Output:
	// max_failures_reached (3/3) false map[b:1] <nil>
	// a no connection
	// c no connection
	// d no connection
}

// A unit that has used up its retries fails; the others continue.
func ExampleGroup_Unit() {
	group := job.NewGroup(job.GroupPolicy{Name: "import", Budget: &job.BudgetPolicy{Retries: 10, PerUnit: 2}}, "job-1")
	group.Observe(job.Log(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))))
	policy := retry.Policy{Name: "load", RetryUnknown: true,
		Schedule: retry.Schedule{MaxAttempts: 5, InitialDelay: retry.None}}
	_, err := retry.DoWith(context.Background(), &policy, retry.Shared{Budget: group.Unit("east")},
		func(context.Context) (int, error) {
			return 0, fmt.Errorf("connection refused")
		})
	fmt.Println(err)
	// Output:
	// level=WARN msg=RetryBudgetExhausted group=import job_id=job-1 reason="workflow_budget_exhausted (2/2)" unit=east
	// load: job budget exhausted after 3 attempts and 0s of waiting: connection refused
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
