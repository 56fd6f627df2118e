package main

import (
	"context"
	"errors"
	"fmt"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// Fetch fails.
func Fetch(context.Context) error { return errors.New("connection refused") }

func main() {
	for _, p := range Policies() {
		fmt.Println(p.Name, p.MaxAttempts)
	}
	for _, b := range DefaultShared.Breakers() {
		fmt.Println(b.Policy().Name, b.State())
		b.Observe(func(c breaker.Change) { fmt.Println(c.Breaker, c.From, c.To, c.Why) })
	}
	for range 3 {
		err := RetryFetch(context.Background())
		refusal, refused := errors.AsType[retry.Refusal](err)
		fmt.Printf("%q %v\n", refusal.Breaker, refused)
	}
	DefaultShared.PricesBreaker.Reset()
	DefaultShared.PricesBreaker.ForceOpen()
	fmt.Println(RetryFetch(context.Background()))
}
