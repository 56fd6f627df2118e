package prodigy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// stepsOf returns what decides about the steps of the run "run", by their ids.
func stepsOf(t *testing.T, s storage.Store) map[string]string {
	t.Helper()
	found, _, err := s.List(t.Context(), storage.Query{Kind: storage.KindStep, Run: "run"})
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]string{}
	for _, r := range found {
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if r.Status == storage.StatusSucceeded {
			delete(body, "call") // decides about nothing any more
		}
		steps[r.Key.ID] = fmt.Sprint(r.Status, body)
	}
	return steps
}

// TestImportSuccessively: the checkpoints of agents can be merged and imported, or
// imported one after another in any order, and repeatedly: the steps are the same.
func TestImportSuccessively(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			var agents []*Checkpoint
			for i := range 4 {
				agents = append(agents, agent(t, fmt.Sprint(i), randomState(r)))
			}
			once, successively := memory.New(), memory.New()
			if _, err := Import(t.Context(), newEngine(t, once).Admin(), "run", merge(t, agents...)); err != nil {
				t.Fatal(err)
			}
			shuffled := append([]*Checkpoint{agents[r.IntN(4)], merge(t, agents[0], agents[2])}, agents...)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			e := newEngine(t, successively)
			for _, c := range shuffled {
				if _, err := Import(t.Context(), e.Admin(), "run", c); err != nil {
					t.Fatal(err)
				}
			}
			got, want := stepsOf(t, successively), stepsOf(t, once)
			if !maps.Equal(got, want) {
				for _, c := range shuffled {
					t.Logf("%s", dump(t, c))
				}
				t.Fatalf("got\n%v\nwant\n%v", got, want)
			}
			before := records(t, successively)
			time.Sleep(time.Hour)
			for _, c := range shuffled {
				report, err := Import(t.Context(), e.Admin(), "run", c)
				if err != nil || report.Added+report.Changed > 0 {
					t.Fatalf("the second time: got %+v, %v", report, err)
				}
			}
			if got := records(t, successively); got != before {
				t.Errorf("got\n%s\nwant\n%s", got, before)
			}
		})
	}
}

// died is the checkpoint of an agent that died during its third attempt.
const died = `{"command_retry_states": {"charge": {"attempt_count": 3, "max_attempts": 3,
	"last_attempt_at": "1999-12-31T23:59:40Z", "retry_history": [
		{"attempt_number": 1, "executed_at": "1999-12-31T23:59:00Z", "success": false, "error": "HTTP 503"},
		{"attempt_number": 2, "executed_at": "1999-12-31T23:59:20Z", "success": false, "error": "HTTP 503"}]}}}`

// TestImportDeadAgent: the attempt during which an agent died is lost. Its number
// is not used again, and it does not count against the maximum; the policy of the
// step decides whether there is another one.
func TestImportDeadAgent(t *testing.T) {
	for name, c := range map[string]struct {
		idempotent bool
		operate    func(*durable.Engine) error
	}{
		"idempotent": {true, nil},
		"resolved": {false, func(e *durable.Engine) error {
			return e.Admin().Resolve(context.Background(), "run", "charge", admin.Retry())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, memory.New())
				checkpoint, report := imported(t, e, died)
				if !checkpoint.Commands[0].Lost || report.Steps[0].Status != storage.StatusExecuting {
					t.Errorf("got %+v, %+v; want a lost attempt", checkpoint.Commands[0], report)
				}
				s := genapi.StepPolicy{
					Name: "charge", Idempotent: c.idempotent, ResumeSpread: retry.None,
					Policy: &retry.Policy{Name: "charge", RetryUnknown: true,
						Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Second}},
				}
				var numbers []int
				run := func() error {
					return e.Run(t.Context(), "run", func(ctx context.Context) error {
						_, err := genapi.Call(ctx, &s, genapi.StepID{}, genapi.Digest{}, func(ctx context.Context) (string, error) {
							info, _ := durable.Current(ctx)
							numbers = append(numbers, info.Attempt)
							return "paid", nil
						})
						return err
					})
				}
				err := run()
				if c.operate != nil {
					if _, ok := errors.AsType[*durable.PausedError](err); !ok || len(numbers) > 0 {
						t.Errorf("attempts %v, error %v; want a step in doubt", numbers, err)
					}
					if err := c.operate(e); err != nil {
						t.Fatal(err)
					}
					err = run()
				}
				if err != nil || !slices.Equal(numbers, []int{4}) {
					t.Errorf("attempts %v, error %v; want 4", numbers, err)
				}
				var outcomes []string
				for _, a := range attempts(t, e) {
					outcomes = append(outcomes, fmt.Sprint(a.Attempt, " ", a.Outcome, " ", a.Started.Format(time.TimeOnly)))
				}
				if got := strings.Join(outcomes, ", "); !strings.HasPrefix(got,
					"1 failed 23:59:00, 2 failed 23:59:20, 3 lost 23:59:40, ") {
					t.Errorf("history %s", got)
				}
			})
		})
	}
}

