package recovery_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/retrygen/retrygen/contrib/recovery"
	retry "github.com/retrygen/retrygen/runtime"
)

// A step times out, and the next run continues the work.
func Example() {
	base, err := os.MkdirTemp("", "run")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(base)

	r := &recovery.Recorder{Base: base, Run: "abc123", Flow: "build"}
	r.Checkpoint("plan")
	ctx := r.Begin(context.Background(), recovery.Step{
		ID: "implement",
		Transcript: func(_ context.Context, w io.Writer) error {
			_, err := fmt.Fprintln(w, `{"role": "assistant", "content": "Working on"}`)
			return err
		},
	})
	// Generated code contains a policy like this for a scope with capture: true.
	policy := retry.Policy{
		Name: "step", Schedule: retry.Schedule{MaxAttempts: 1}, Timeout: time.Millisecond, Scope: "step", Capture: true,
	}
	_, err = retry.Do(ctx, &policy, func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	fmt.Println(err)

	// The next run.
	receipt, err := recovery.Latest(base, "build")
	if err != nil {
		panic(err)
	}
	fmt.Println(receipt.State.StepID, receipt.Timeout.TimeoutMS, receipt.Context.Transcript)
	next := recovery.Resume(receipt.Event)
	steps, err := recovery.StepsAfter([]string{"plan", "implement", "review"}, next.ResumeFrom)
	fmt.Println(next.Options, steps, err)
	// Output:
	// context deadline exceeded
	// implement 1 RUN_BASE/build/llm/implement-partial.jsonl
	// [] [implement review] <nil>
}
