package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/internal/captured"
	"github.com/retrygen/retrygen/internal/vectors"
	retry "github.com/retrygen/retrygen/runtime"
)

func TestVectors(t *testing.T) {
	vectors.Walk(t, "contrib/recovery", map[string]any{
		"timeout_resume": func(t *testing.T, in struct {
			Changes    []string `json:"uncommitted_changes"`
			Checkpoint string
		}, want Resumption) {
			got := Resume(Event{Context: ResumeContext{Changes: in.Changes, Checkpoint: in.Checkpoint}})
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		},
		"timeouts_jsonl_row": func(t *testing.T, _ struct{}, want struct {
			Fields  []string
			Scope   []string
			Actions []Action `json:"final_action"`
		}) {
			r := &Recorder{Base: t.TempDir(), Run: "abc123", Flow: "build"}
			var rows []Row
			for _, scope := range want.Scope {
				for _, action := range []retry.Action{retry.ActionEscalate, retry.ActionRetry, retry.ActionFail} {
					mustCapture(t, r, Step{ID: "step-3"}, retry.Timeout{Scope: scope, Action: action, Limit: time.Minute})
					rows = readRows(t, r)
					if last := rows[len(rows)-1]; last.Scope != scope || string(last.Action) != action.String() ||
						!slices.Contains(want.Actions, last.Action) {
						t.Errorf("scope %s, action %v: row %+v", scope, action, last)
					}
				}
			}
			if got := keys(t, readFile(t, r.Base, "build", "timeouts.jsonl")); !slices.Equal(got, want.Fields) {
				t.Errorf("fields %q, want %q", got, want.Fields)
			}
		},
	})
}

// keys returns the keys of the first JSON object in text, in their order.
func keys(t *testing.T, text string) (list []string) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	for depth, key := 0, true; ; {
		token, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		delim, isDelim := token.(json.Delim)
		switch {
		case isDelim && (delim == '{' || delim == '['):
			depth, key = depth+1, true
		case isDelim:
			if depth--; depth == 0 {
				return list
			}
			key = true
		case depth == 1 && key:
			list, key = append(list, token.(string)), false
		default:
			key = true
		}
	}
}

func mustCapture(t *testing.T, r *Recorder, s Step, timeout retry.Timeout) *Receipt {
	t.Helper()
	receipt, err := r.Capture(t.Context(), s, timeout)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func readRows(t *testing.T, r *Recorder) []Row {
	t.Helper()
	rows, err := Timeouts(r.Base, r.Flow)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocuments compares the documents with those of the swarm orchestrator.
func TestDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*time.Hour + 123*time.Millisecond)
		r := &Recorder{Base: t.TempDir(), Run: "abc123", Flow: "build",
			Changes: func(context.Context) ([]string, error) {
				return []string{"src/auth.py", "tests/test_auth.py"}, nil
			}}
		r.Checkpoint("step-2")
		mustCapture(t, r, Step{
			ID: "step-3", Agent: "code-implementer",
			Progress: func() (Phase, string) { return PhaseFinalize, "2 of 3 files" },
			Artifacts: func(context.Context) ([]Artifact, error) {
				return []Artifact{{Path: "RUN_BASE/build/partial_impl.py", BytesWritten: 4523}}, nil
			},
			Transcript: func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, `{"role":"user"}`+"\n")
				return err
			},
		}, retry.Timeout{
			Policy: "ask", Scope: "llm_call", Limit: 2 * time.Minute, Elapsed: 120034 * time.Millisecond, Retries: 2,
			Action: retry.ActionEscalate,
		})
		want := map[string]string{
			"build/timeouts.jsonl": `{"timestamp":"2000-01-01T10:00:00.123Z","run_id":"abc123","flow_key":"build",` +
				`"step_id":"step-3","scope":"llm_call","timeout_ms":120000,"elapsed_ms":120034,"retry_count":2,` +
				`"final_action":"escalate","recovery_path":"RUN_BASE/build/receipts/step-3-timeout.json"}` + "\n",
			"build/llm/step-3-partial.jsonl": `{"role":"user"}` + "\n",
			"build/receipts/step-3-timeout.json": `{
  "status": "timeout",
  "timeout_event": {
    "timestamp": "2000-01-01T10:00:00.123Z",
    "scope": "llm_call",
    "timeout_ms": 120000,
    "elapsed_ms": 120034
  },
  "last_known_state": {
    "step_id": "step-3",
    "agent_key": "code-implementer",
    "phase": "finalize",
    "progress_indicator": "2 of 3 files"
  },
  "partial_artifacts": [
    {
      "path": "RUN_BASE/build/partial_impl.py",
      "complete": false,
      "bytes_written": 4523
    }
  ],
  "context_for_resume": {
    "last_successful_checkpoint": "step-2",
    "uncommitted_changes": [
      "src/auth.py",
      "tests/test_auth.py"
    ],
    "transcript_path": "RUN_BASE/build/llm/step-3-partial.jsonl"
  }
}
`,
		}
		if got := files(t, r.Base); !maps.Equal(got, want) {
			t.Errorf("got %s", got)
		}
	})
}