// TestMergeDeadAgent: an attempt whose end another agent has recorded is not lost.
func TestMergeDeadAgent(t *testing.T) {
	dead := agent(t, "dead", died)
	for name, c := range map[string]struct {
		other    string
		attempts int
		lost     bool
	}{
		"it knows less": {state(`"attempt_count": 2, "max_attempts": 3, "next_retry_at": "2000-01-01T00:00:00Z"`), 3, true},
		"it knows the end": {state(`"attempt_count": 3, "max_attempts": 5, "retry_history": [
			{"attempt_number": 3, "success": false, "error": "HTTP 500"}]`), 3, false},
		"it has gone on": {state(`"attempt_count": 4, "max_attempts": 5`), 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := merge(t, agent(t, "other", c.other), dead).Commands[0]
			if got.Attempts != c.attempts || got.Lost != c.lost {
				t.Errorf("got %d attempts, lost %v; want %d, %v", got.Attempts, got.Lost, c.attempts, c.lost)
			}
		})
	}
}

// TestImportConflicts: what agents contradict each other about is reported, in one
// import as in successive ones.
func TestImportConflicts(t *testing.T) {
	const job = `{"job_id": %q, "agent_results": {"item-1": {"item_id": "item-1", "status": "Success", "output": %q}},
		"failed_agents": {"item-2": {"item_id": "item-2", "attempts": 1, "last_error": %q}}}`
	one := agent(t, "one", fmt.Sprintf(job, "a", "x", "boom"))
	two := agent(t, "two", fmt.Sprintf(job, "b", "y", "HTTP 503"))
	conflicts := func(notes []Note) (text string) {
		for _, n := range notes {
			text += n.Path + " " + n.Text + "\n"
		}
		return text
	}
	e := newEngine(t, memory.New())
	report, err := Import(t.Context(), e.Admin(), "run", merge(t, one, two))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := conflicts(report.Conflicts), `workflow "a" is merged with 1 other: are they one job?
command "item-1" has succeeded with 2 different outputs: "y" counts
command "item-2" has two records of attempt 1: one is imported
`; got != want {
		t.Errorf("merged: got\n%swant\n%s", got, want)
	}
	e = newEngine(t, memory.New())
	for i, c := range []*Checkpoint{one, two} {
		report, err := Import(t.Context(), e.Admin(), "run", c)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if i == 1 {
			want = `step "item-1" has succeeded with different results: the first one counts
step "item-2" has different records of attempt 1: the first one counts, failed: "boom"
`
		}
		if got := conflicts(report.Conflicts); got != want {
			t.Errorf("%s: got\n%swant\n%s", c.File, got, want)
		}
	}
}

// TestImportLate: the checkpoint of an agent that is found when the run has been
// executed adds the units that the run does not know. What an operator has
// changed stays.
func TestImportLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		e := newEngine(t, store)
		spent := state(`"attempt_count": 3, "max_attempts": 3`)
		imported(t, e, spent)
		if _, err := resume(t, e, &policy5, 1); !errors.Is(err, retry.ErrAttempts) {
			t.Fatalf("error %v, want %v", err, retry.ErrAttempts)
		}
		if err := e.Admin().Requeue(t.Context(), "run", "charge"); err != nil {
			t.Fatal(err)
		}
		if _, report := imported(t, e, spent); report.Unchanged != 1 {
			t.Errorf("got %+v, want nothing changed", report)
		}
		_, report := imported(t, e, `{"command_retry_states": {"refund": {"attempt_count": 2, "max_attempts": 3}}}`)
		if report.Added != 1 {
			t.Errorf("got %+v, want a step added", report)
		}
		calls, err := resume(t, e, &policy5, 1)
		if err != nil {
			t.Fatal(err)
		}
		sameCalls(t, calls, call{4, 0})
	})
}
