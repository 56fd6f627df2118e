package promretry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

const wantState = `
# HELP retry_durable_due_runs Runs that are due and that nobody executes.
# TYPE retry_durable_due_runs gauge
retry_durable_due_runs 2
# HELP retry_durable_oldest_due_seconds How long the oldest run that nobody executes has been due.
# TYPE retry_durable_oldest_due_seconds gauge
retry_durable_oldest_due_seconds 90
# HELP retry_durable_paused_runs Runs that wait for a person.
# TYPE retry_durable_paused_runs gauge
retry_durable_paused_runs 1
# HELP retry_durable_runs Runs, by status.
# TYPE retry_durable_runs gauge
retry_durable_runs{status="open"} 3
retry_durable_runs{status="paused"} 1
retry_durable_runs{status="succeeded"} 1
# HELP retry_durable_state_read_seconds How long the last read of the store took.
# TYPE retry_durable_state_read_seconds gauge
retry_durable_state_read_seconds 0
# HELP retry_durable_state_truncated Whether the limit of records was reached.
# TYPE retry_durable_state_truncated gauge
retry_durable_state_truncated{of="due_runs"} 0
retry_durable_state_truncated{of="paused_runs"} 0
retry_durable_state_truncated{of="runs"} 0
retry_durable_state_truncated{of="steps"} 0
# HELP retry_durable_state_up Whether the last read of the store has succeeded.
# TYPE retry_durable_state_up gauge
retry_durable_state_up 1
# HELP retry_durable_steps Steps that are unfinished, in doubt, paused, or dead letters, by status.
# TYPE retry_durable_steps gauge
retry_durable_steps{status="dead letter"} 1
retry_durable_steps{status="executing"} 0
retry_durable_steps{status="in doubt"} 0
retry_durable_steps{status="paused"} 1
retry_durable_steps{status="waiting"} 0
`

// fill makes a run that has succeeded with a dead letter, one that is paused, two
// that have been due for a minute and more, and one that is due later.
func fill(t *testing.T, e *durable.Engine) {
	t.Helper()
	once := &retry.Policy{Name: "once", Schedule: retry.Schedule{MaxAttempts: 1}}
	for run, on := range map[string]genapi.OnExhausted{
		"dead": genapi.ExhaustedDeadLetter, "paused": genapi.ExhaustedPause,
	} {
		s := genapi.StepPolicy{Name: "ping", Policy: once, OnExhausted: on}
		_ = e.Run(t.Context(), run, func(ctx context.Context) error {
			_, _ = genapi.Call(ctx, &s, genapi.ID(), genapi.Arguments(), func(context.Context) (int, error) {
				return 0, errors.New("connection refused")
			})
			return nil
		})
	}
	durable.Handle(e, "work", func(context.Context, int) (int, error) { return 0, nil })
	for i, at := range []time.Duration{0, 30 * time.Second, time.Hour} {
		err := durable.Start(t.Context(), e, "work", fmt.Sprint(i), 0, durable.StartAt(time.Now().Add(at)))
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(90 * time.Second)
}

func TestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := durable.New(memory.New())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(t.Context())
		fill(t, e)
		s := NewState(e, StateOptions{Runs: true})
		for range 2 { // the second time without a read
			if err := testutil.CollectAndCompare(s, strings.NewReader(wantState)); err != nil {
				t.Error(err)
			}
			time.Sleep(29 * time.Second)
		}
		// 58 seconds after the first read.
		if problems, err := testutil.CollectAndLint(s); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		later := strings.NewReader(`
# HELP retry_durable_oldest_due_seconds How long the oldest run that nobody executes has been due.
# TYPE retry_durable_oldest_due_seconds gauge
retry_durable_oldest_due_seconds 148
`)
		if err := testutil.CollectAndCompare(s, later, "retry_durable_oldest_due_seconds"); err != nil {
			t.Error(err)
		}
	})
}

// A read stops at the limit, and its number of runs would be wrong.
func TestStateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := durable.New(memory.New())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(t.Context())
		fill(t, e)
		const want = `
# HELP retry_durable_due_runs Runs that are due and that nobody executes.
# TYPE retry_durable_due_runs gauge
retry_durable_due_runs 1
# HELP retry_durable_state_truncated Whether the limit of records was reached.
# TYPE retry_durable_state_truncated gauge
retry_durable_state_truncated{of="due_runs"} 1
retry_durable_state_truncated{of="paused_runs"} 0
retry_durable_state_truncated{of="runs"} 1
retry_durable_state_truncated{of="steps"} 1
`
		names := []string{"retry_durable_due_runs", "retry_durable_state_truncated", "retry_durable_runs"}
		s := NewState(e, StateOptions{Limit: 1, Runs: true})
		if err := testutil.CollectAndCompare(s, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	})
}

// broken is a store that does not answer.
type broken struct{ storage.Store }

func (broken) List(context.Context, storage.Query) ([]storage.Record, storage.Cursor, error) {
	return nil, "", storage.ErrStore
}

func TestStateOfBrokenStore(t *testing.T) {
	e, err := durable.New(broken{memory.New()})
	if err != nil {
		t.Fatal(err)
	}
	const want = `
# HELP retry_durable_state_up Whether the last read of the store has succeeded.
# TYPE retry_durable_state_up gauge
retry_durable_state_up 0
`
	s := NewState(e, StateOptions{})
	if err := testutil.CollectAndCompare(s, strings.NewReader(want), "retry_durable_state_up"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(s); n != 2 {
		t.Errorf("%d gauges of a store that does not answer, want 2", n)
	}
}