// files returns the files below dir, by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			found[filepath.ToSlash(rel)] = readFile(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestOrder: each part sees the results of those before it, and not those after
// it, also if hooks fail.
func TestOrder(t *testing.T) {
	broken := errors.New("broken")
	for _, failure := range []error{nil, broken} {
		r := &Recorder{Base: t.TempDir(), Run: "1", Flow: "build"}
		var order []string
		saw := func(what string) error {
			receipt, err := Latest(r.Base, r.Flow)
			if err != nil || receipt == nil {
				t.Fatalf("%s: receipt %v, error %v", what, receipt, err)
			}
			if receipt.Status != StatusTimeout || receipt.Context.Changes != nil ||
				Resume(receipt.Event).Recommendation != RetryStep {
				t.Errorf("%s: partial receipt %+v", what, receipt)
			}
			if rows := readRows(t, r); rows != nil {
				t.Errorf("%s: rows %v", what, rows)
			}
			order = append(order, what)
			return failure
		}
		r.Changes = func(context.Context) ([]string, error) { return nil, saw("changes") }
		_, err := r.Capture(t.Context(), Step{
			ID:         "s",
			Flush:      func(context.Context) error { return saw("flush") },
			Artifacts:  func(context.Context) ([]Artifact, error) { return []Artifact{{Path: "a"}}, saw("artifacts") },
			Transcript: func(_ context.Context, w io.Writer) error { fmt.Fprint(w, "so far"); return saw("transcript") },
		}, retry.Timeout{Scope: "step", Action: retry.ActionFail})
		if want := []string{"flush", "artifacts", "changes", "transcript"}; !slices.Equal(order, want) {
			t.Errorf("order %q, want %q", order, want)
		}
		if !errors.Is(err, failure) || failure != nil && strings.Count(err.Error(), "broken") != 4 {
			t.Errorf("error %v", err)
		}
		receipt, _ := Latest(r.Base, r.Flow)
		known := receipt.Context.Changes != nil
		if len(readRows(t, r)) != 1 || len(receipt.Artifacts) != 1 || receipt.Context.Transcript == "" ||
			known != (failure == nil) {
			t.Errorf("failure %v: %s", failure, files(t, r.Base))
		}
	}
}

// TestLimit: hooks get a context that ends, and not that of the attempt.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), captureTestKey{}, "value"))
		cancel()
		r := &Recorder{Base: t.TempDir(), Limit: time.Minute}
		start := time.Now()
		_, err := r.Capture(ctx, Step{ID: "s", Flush: func(ctx context.Context) error {
			if ctx.Err() != nil || ctx.Value(captureTestKey{}) != "value" {
				t.Errorf("context error %v, value %v", ctx.Err(), ctx.Value(captureTestKey{}))
			}
			<-ctx.Done()
			return ctx.Err()
		}}, retry.Timeout{})
		if took := time.Since(start); took != time.Minute || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", took, err)
		}
		if rows := readRows(t, r); len(rows) != 1 {
			t.Errorf("rows %v", rows)
		}
	})
}

type captureTestKey struct{}

