package prodigy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func newEngine(t *testing.T, s storage.Store) *durable.Engine {
	t.Helper()
	e, err := durable.New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// imported imports a checkpoint as the run "run".
func imported(t *testing.T, e *durable.Engine, state string) (*Checkpoint, Report) {
	t.Helper()
	c := agent(t, "checkpoint", state)
	report, err := Import(t.Context(), e.Admin(), "run", c)
	if err != nil {
		t.Fatal(err)
	}
	return c, report
}

// at returns the time d from now, as a checkpoint has it.
func at(d time.Duration) string { return fmt.Sprintf("%q", time.Now().Add(d).Format(time.RFC3339Nano)) }

// state returns a checkpoint with one command.
func state(format string, args ...any) string {
	return `{"command_retry_states": {"charge": {` + fmt.Sprintf(format, args...) + `}}}`
}

var policy5 = retry.Policy{Name: "charge", RetryUnknown: true,
	Schedule: retry.Schedule{MaxAttempts: 5, InitialDelay: time.Second}}

// A call is an attempt that a run has made.
type call struct {
	attempt int
	after   time.Duration // since the start of the run
}

// resume executes the run, whose step succeeds at the attempt with a number, and
// returns the attempts.
func resume(t *testing.T, e *durable.Engine, p *retry.Policy, succeeds int) (calls []call, err error) {
	t.Helper()
	start := time.Now()
	err = e.Run(t.Context(), "run", func(ctx context.Context) error {
		s := genapi.StepPolicy{Name: "charge", Policy: p, ResumeSpread: retry.None}
		_, err := genapi.Call(ctx, &s, genapi.StepID{}, genapi.Digest{}, func(ctx context.Context) (string, error) {
			info, _ := durable.Current(ctx)
			calls = append(calls, call{info.Attempt, time.Since(start)})
			if info.Attempt < succeeds {
				return "", errors.New("HTTP 503")
			}
			return "paid", nil
		})
		return err
	})
	return calls, err
}

func sameCalls(t *testing.T, got []call, want ...call) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("attempts %v, want %v", got, want)
	}
}

// TestImportContinues: a run makes the attempt after the last one, when the rest
// of its wait is over, and after it the waits of its policy.
func TestImportContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		_, report := imported(t, e, state(`"attempt_count": 2, "max_attempts": 5, "next_retry_at": %s,
			"backoff_state": {"strategy": {"exponential": {"base": 2.0}}, "current_delay": "4s", "base_delay": "1s"}`,
			at(3*time.Second)))
		if len(report.Steps) != 1 || report.Steps[0].Status != storage.StatusWaiting || report.Steps[0].Attempts != 2 {
			t.Errorf("report %+v", report)
		}
		time.Sleep(time.Second)
		calls, err := resume(t, e, &policy5, 5)
		if err != nil {
			t.Fatal(err)
		}
		sameCalls(t, calls, call{3, 2 * time.Second}, call{4, 6 * time.Second}, call{5, 14 * time.Second})
	})
}

// TestImportWait: the wait ends when it was to end, but is never longer than it
// was, whatever the clocks show. An overdue attempt is made at once, and kept.
func TestImportWait(t *testing.T) {
	for name, test := range map[string]struct{ next, want time.Duration }{
		"remaining":             {3 * time.Second, 3 * time.Second},
		"due now":               {0, 0},
		"overdue":               {-time.Hour, 0},
		"overdue by years":      {-5 * 365 * 24 * time.Hour, 0},
		"clock was set back":    {1000 * time.Hour, 4 * time.Second},
		"clock was set to 1990": {30 * 365 * 24 * time.Hour, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, memory.New())
				imported(t, e, state(`"attempt_count": 1, "max_attempts": 5, "next_retry_at": %s,
					"backoff_state": {"strategy": "fixed", "current_delay": "4s"}`, at(test.next)))
				calls, err := resume(t, e, &policy5, 2)
				if err != nil {
					t.Fatal(err)
				}
				sameCalls(t, calls, call{2, test.want})
			})
		})
	}
}

