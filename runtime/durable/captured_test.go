package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/contrib/recovery"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// capturing returns the policy of a step whose timeouts are captured.
func capturing(attempts int, attempt, call time.Duration) *genapi.StepPolicy {
	s := idempotent("build", attempts, time.Second)
	s.Policy.AttemptTimeout, s.Policy.Timeout, s.Policy.Scope, s.Policy.Capture = attempt, call, "step", true
	return s
}

// hang returns when its context ends.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestCaptured: the timeouts that are captured during an attempt are in the
// history of the step, as in the file: those of the step, and of calls within it.
func TestCaptured(t *testing.T) {
	ask := &retry.Policy{
		Name: "ask", Schedule: retry.Schedule{MaxAttempts: 1}, Timeout: 5 * time.Second, Scope: "llm_call", Capture: true,
		Nested: true,
	}
	succeedsSecond := func(ctx context.Context) error {
		_, err := retry.Do(ctx, ask, func(ctx context.Context) (int, error) { return 0, hang(ctx) })
		if info, _ := durable.Current(ctx); info.Attempt == 1 {
			return err
		}
		return nil
	}
	retryLoss := func(s *genapi.StepPolicy, o genapi.OnLost) *genapi.StepPolicy {
		s.OnLost = o
		return s
	}
	exhausted := func(s *genapi.StepPolicy, o genapi.OnExhausted) *genapi.StepPolicy {
		s.OnExhausted = o
		return s
	}
	minute := time.Minute
	for _, c := range []struct {
		name   string
		policy *genapi.StepPolicy
		limit  time.Duration // of the caller, or 0
		op     func(context.Context) error
		want   []string // attempt, outcome, scope, limit, elapsed, retries and action
	}{
		{"attempts", capturing(2, minute, time.Hour), 0, hang, []string{
			"1 timed_out step 60000 60000 0 retry", "2 timed_out step 60000 60000 1 fail",
		}},
		{"the call", capturing(9, 0, minute), 0, hang, []string{"1 timed_out step 60000 60000 0 fail"}},
		{"escalated", exhausted(capturing(9, 0, minute), genapi.ExhaustedEscalate), 0, hang, []string{
			"1 timed_out step 60000 60000 0 escalate",
		}},
		{"paused", exhausted(capturing(9, 0, minute), genapi.ExhaustedPause), 0, hang, []string{
			"1 timed_out step 60000 60000 0 escalate",
		}},
		{"calls within a step", capturing(3, 0, time.Hour), 0, succeedsSecond, []string{
			"1 failed llm_call 5000 5000 0 fail", "2 succeeded llm_call 5000 5000 0 fail",
		}},
		{"the caller's deadline", capturing(3, 0, time.Hour), minute, hang, []string{
			"1 interrupted step 60000 60000 0 retry",
		}},
		{"in doubt", retryLoss(capturing(3, 0, time.Hour), genapi.OnLostPause), minute, hang, []string{
			"1 interrupted step 60000 60000 0 escalate",
		}},
		{"failed by a loss", retryLoss(capturing(3, 0, time.Hour), genapi.OnLostFail), minute, hang, []string{
			"1 interrupted step 60000 60000 0 fail",
		}},
		{"errors", capturing(2, 0, time.Hour), 0, func(context.Context) error { return errors.New("busy") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProcess(t, memory.New())
				r := &recovery.Recorder{Base: t.TempDir(), Run: "one", Flow: "build"}
				ctx := r.With(p.ctx)
				if c.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.limit)
					defer cancel()
				}
				_ = p.Run(ctx, "one", oneStep(c.policy, func(ctx context.Context) (int, error) { return 0, c.op(ctx) }))
				var history []recovery.Row
				var texts []string
				for _, a := range p.captured(t) {
					rows, err := recovery.ParseRows([]byte(a.Timeouts))
					if err != nil {
						t.Fatal(err)
					}
					history = append(history, rows...)
					for _, row := range rows {
						texts = append(texts, fmt.Sprint(a.Attempt, " ", a.Outcome, " ", row.Scope, " ", row.TimeoutMS, " ",
							row.ElapsedMS, " ", row.Retries, " ", row.Action))
					}
				}
				if !slices.Equal(texts, c.want) {
					t.Errorf("got %q, want %q", texts, c.want)
				}
				if file, err := recovery.Timeouts(r.Base, r.Flow); err != nil || !slices.Equal(file, history) {
					t.Errorf("the file has %+v, error %v; the history has %+v", file, err, history)
				}
			})
		})
	}
}

// captured returns the attempts of the history, by number.
func (p *process) captured(t *testing.T) (all []admin.AttemptInfo) {
	t.Helper()
	for a, err := range p.Admin().History(t.Context(), admin.Filter{Run: "one"}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// TestCapturedBeforeDeath: a process that dies while it captures leaves the receipt
// to the next one, which repeats the attempt.
func TestCapturedBeforeDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		r := &recovery.Recorder{Base: t.TempDir(), Flow: "build"}
		p := startProcess(t, s)
		ctx := r.Begin(p.ctx, recovery.Step{ID: "build", Flush: func(context.Context) error {
			p.kill()
			return nil
		}})
		policy := capturing(2, time.Minute, time.Hour)
		err := p.Run(ctx, "one", oneStep(policy, func(ctx context.Context) (int, error) { return 0, hang(ctx) }))
		if err == nil {
			t.Fatal("the run of a process that died succeeds")
		}
		receipt, err := recovery.Latest(r.Base, r.Flow)
		if err != nil || receipt == nil || receipt.State.StepID != "build" {
			t.Fatalf("receipt %+v, error %v", receipt, err)
		}
		p = startProcess(t, s)
		if err := p.run("one", oneStep(policy, func(context.Context) (int, error) { return 7, nil })); err != nil {
			t.Error(err)
		}
		var outcomes []events.Outcome
		for _, a := range p.captured(t) {
			outcomes = append(outcomes, a.Outcome)
		}
		if want := []events.Outcome{events.OutcomeLost, events.OutcomeSucceeded}; !slices.Equal(outcomes, want) {
			t.Errorf("outcomes %v, want %v", outcomes, want)
		}
	})
}

// TestManyCaptured: the history keeps the first of many timeouts.
func TestManyCaptured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		r := &recovery.Recorder{Base: t.TempDir(), Flow: "build"}
		err := p.Run(p.ctx, "one", oneStep(capturing(1, 0, time.Hour), func(ctx context.Context) (int, error) {
			for range 101 {
				if _, err := r.Capture(ctx, recovery.Step{ID: "tool"}, retry.Timeout{}); err != nil {
					return 0, err
				}
			}
			return 7, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := recovery.ParseRows([]byte(p.captured(t)[0].Timeouts))
		file, fileErr := recovery.Timeouts(r.Base, r.Flow)
		if len(rows) != 100 || err != nil || len(file) != 101 || fileErr != nil {
			t.Errorf("%d rows in the history, error %v; %d in the file, error %v", len(rows), err, len(file), fileErr)
		}
	})
}
