package budget_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/budget"
)

var policyRead = retry.Policy{
	Name:     "read",
	Schedule: retry.Schedule{MaxAttempts: 4, InitialDelay: time.Millisecond},
	RetryOn:  []retry.Class{retry.ClassTransient},
}

func read(context.Context) (string, error) { return "", errors.New("connection refused") }

// Retries are limited to a share of the successes, so they stop when everything fails.
func ExampleBudget() {
	limit := budget.New(budget.Policy{Name: "client", Ratio: 0.1, MinPerSecond: budget.NoRefill, Burst: 4})
	for range 3 {
		_, err := retry.DoWith(context.Background(), &policyRead, retry.Shared{Budget: limit}, read)
		fmt.Println(err, limit.Left())
	}
	// Output:
	// read: attempts exhausted after 4 attempts and 7ms of waiting: connection refused 1
	// read: retry budget exhausted after 2 attempts and 1ms of waiting: connection refused 0
	// read: retry budget exhausted after 1 attempt and 0s of waiting: connection refused 0
}