// TestImportStrategies: after the import, a run with the policy that the
// checkpoint describes waits as Prodigy would have waited.
func TestImportStrategies(t *testing.T) {
	for strategy, want := range map[string][]call{
		`"fixed"`:                                    {{3, 0}, {4, 2 * time.Second}, {5, 4 * time.Second}},
		`{"linear": {"increment": "3s"}}`:            {{3, 0}, {4, 8 * time.Second}, {5, 19 * time.Second}},
		`{"exponential": {"base": 3.0}}`:             {{3, 0}, {4, 18 * time.Second}, {5, 68 * time.Second}},
		`"fibonacci"`:                                {{3, 0}, {4, 4 * time.Second}, {5, 10 * time.Second}},
		`{"custom": {"delays": ["1s", "2s", "3s"]}}`: {{3, 0}, {4, 3 * time.Second}, {5, 53 * time.Second}},
	} {
		t.Run(strategy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, memory.New())
				c, _ := imported(t, e, state(`"attempt_count": 2, "max_attempts": 5, "next_retry_at": %s,
					"retry_config": {"attempts": 5, "backoff": %s, "initial_delay": "2s", "max_delay": "50s"}`, at(0), strategy))
				p, err := c.Policy("charge")
				if err != nil {
					t.Fatal(err)
				}
				calls, err := resume(t, e, p, 5)
				if err != nil {
					t.Fatal(err)
				}
				sameCalls(t, calls, want...)
			})
		})
	}
}

// TestImportExhausted: a command without attempts left stays exhausted, until
// somebody requeues it.
func TestImportExhausted(t *testing.T) {
	for name, count := range map[string]int{"at the maximum": 3, "above the maximum": 7} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, memory.New())
				imported(t, e, state(`"attempt_count": %d, "max_attempts": 3, "next_retry_at": %s,
					"retry_history": [{"attempt_number": 3, "success": false, "error": "HTTP 503"}]`, count, at(time.Second)))
				for range 2 {
					calls, err := resume(t, e, &policy5, 1)
					failed, ok := errors.AsType[*durable.StepError](err)
					if len(calls) > 0 || !ok || !errors.Is(err, retry.ErrAttempts) || failed.Attempts != count {
						t.Errorf("attempts %v, error %v", calls, err)
					}
				}
				if err := e.Admin().Requeue(t.Context(), "run", "charge"); err != nil {
					t.Fatal(err)
				}
				calls, err := resume(t, e, &policy5, 1)
				if err != nil {
					t.Fatal(err)
				}
				sameCalls(t, calls, call{count + 1, 0})
			})
		})
	}
}

// TestImportLimits: the limits of the policy in the code apply to the counts of
// the checkpoint.
func TestImportLimits(t *testing.T) {
	for name, test := range map[string]struct {
		policy retry.Policy
		state  string
		reason retry.Reason
	}{
		"attempts": {
			retry.Policy{Name: "charge", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 3}},
			`"attempt_count": 3, "max_attempts": 10`, retry.ErrAttempts,
		},
		"expired budget": {
			retry.Policy{Name: "charge", DelayBudget: time.Hour},
			`"attempt_count": 1, "max_attempts": 10, "retry_budget_expires_at": "1999-12-31T23:59:59Z"`,
			retry.ErrDelayBudget,
		},
		"spent budget": {
			retry.Policy{Name: "charge", DelayBudget: 5 * time.Second, RetryUnknown: true, Schedule: retry.Schedule{
				MaxAttempts: 10, Backoff: retry.BackoffFixed, InitialDelay: 2 * time.Second}},
			`"attempt_count": 2, "max_attempts": 10, "retry_history": [
				{"attempt_number": 1, "success": false}, {"attempt_number": 2, "success": false, "backoff_applied": "2s"}],
				"next_retry_at": "2000-01-01T00:00:01Z", "backoff_state": {"strategy": "fixed", "current_delay": "2s"}`,
			retry.ErrDelayBudget,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, memory.New())
				imported(t, e, state("%s", test.state))
				calls, err := resume(t, e, &test.policy, 99)
				if !errors.Is(err, test.reason) || len(calls) > 1 {
					t.Errorf("attempts %v, error %v; want %v", calls, err, test.reason)
				}
			})
		})
	}
}

