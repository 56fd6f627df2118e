package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/job"
)

func Example() {
	ctx := context.Background()
	engine, err := durable.New(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)
	charge := retry.Policy{Name: "charge", RetryUnknown: true,
		Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Millisecond}}

	attempts := 0
	settle := func(ctx context.Context) (string, error) {
		return durable.Step(ctx, "charge", &charge, func(ctx context.Context) (string, error) {
			if attempts++; attempts < 3 {
				return "", errors.New("connection refused")
			}
			return "receipt 17", nil
		})
	}
	for range 2 { // the second one returns what is recorded
		receipt, err := durable.Run(ctx, engine, "settle-2026-11-22", settle)
		fmt.Println(receipt, err, attempts)
	}
	for a := range engine.Admin().Attempts(ctx, "settle-2026-11-22", "charge") {
		fmt.Println(a.Attempt, a.Outcome, a.Class, a.Wait)
	}
	// Output:
	// receipt 17 <nil> 3
	// receipt 17 <nil> 3
	// 1 failed network 1ms
	// 2 failed network 2ms
	// 3 succeeded  0s
}

func ExampleScope() {
	ctx := context.Background()
	engine, err := durable.New(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)
	err = engine.Run(ctx, "import", func(ctx context.Context) error {
		for page := range 3 {
			ctx := durable.Scope(ctx, fmt.Sprint("page-", page))
			_, err := durable.Step(ctx, "fetch", nil, func(context.Context) (int, error) { return page, nil })
			if err != nil {
				return err
			}
		}
		return nil
	})
	for step := range engine.Admin().Steps(ctx, admin.Filter{Run: "import"}) {
		fmt.Println(step.Step, step.Status)
	}
	fmt.Println(err)
	// Output:
	// page-0:fetch succeeded
	// page-1:fetch succeeded
	// page-2:fetch succeeded
	// <nil>
}

func ExampleClient_RequeueDead() {
	ctx := context.Background()
	engine, err := durable.New(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)
	charge := genapi.StepPolicy{
		Name: "charge", OnExhausted: genapi.ExhaustedDeadLetter,
		Policy: &retry.Policy{Name: "charge", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 1}},
	}
	failures := map[string]error{"o1": errors.New("connection refused"), "o2": errors.New("validation: no such account")}
	settle := func(ctx context.Context) error {
		for _, order := range []string{"o1", "o2"} {
			// A dead letter's error is ignored, so the run succeeds.
			_, _ = genapi.Call(ctx, &charge, genapi.ID(order), genapi.Digest{}, func(context.Context) (bool, error) {
				return true, failures[order]
			})
		}
		return nil
	}
	fmt.Println(engine.Run(ctx, "settle", settle))
	for s := range engine.Admin().Steps(ctx, admin.Filter{DeadLetter: true}) {
		fmt.Println(s.Step, s.Status, s.Eligibility)
	}

	failures["o1"] = nil // the network is back
	may := admin.Filter{Eligibility: admin.EligibleReprocess}
	for r, err := range engine.Admin().RequeueDead(ctx, may, admin.RequeueBy(admin.By("ada", "the network is back"))) {
		fmt.Println("requeued", r.Letter.Step, r.Err, err)
	}
	fmt.Println(engine.Run(ctx, "settle", settle))
	for a := range engine.Admin().Attempts(ctx, "settle", "charge/o1") {
		fmt.Printf("%d %s %q\n", a.Attempt, a.Outcome, a.By)
	}
	// Output:
	// <nil>
	// charge/o1 dead letter reprocess
	// charge/o2 dead letter review
	// requeued charge/o1 <nil> <nil>
	// <nil>
	// 1 failed ""
	// 1 requeued "ada: the network is back"
	// 2 succeeded ""
}

// When a group is called again, here because the run returned an error, it executes the
// units that have not ended. Unit errors are recorded.
func ExampleGroup() {
	engine, err := durable.New(memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer engine.Close(ctx)
	imports := job.GroupPolicy{Name: "import", Workers: 1, OnUnitFailure: job.FailureDeadLetter}
	for range 2 {
		err := engine.Run(ctx, "import-7", func(ctx context.Context) error {
			out, err := durable.Group(ctx, job.NewGroup(imports, "7"), []string{"east", "west"},
				func(ctx context.Context, shard string) (int, error) {
					fmt.Println("copying", shard)
					if shard == "west" {
						return 0, errors.New("no such shard")
					}
					return len(shard), nil
				}, nil)
			if err != nil {
				return err
			}
			fmt.Println(out.Decision, out.Results, out.Errors)
			return errors.New("the report was not written")
		})
		fmt.Println(err)
	}
	// Output:
	// copying east
	// copying west
	// all_dcs_reported map[east:4] map[west:unit west of group import: no such shard]
	// the report was not written
	// all_dcs_reported map[east:4] map[west:unit west of group import: no such shard]
	// the report was not written
}

func ExampleWait() {
	ctx := context.Background()
	engine, err := durable.New(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)
	refund := func(ctx context.Context) error {
		approved, err := durable.Wait[bool](ctx, "approve", 24*time.Hour)
		if errors.Is(err, durable.ErrNoSignal) {
			approved, err = false, nil // nobody has decided
		}
		if err != nil {
			return err
		}
		fmt.Println("approved:", approved)
		return nil
	}
	err = engine.Run(ctx, "refund-17", refund)
	_, parked := errors.AsType[*durable.ParkedError](err)
	fmt.Println("parked:", parked)

	if err := engine.Admin().Signal(ctx, "refund-17", "approve", true, admin.By("ada", "damaged on arrival")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(engine.Run(ctx, "refund-17", refund))
	// Output:
	// parked: true
	// approved: true
	// <nil>
}

func ExampleSleep() {
	ctx := context.Background()
	engine, err := durable.New(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)
	remind := func(ctx context.Context) error {
		if err := durable.Sleep(ctx, "grace period", 10*time.Millisecond); err != nil {
			return err
		}
		fmt.Println("reminded")
		return nil
	}
	fmt.Println(engine.Run(ctx, "reminder-17", remind))
	for step := range engine.Admin().Steps(ctx, admin.Filter{Run: "reminder-17"}) {
		fmt.Println(step.Step, step.Status, step.Pause)
	}
	// Output:
	// reminded
	// <nil>
	// grace period succeeded sleep
}
