package build

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/retrygen/retrygen/contrib/recovery"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// TestCapture: the wrappers in the scope step capture its timeouts. The wrapper in the scope
// tool does not.
func TestCapture(t *testing.T) {
	for name, c := range map[string]struct {
		call func(context.Context) error
		want []string
	}{
		"build": {RetryBuild, []string{"step build 60000 0 fail"}},
		"ask": {func(ctx context.Context) error {
			_, err := RetryAsk(ctx)
			return err
		}, []string{"step ask 10000 0 retry", "step ask 10000 1 fail"}},
		"charge": {func(ctx context.Context) error {
			e, err := durable.New(memory.New())
			if err != nil {
				return err
			}
			defer e.Close(context.Background())
			return e.Run(ctx, "run", RetryCharge)
		}, []string{"step charge 60000 0 fail"}},
		"use": {RetryUse, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := retry.WithObserver(t.Context(), func(_ context.Context, e retry.Event) {
				if e.Kind == retry.EventCapture && e.Err != nil {
					t.Error(e.Err)
				}
			})
			r := &recovery.Recorder{Base: t.TempDir(), Run: "1", Flow: "flow"}
			if c.call(r.With(ctx)) == nil {
				t.Errorf("%s succeeds", name)
			}
			rows, err := recovery.Timeouts(r.Base, r.Flow)
			var got []string
			for _, row := range rows {
				got = append(got, fmt.Sprint(row.Scope, " ", row.StepID, " ", row.TimeoutMS, " ", row.Retries, " ", row.Action))
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s: %q, error %v; want %q", name, got, err, c.want)
			}
		})
	}
}