// TestCalls: calls capture their timeouts with the step of their context, those
// around the steps with the last one.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Recorder{Base: t.TempDir(), Run: "1", Flow: "agent"}
		flow := retry.Policy{
			Name: "flow", Schedule: retry.Schedule{MaxAttempts: 1}, Timeout: time.Minute, Scope: "flow", Capture: true,
		}
		ask := retry.Policy{
			Name: "ask", Schedule: retry.Schedule{MaxAttempts: 2}, AttemptTimeout: 10 * time.Second, Timeout: 40 * time.Second,
			Scope: "llm_call", Capture: true,
		}
		_, err := retry.Do(r.With(t.Context()), &flow, func(ctx context.Context) (int, error) {
			_, _ = retry.Do(ctx, &ask, hang) // of no step
			r.Checkpoint("plan")
			_, _ = retry.Do(r.Begin(ctx, Step{ID: "write"}), &ask, hang)
			return hang(ctx)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		var got []string
		for _, row := range readRows(t, r) {
			path, err := Locate(r.Base, row.Path)
			if err != nil {
				t.Fatal(err)
			}
			receipt, err := ReadReceipt(path)
			if err != nil || receipt.State.StepID != row.StepID || receipt.Timeout.Scope != row.Scope ||
				!receipt.Timeout.Timestamp.Equal(row.Timestamp.Time) {
				t.Errorf("row %+v, receipt %+v, error %v", row, receipt, err)
			}
			got = append(got, fmt.Sprintf("%s %s %d %d %d %s %s %s", row.Scope, row.StepID, row.TimeoutMS, row.ElapsedMS,
				row.Retries, row.Action, receipt.Context.Checkpoint, filepath.Base(row.Path)))
		}
		if want := []string{
			"llm_call ask 10000 10000 0 retry  ask-timeout.json",
			"llm_call ask 10000 10000 1 fail  ask-timeout-2.json",
			"llm_call write 10000 10000 0 retry plan write-timeout.json",
			"llm_call write 10000 10000 1 fail plan write-timeout-2.json",
			"flow write 60000 60000 0 fail plan write-timeout-3.json",
		}; !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func hang(ctx context.Context) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// TestKeeper: a keeper in the context gets each row.
func TestKeeper(t *testing.T) {
	r := &Recorder{Base: t.TempDir(), Flow: "build"}
	var k keeper
	if _, err := r.Capture(captured.With(t.Context(), &k), Step{ID: "s"}, retry.Timeout{}); err != nil {
		t.Fatal(err)
	}
	if got, want := string(k.rows)+"\n", readFile(t, r.Base, "build", "timeouts.jsonl"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type keeper struct{ rows []byte }

func (k *keeper) Keep(row []byte) { k.rows = append(k.rows, row...) }

// TestSimultaneous: timeouts of the same step at once, from two recorders as of two
// processes, have a receipt and a row each.
func TestSimultaneous(t *testing.T) {
	base := t.TempDir()
	recorders := []*Recorder{{Base: base, Flow: "build"}, {Base: base, Flow: "build"}}
	var work sync.WaitGroup
	for i := range 40 {
		work.Go(func() {
			timeout := retry.Timeout{Scope: "tool", Retries: i}
			if _, err := recorders[i%2].Capture(t.Context(), Step{ID: "s"}, timeout); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	paths, retries := map[string]bool{}, map[int]bool{}
	for _, row := range readRows(t, recorders[0]) {
		paths[row.Path], retries[row.Retries] = true, true
	}
	if len(paths) != 40 || len(retries) != 40 {
		t.Errorf("%d receipts and %d rows of 40 timeouts", len(paths), len(retries))
	}
}

func TestNoBase(t *testing.T) {
	if _, err := new(Recorder).Capture(t.Context(), Step{}, retry.Timeout{}); err == nil {
		t.Error("a recorder without a folder captures")
	}
}

// TestUnwritable: what cannot be written does not keep the hooks from being called.
func TestUnwritable(t *testing.T) {
	base := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(base, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	flushed := false
	r := &Recorder{Base: base, Flow: "build"}
	_, err := r.Capture(t.Context(), Step{ID: "s", Flush: func(context.Context) error {
		flushed = true
		return nil
	}}, retry.Timeout{})
	if err == nil || !flushed {
		t.Errorf("error %v, flushed %v", err, flushed)
	}
}

func TestStepsAfter(t *testing.T) {
	steps := []string{"plan", "write", "check"}
	for checkpoint, want := range map[string][]string{"": steps, "plan": {"write", "check"}, "check": {}} {
		if got, err := StepsAfter(steps, checkpoint); err != nil || !slices.Equal(got, want) {
			t.Errorf("after %q: %q, error %v", checkpoint, got, err)
		}
	}
	if _, err := StepsAfter(steps, "build"); err == nil {
		t.Error("a checkpoint that is no step is accepted")
	}
}
