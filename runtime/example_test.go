package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

var policyRead = retry.Policy{
	Name:         "read",
	MaxAttempts:  4,
	InitialDelay: time.Millisecond,
	RetryOn:      []retry.Class{retry.Transient},
}

var errBusy = errors.New("connection refused")

// read fails a number of times.
func read(_ context.Context, failures *int) (string, error) {
	if *failures--; *failures >= 0 {
		return "", errBusy
	}
	return "text", nil
}

// What retrygen generates for a policy without time limits: the first call is
// peeled off the loop, so that a success costs one comparison.
func Example() {
	retryRead := func(ctx context.Context, failures int) (string, error) {
		text, err := read(ctx, &failures)
		if err == nil {
			return text, nil
		}
		for call := policyRead.Begin(); ; {
			if err = call.Next(ctx, err); err != nil {
				return text, err
			}
			if text, err = read(ctx, &failures); err == nil {
				return text, nil
			}
		}
	}
	fmt.Println(retryRead(context.Background(), 3))

	_, err := retryRead(context.Background(), 4)
	fmt.Println(err)
	fmt.Println(errors.Is(err, errBusy), errors.Is(err, retry.ErrAttempts))
	// Output:
	// text <nil>
	// read: attempts exhausted after 4 attempts and 7ms of waiting: connection refused
	// true true
}

// What retrygen generates for a policy with time limits: each attempt has a
// context of its own.
func ExampleCall_Attempt() {
	policy := retry.Policy{Name: "slow", MaxAttempts: 2, InitialDelay: retry.None, AttemptTimeout: time.Millisecond, Timeout: time.Second}
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		fmt.Println(context.Cause(ctx))
		return ctx.Err()
	}
	retryWait := func(ctx context.Context) error {
		call := policy.Begin()
		defer call.End()
		for {
			err := wait(call.Attempt(ctx))
			if err == nil {
				return nil
			}
			if err = call.Next(ctx, err); err != nil {
				return err
			}
		}
	}
	fmt.Println(retryWait(context.Background()))
	// Output:
	// attempt timeout exceeded
	// attempt timeout exceeded
	// slow: attempts exhausted after 2 attempts and 0s of waiting: context deadline exceeded
}

// A permanent error comes back as it is, without the mark.
func ExamplePermanent() {
	call := policyRead.Begin()
	err := call.Next(context.Background(), retry.Permanent(io.EOF))
	fmt.Println(err == io.EOF)
	// Output: true
}

// A server that says when to come back is waited for, if the call has the time.
func ExampleAfter() {
	policy := retry.Policy{Name: "fetch", DelayBudget: 10 * time.Second}
	busy := errors.New("429 Too Many Requests")
	call := policy.Begin()
	err := call.Next(context.Background(), retry.After(busy, retry.ParseRetryAfter("120", time.Now())))
	fmt.Println(err)
	if e, ok := retry.AsError(err); ok {
		fmt.Println("again in", e.RetryAfter)
	}
	// Output:
	// fetch: retry-after too long after 1 attempt and 0s of waiting: 429 Too Many Requests
	// again in 2m0s
}

func ExampleWithObserver() {
	ctx := retry.WithObserver(context.Background(), func(e retry.Event) {
		if e.Reason != "" {
			fmt.Println("gives up:", e.Reason)
			return
		}
		fmt.Println("attempt", e.Attempt, "failed:", e.Err, "- waiting", e.Delay)
	})
	call := policyRead.Begin()
	for call.Next(ctx, errBusy) == nil {
		// Here the attempt is made, and fails again.
	}
	// Output:
	// attempt 1 failed: connection refused - waiting 1ms
	// attempt 2 failed: connection refused - waiting 2ms
	// attempt 3 failed: connection refused - waiting 4ms
	// gives up: attempts exhausted
}

// The delay before each retry, with what jitter makes of it at least and at
// most.
func ExamplePolicy_DelayBounds() {
	policy := retry.Policy{InitialDelay: time.Second, MaxDelay: 3 * time.Second, Jitter: retry.Proportional}
	for k := 1; k <= 3; k++ {
		least, greatest := policy.DelayBounds(k)
		fmt.Println(k, least, policy.BaseDelay(k), greatest)
	}
	// Output:
	// 1 700ms 1s 1.3s
	// 2 1.4s 2s 2.6s
	// 3 2.1s 3s 3s
}

func ExamplePolicy_Classify() {
	policy := retry.Policy{RetryOn: []retry.Class{retry.Network}}
	retried, belongs := policy.Classify(errBusy, retry.Network, retry.Timeout)
	fmt.Println(retried, belongs)
	// Output: true [true false]
}
