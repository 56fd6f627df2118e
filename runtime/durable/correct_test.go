package durable_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// TestCorrectResolution: a resolution with a value of another type can be
// corrected, and nothing is executed again.
func TestCorrectResolution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		job := func(ctx context.Context) (int, error) {
			return durable.Step(ctx, "pay", &charge, func(ctx context.Context) (int, error) {
				calls++
				cancel() // in doubt
				return 0, ctx.Err()
			})
		}
		_, _ = durable.Run(ctx, e, "one", job)
		for _, value := range []any{"receipt", 17} {
			if err := e.Admin().Resolve(t.Context(), "one", "pay", admin.Succeeded(value)); err != nil {
				t.Fatal(err)
			}
			got, err := durable.Run(t.Context(), e, "one", job)
			if value == 17 && (got != 17 || err != nil) || value != 17 && !errors.Is(err, durable.ErrResult) {
				t.Errorf("resolved with %v: %d, %v", value, got, err)
			}
		}
		resolved := 0
		for a, err := range e.Admin().Attempts(t.Context(), "one", "pay") {
			if err != nil {
				t.Fatal(err)
			}
			if a.Outcome == events.OutcomeResolved {
				resolved++
			}
		}
		if calls != 1 || resolved != 2 {
			t.Errorf("%d calls, %d resolutions in the history; want 1 and 2", calls, resolved)
		}
	})
}

// TestChangedArgumentsOfUnfinishedStep: on_changed: report reports before the
// function is called with the other arguments.
func TestChangedArgumentsOfUnfinishedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		e := newEngine(t, memory.New(), durable.OnEvent(func(_ context.Context, e events.Event) {
			if e.Step != "" {
				seen = append(seen, e.Kind.String())
			}
		}))
		s := genapi.StepPolicy{Name: "pay", Policy: &charge, OnChanged: genapi.ChangedReport}
		pay := func(ctx context.Context, cents int, err error) error {
			return e.Run(ctx, "one", func(ctx context.Context) error {
				args := genapi.Arguments("cents", cents)
				_, failed := genapi.Call(ctx, &s, genapi.ID(), args, func(context.Context) (int, error) {
					seen = append(seen, "call")
					return cents, err
				})
				return failed
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = pay(ctx, 999, errors.New("connection refused"))
		seen = nil
		if err := pay(t.Context(), 1000, nil); err != nil {
			t.Fatal(err)
		}
		want := []string{"step waiting", "arguments changed", "attempt started", "call", "step succeeded"}
		if !slices.Equal(seen[:min(len(seen), len(want))], want) {
			t.Errorf("seen %q, want %q", seen, want)
		}
	})
}

// TestResolveFailed: a step that has not taken effect, and is not to be tried
// again, returns what the operator says.
func TestResolveFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		job := func(ctx context.Context) error {
			_, err := durable.Step(ctx, "pay", &charge, func(ctx context.Context) (int, error) {
				calls++
				cancel() // in doubt
				return 0, ctx.Err()
			})
			return err
		}
		_ = e.Run(ctx, "one", job)
		if err := e.Admin().Resolve(t.Context(), "one", "pay", admin.Failed(errors.New("card refused"))); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var failed *durable.StepError
			err := e.Run(t.Context(), "one", job)
			if !errors.As(err, &failed) || failed.Reason != retry.ErrPermanent || failed.Text != "card refused" {
				t.Errorf("err = %v, want what the operator said", err)
			}
		}
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	})
}