// TestImportSucceeded: a command that has succeeded is not executed again. Its
// output is the result of the step, unless the caller knows better.
func TestImportSucceeded(t *testing.T) {
	const form = `{"workflow_id": "w", "completed_steps": [{"step_index": 0, "success": true, "output": %s,
		"retry_state": {"current_attempt": 2, "max_attempts": 3, "failure_history": ["HTTP 503"]}}]}`
	for name, test := range map[string]struct {
		output string
		result any
		want   string
		err    error
	}{
		"output":            {`"paid"`, nil, "paid", nil},
		"large output":      {`"` + strings.Repeat("x", 10_000) + `"`, nil, strings.Repeat("x", 10_000), nil},
		"result":            {`"paid"`, "done", "done", nil},
		"no output":         {"null", nil, "", durable.ErrResult},
		"of another type":   {"null", 7, "", durable.ErrResult},
		"result, no output": {"null", "done", "done", nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, memory.New())
			c := agent(t, "steps", fmt.Sprintf(form, test.output))
			if test.result != nil {
				c.Commands[0].Result = test.result
			}
			report, err := Import(t.Context(), e.Admin(), "run", c)
			if err != nil {
				t.Fatal(err)
			}
			if noted := len(report.Notes) > 0; noted != (c.Commands[0].Result == nil) {
				t.Errorf("notes %v", report.Notes)
			}
			got, err := durable.Run(t.Context(), e, "run", func(ctx context.Context) (string, error) {
				return durable.Step(ctx, "step-0", &policy5, func(context.Context) (string, error) {
					t.Error("executed again")
					return "", nil
				})
			})
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %.20q, %v; want %.20q, %v", got, err, test.want, test.err)
			}
		})
	}
}

// TestImportResultRefused: a result that cannot be recorded is not dropped.
func TestImportResultRefused(t *testing.T) {
	e := newEngine(t, memory.New())
	c := agent(t, "steps", `{"workflow_id": "w", "completed_steps": [{"step_index": 0, "success": true}]}`)
	c.Commands[0].Result = func() {}
	if _, err := Import(t.Context(), e.Admin(), "run", c); !errors.Is(err, durable.ErrResult) {
		t.Errorf("error %v, want %v", err, durable.ErrResult)
	}
}

// TestImportWithoutState: a checkpoint without retry state is a run whose steps
// have no attempts.
func TestImportWithoutState(t *testing.T) {
	for _, form := range []string{`{"workflow_id": "w"}`, `{"workflow_id": "w", "retry_checkpoint_state": null}`} {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(t, memory.New())
			_, report := imported(t, e, form)
			calls, err := resume(t, e, &policy5, 1)
			if err != nil || len(report.Steps) > 0 {
				t.Errorf("report %+v, error %v", report, err)
			}
			sameCalls(t, calls, call{1, 0})
		})
	}
}

// TestImportOlderSteps: the attempts of the older form count. It has no times, so
// that the next one is made at once.
func TestImportOlderSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		c := agent(t, "old", `{"workflow_id": "w", "completed_steps": [{"step_index": 4, "command": "shell: charge",
			"success": false, "retry_state": {"current_attempt": 2, "max_attempts": 3,
			"failure_history": ["HTTP 502", "HTTP 503"], "in_retry_loop": true}}]}`)
		c.Command("step-4").Step = Step{Name: "charge"}
		if _, err := Import(t.Context(), e.Admin(), "run", c); err != nil {
			t.Fatal(err)
		}
		calls, err := resume(t, e, &policy5, 1)
		if err != nil {
			t.Fatal(err)
		}
		sameCalls(t, calls, call{3, 0})
	})
}
