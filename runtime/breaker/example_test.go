package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

var policyRead = retry.Policy{
	Name:     "read",
	Schedule: retry.Schedule{MaxAttempts: 4, InitialDelay: time.Millisecond},
	RetryOn:  []retry.Class{retry.ClassTransient},
}

func read(context.Context) (string, error) { return "", errors.New("connection refused") }

// After three failures in a row, the breaker opens and refuses calls at once.
func ExampleBreaker() {
	b := breaker.New(breaker.Policy{Name: "upstream", Failures: 3})
	call := func() error {
		_, err := retry.DoWith(context.Background(), &policyRead, retry.Shared{Breaker: b}, read)
		return err
	}
	fmt.Println(call())
	fmt.Println(b.State())
	fmt.Println(call())
	// Output:
	// read: breaker upstream is open and admits calls again in 30s after 3 attempts and 3ms of waiting: connection refused
	// open
	// read: breaker upstream is open and admits calls again in 30s
}

// Code without retries can call the breaker directly.
func ExampleBreaker_Admit() {
	b := breaker.New(breaker.Policy{Name: "upstream", Failures: 2})
	for range 3 {
		permit, ok := b.Admit()
		if !ok {
			fmt.Println("refused")
			continue
		}
		_, err := read(context.Background())
		sample := breaker.Success
		if err != nil {
			sample = breaker.Failure
		}
		b.Record(permit, sample)
		fmt.Println(b.State())
	}
	// Output:
	// closed
	// open
	// refused
}

// An observer of a breaker learns when it opens and closes, and why.
func ExampleBreaker_Observe() {
	b := breaker.New(breaker.Policy{Name: "upstream"})
	b.Observe(func(c breaker.Change) { fmt.Printf("%s: %v, was %v: %s\n", c.Breaker, c.To, c.From, c.Why) })
	b.ForceOpen()
	b.Reset()
	// Output:
	// upstream: forced-open, was closed: forced open
	// upstream: closed, was forced-open: reset
}
