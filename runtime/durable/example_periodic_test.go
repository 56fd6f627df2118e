package durable_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// Each worker in a program registers the same schedule. For a cron expression, use
// cron.ParseStandard("0 6 * * *") from github.com/robfig/cron/v3.
func ExamplePeriodic() {
	ctx, stop := context.WithCancel(context.Background())
	engine, err := durable.New(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(context.Background())
	durable.Handle(engine, "report", func(_ context.Context, period time.Time) (string, error) {
		defer stop()
		fmt.Println("the period begins on the second:", period.Equal(period.Truncate(time.Second)))
		return "sent", nil
	})
	durable.Periodic(engine, "report", durable.Every(time.Second), func(period time.Time) time.Time { return period },
		durable.CatchUp(1),         // after a time without workers, the latest period that was missed
		durable.NoOverlap(),        // never two reports at once
		durable.Timeout(time.Hour)) // of each run
	fmt.Println(engine.Work(ctx, durable.Poll(10*time.Millisecond)))
	// Output:
	// the period begins on the second: true
	// <nil>
}
