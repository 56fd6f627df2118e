package durable_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// The bank accepts five requests at a time and 100 a minute, from all workers together.
func ExampleConcurrency() {
	ctx, stop := context.WithCancel(context.Background())
	engine, err := durable.New(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(context.Background())
	durable.Handle(engine, "charge", func(_ context.Context, order string) (string, error) {
		defer stop()
		return "charged " + order, nil
	}, durable.Concurrency(5), durable.StartRate(100, time.Minute, 10))
	if err := durable.Start(ctx, engine, "charge", "charge-42", "order 42"); err != nil {
		log.Fatal(err)
	}
	if err := engine.Work(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(durable.Await[string](context.Background(), engine, "charge-42"))
	// Output: charged order 42 <nil>
}
