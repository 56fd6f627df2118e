package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

var policyRead = retry.Policy{
	Name:     "read",
	Schedule: retry.Schedule{MaxAttempts: 4, InitialDelay: time.Millisecond},
	RetryOn:  []retry.Class{retry.ClassTransient},
}

var errBusy = errors.New("connection refused")

// read fails a number of times.
func read(_ context.Context, failures *int) (string, error) {
	if *failures--; *failures >= 0 {
		return "", errBusy
	}
	return "text", nil
}

// retrygen generates this code for a policy without time limits. The first call comes
// before the loop, so that a success costs one comparison.
func Example() {
	retryRead := func(ctx context.Context, failures int) (string, error) {
		text, err := read(ctx, &failures)
		if err == nil {
			return text, nil
		}
		call := policyRead.Begin()
		for {
			if err = call.Next(ctx, err); err != nil {
				return text, err
			}
			if text, err = read(call.Attempt(ctx), &failures); err == nil {
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

// retrygen generates this code for a policy with time limits. Each attempt has its own
// context.
func ExampleCall_Attempt() {
	policy := retry.Policy{Name: "slow", Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: retry.None},
		AttemptTimeout: time.Millisecond, Timeout: time.Second}
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

// A permanent error is returned unchanged, without the mark.
func ExamplePermanent() {
	call := policyRead.Begin()
	err := call.Next(context.Background(), retry.Permanent(io.EOF))
	fmt.Println(err == io.EOF)
	// Output: true
}

// If a server asks for a wait, the call waits, provided that it has enough time.
func ExampleAfter() {
	policy := retry.Policy{Name: "fetch", DelayBudget: 10 * time.Second}
	busy := errors.New("slow down")
	call := policy.Begin()
	err := call.Next(context.Background(), retry.After(busy, 2*time.Minute))
	fmt.Println(err)
	if e, ok := errors.AsType[*retry.Error](err); ok {
		fmt.Println("again in", e.RetryAfter)
	}
	// Output:
	// fetch: retry-after too long (2m0s, 10s left of the delay budget) after 1 attempt and 0s of waiting: slow down
	// again in 2m0s
}

func ExampleWithObserver() {
	ctx := retry.WithObserver(context.Background(), func(_ context.Context, e retry.Event) {
		if e.Kind == retry.EventStop {
			fmt.Println("stops:", e.Reason)
			return
		}
		fmt.Println("attempt", e.Attempt, "failed:", e.Err, "- waiting", e.Wait)
	})
	call := policyRead.Begin()
	for call.Next(ctx, errBusy) == nil {
		// Here the attempt is made, and fails again.
	}
	// Output:
	// attempt 1 failed: connection refused - waiting 1ms
	// attempt 2 failed: connection refused - waiting 2ms
	// attempt 3 failed: connection refused - waiting 4ms
	// stops: attempts exhausted
}

// Bounds returns the delay before each retry, and the smallest and largest delay with
// jitter.
func ExampleSchedule_Bounds() {
	schedule := retry.Schedule{InitialDelay: time.Second, MaxDelay: 3 * time.Second, Jitter: retry.JitterProportional}
	for k := 1; k <= 3; k++ {
		fmt.Println(schedule.Bounds(k, 0))
	}
	// Output:
	// 700ms 1s 1.3s
	// 1.4s 2s 2.6s
	// 2.1s 3s 3s
}

func ExamplePolicy_Retries() {
	policy := retry.Policy{RetryOn: []retry.Class{retry.ClassNetwork}}
	fmt.Println(policy.Retries(errBusy), policy.Retries(errors.New("no such user")))
	// Output: true false
}

// A policy can be written as a literal, without the generator.
func ExampleDo() {
	policy := retry.Policy{Name: "read",
		Schedule: retry.Schedule{MaxAttempts: 5, InitialDelay: time.Millisecond, Jitter: retry.JitterFull}}
	failures := 2
	text, err := retry.Do(context.Background(), &policy, func(ctx context.Context) (string, error) {
		fmt.Println("attempt", retry.AttemptNumber(ctx))
		return read(ctx, &failures)
	})
	fmt.Println(text, err)
	// Output:
	// attempt 1
	// attempt 2
	// attempt 3
	// text <nil>
}

// A hand-written loop can follow a policy.
func ExamplePolicy_Attempts() {
	failures := 1
	var text string
	var err error
	for attempt := range policyRead.Attempts(context.Background()) {
		text, err = read(attempt.Context(), &failures)
		fmt.Println("attempt", attempt.Number(), err)
		err = attempt.Done(err)
	}
	fmt.Println(text, err)
	// Output:
	// attempt 1 connection refused
	// attempt 2 <nil>
	// text <nil>
}

// If the breaker refuses the first attempt, the loop receives the error.
func ExamplePolicy_AttemptsWith() {
	b := breaker.New(breaker.Policy{Name: "upstream"})
	send := func() (err error) {
		for attempt, refused := range policyRead.AttemptsWith(context.Background(), retry.Shared{Breaker: b}) {
			if refused != nil {
				return refused
			}
			fmt.Println("attempt", attempt.Number())
			err = attempt.Done(nil)
		}
		return err
	}
	fmt.Println(send())
	b.ForceOpen()
	fmt.Println(send())
	// Output:
	// attempt 1
	// <nil>
	// read: breaker upstream was forced open and admits no call until Reset
}

// A caller that has no time for retries turns them off.
func ExampleWithoutRetries() {
	failures := 1
	_, err := retry.Do(retry.WithoutRetries(context.Background()), &policyRead,
		func(ctx context.Context) (string, error) { return read(ctx, &failures) })
	fmt.Println(err)
	// Output:
	// connection refused
}

// A policy can classify errors by status, type and text, and can give some of them their
// own schedule.
func ExampleErrorClass() {
	policy := retry.Policy{
		Name:    "read",
		RetryOn: []retry.Class{retry.ClassTransient, "busy"},
		Classes: []retry.ErrorClass{
			{Class: "busy", HTTP: [][2]int{{409, 409}, {425, 425}}},
			{Class: "gone", Is: []error{io.ErrClosedPipe}, Action: retry.ActionFail},
		},
		PerError: []retry.Override{{Class: retry.ClassRateLimit,
			Schedule: retry.Schedule{MaxAttempts: 6, Jitter: retry.JitterFull}}},
	}
	for _, err := range []error{conflict{}, io.ErrClosedPipe, errors.New("no such user")} {
		fmt.Println(err, policy.Retries(err))
	}
	// Output:
	// conflict true
	// io: read/write on closed pipe false
	// no such user false
}

type conflict struct{}

func (conflict) Error() string   { return "conflict" }
func (conflict) StatusCode() int { return 409 }

// All attempts of a call have the same key, so a server can do the work for each key only
// once.
func ExampleEnsureIdempotencyKey() {
	ctx := retry.EnsureIdempotencyKey(context.Background())
	keys := map[string]bool{}
	failures := 2
	_, err := retry.Do(ctx, &policyRead, func(ctx context.Context) (string, error) {
		keys[retry.IdempotencyKey(ctx)] = true
		return read(ctx, &failures)
	})
	fmt.Println(len(keys), err)
	// Output:
	// 1 <nil>
}
