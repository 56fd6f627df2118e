package recovery

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// swarmEvent is an event as a swarm of agents documents it.
const swarmEvent = `{
  "timeout_event": {"timestamp": "2024-01-15T10:30:00.250000+00:00Z", "scope": "step", "timeout_ms": 600000, "elapsed_ms": 600123},
  "last_known_state": {"step_id": "build-step-3", "agent_key": "code-implementer", "phase": "work"},
  "partial_artifacts": [{"path": "RUN_BASE/build/partial_impl.py", "complete": false, "bytes_written": 4523}],
  "context_for_resume": {
    "last_successful_checkpoint": "build-step-2",
    "uncommitted_changes": ["src/auth.py", "tests/test_auth.py"],
    "transcript_path": "RUN_BASE/build/llm/step-3-partial.jsonl"
  }
}`

// swarmRow is its row.
const swarmRow = `{"timestamp": "2024-01-15T10:30:00Z", "run_id": "abc123", "flow_key": "build", "step_id": "step-3", ` +
	`"scope": "llm_call", "timeout_ms": 120000, "elapsed_ms": 120034, "retry_count": 2, "final_action": "escalate", ` +
	`"recovery_path": "RUN_BASE/build/receipts/step-3-timeout.json"}`

func TestReadSwarm(t *testing.T) {
	at := time.Date(2024, 1, 15, 10, 30, 0, 0, time.UTC)
	got, err := parseReceipt([]byte(swarmEvent))
	want := &Receipt{Event: Event{
		Timeout:   TimeoutEvent{Timestamp{at.Add(250 * time.Millisecond)}, "step", 600000, 600123},
		State:     LastKnownState{StepID: "build-step-3", AgentKey: "code-implementer", Phase: PhaseWork},
		Artifacts: []Artifact{{"RUN_BASE/build/partial_impl.py", false, 4523}},
		Context: ResumeContext{
			"build-step-2", []string{"src/auth.py", "tests/test_auth.py"}, "RUN_BASE/build/llm/step-3-partial.jsonl",
		},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, error %v; want %+v", got, err, want)
	}
	rows, err := ParseRows([]byte(swarmRow + "\n"))
	wantRows := []Row{{
		Timestamp{at}, "abc123", "build", "step-3", "llm_call", 120000, 120034, 2, ActionEscalate,
		"RUN_BASE/build/receipts/step-3-timeout.json",
	}}
	if err != nil || !reflect.DeepEqual(rows, wantRows) {
		t.Errorf("got %+v, error %v; want %+v", rows, err, wantRows)
	}
}

func TestTimestamp(t *testing.T) {
	want := time.Date(2024, 1, 15, 10, 30, 0, 0, time.UTC)
	for text, ok := range map[string]bool{
		"2024-01-15T10:30:00Z": true, "2024-01-15T10:30:00+00:00": true, "2024-01-15T11:30:00+01:00": true,
		"2024-01-15T10:30:00+00:00Z": true, "2024-01-15T11:30:00+01:00Z": false, "2024-01-15T10:30:00": false,
		"2024-01-15T10:30:00ZZ": false, "+00:00Z": false, "": false,
		"9999-12-31T23:59:59-01:00": false, "0000-01-01T00:00:00+01:00": false,
	} {
		var got Timestamp
		quoted, _ := json.Marshal(text)
		err := json.Unmarshal(quoted, &got)
		if ok != (err == nil) || ok && !got.Equal(want) {
			t.Errorf("%q is %v, error %v", text, got, err)
		}
		if written, _ := json.Marshal(got); ok && string(written) != `"2024-01-15T10:30:00Z"` {
			t.Errorf("%q is written as %s", text, written)
		}
	}
	if err := json.Unmarshal([]byte("7"), new(Timestamp)); err == nil {
		t.Error("a number is a time")
	}
}

// TestRefused: documents of newer versions, and what is no document of a timeout.
func TestRefused(t *testing.T) {
	changed := func(old, new string) string { return strings.Replace(swarmEvent, old, new, 1) }
	for text, want := range map[string]error{
		changed("{", `{"version": 1, "unknown": [1], `): nil,
		changed("{", `{"status": "timeout", `):          nil,
		changed("{", `{"version": 2, `):                 ErrVersion,
		changed("{", `{"version": "two", `):             ErrFormat,
		changed("{", `{"status": "completed", `):        ErrFormat,
		changed(`"build-step-3"`, `""`):                 ErrFormat,
		changed("timeout_event", "event"):               ErrFormat,
		changed("600123", `"long"`):                     ErrFormat,
		swarmEvent[:len(swarmEvent)-1]:                  ErrFormat,
		"":                                              ErrFormat,
		"[]":                                            ErrFormat,
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, "build", "receipts", "step-3-timeout.json")
		if err := replace(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		_, err := ReadReceipt(name)
		if latest, latestErr := Latest(dir, "build"); !errors.Is(err, want) || !errors.Is(latestErr, want) ||
			(latest == nil) != (want != nil) {
			t.Errorf("%s\nerrors %v and %v, want %v", text, err, latestErr, want)
		}
	}
	for row, want := range map[string]error{
		strings.Replace(swarmRow, "{", `{"version": 2, `, 1): ErrVersion,
		strings.Replace(swarmRow, `"step-3"`, `""`, 1):       ErrFormat,
		`{}`: ErrFormat,
		`7`:  ErrFormat,
	} {
		if rows, err := ParseRows([]byte(swarmRow + "\n" + row + "\n")); !errors.Is(err, want) || rows != nil {
			t.Errorf("%s: rows %v, error %v, want %v", row, rows, err, want)
		}
	}
}

// TestTorn: a torn line is reported, and costs neither the rows before it nor
// those that are appended later.
func TestTorn(t *testing.T) {
	r := &Recorder{Base: t.TempDir(), Flow: "build"}
	name := filepath.Join(r.Base, "build", rowsFile)
	row := func(tear bool, torn, whole int) {
		t.Helper()
		mustCapture(t, r, Step{ID: "s"}, retry.Timeout{})
		if tear {
			text := readFile(t, name)
			if err := os.WriteFile(name, []byte(text[:len(text)-20]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := Timeouts(r.Base, r.Flow)
		n := 0
		if err != nil {
			n = strings.Count(err.Error(), ErrTorn.Error())
		}
		if n != torn || len(rows) != whole || torn > 0 && !errors.Is(err, ErrTorn) {
			t.Errorf("%d torn and %d whole lines, error %v; want %d and %d", n, len(rows), err, torn, whole)
		}
	}
	row(false, 0, 1)
	row(true, 1, 1)
	row(false, 1, 2)
	row(true, 2, 2)
	row(false, 2, 3)
	// Torn between its last byte and the end of the line, it is whole.
	if err := os.Truncate(name, int64(len(readFile(t, name))-1)); err != nil {
		t.Fatal(err)
	}
	row(false, 2, 4)
}

func TestNothing(t *testing.T) {
	base := filepath.Join(t.TempDir(), "missing")
	receipt, err := Latest(base, "build")
	rows, rowsErr := Timeouts(base, "build")
	if receipt != nil || err != nil || rows != nil || rowsErr != nil {
		t.Errorf("receipt %v, error %v; rows %v, error %v", receipt, err, rows, rowsErr)
	}
}

// TestLatest: the newest receipt counts, whatever its number, and other receipts
// do not.
func TestLatest(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "build", receiptsDir)
	for name, second := range map[string]string{
		"b-timeout.json": "01", "a-timeout-2.json": "05", "a-timeout.json": "03", "c-timeout-10.json": "04",
	} {
		text := strings.NewReplacer("10:30:00.250000", "10:30:"+second, "build-step-3", name).Replace(swarmEvent)
		if err := replace(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.json", "timeout-check.json", "a-timeout.json.bak", ".retrygen-123"} {
		if err := replace(filepath.Join(dir, name), []byte(`{"status": "completed"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := Latest(base, "build"); err != nil || r.State.StepID != "a-timeout-2.json" {
		t.Errorf("receipt %+v, error %v", r, err)
	}
}

// TestFileNames: different ids have different names, which are names in one folder.
func TestFileNames(t *testing.T) {
	long := strings.Repeat("x", 300)
	seen := map[string]string{}
	for _, id := range []string{
		"", ".", "..", "a", "a/b", "a%2Fb", "../a", "/a", `a\b`, "a b", "a:b", "a\x00b", "ä", "a.b", ".a", "%", "%-", long,
		long + "x", long[:120], strings.Repeat("ä", 100),
	} {
		name := fileName(id)
		if before, taken := seen[name]; taken {
			t.Errorf("%q and %q are both %q", before, id, name)
		}
		seen[name] = id
		if !filepath.IsLocal(name) || strings.ContainsAny(name, `/\:`) || strings.HasPrefix(name, ".") || len(name) > 200 {
			t.Errorf("%q is %q", id, name)
		}
	}
	r := &Recorder{Base: t.TempDir(), Flow: "../flow"}
	mustCapture(t, r, Step{ID: "../../step"}, retry.Timeout{})
	if got := readRows(t, r)[0].Path; got != "RUN_BASE/%2E.%2Fflow/receipts/%2E.%2F..%2Fstep-timeout.json" {
		t.Errorf("path %s", got)
	}
}

func TestLocate(t *testing.T) {
	for name, want := range map[string]string{
		"RUN_BASE/build/a.json": filepath.Join("runs", "1", "build", "a.json"), "/abs/a.json": "/abs/a.json",
		"RUN_BASE/a/../b": filepath.Join("runs", "1", "b"), "RUN_BASE/../b": "", "RUN_BASE//etc/passwd": "", "rel": "rel",
	} {
		got, err := Locate(filepath.Join("runs", "1"), name)
		if got != want || (want == "") != errors.Is(err, ErrFormat) {
			t.Errorf("%s is %q, error %v; want %q", name, got, err, want)
		}
	}
}

// TestFirstFree: the next number is found in few look-ups.
func TestFirstFree(t *testing.T) {
	dir := t.TempDir()
	name := func(n int) string { return filepath.Join(dir, numbered("s", receiptKind, n)) }
	for want := 1; want <= 20; want++ {
		if got := firstFree(name); got != want {
			t.Errorf("number %d, want %d", got, want)
		}
		if err := os.WriteFile(name(want), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(swarmEvent))
	f.Add([]byte(swarmRow + "\n" + swarmRow[:30]))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := parseReceipt(text); err == nil {
			encoded, _ := json.Marshal(r)
			if again, err := parseReceipt(encoded); err != nil || !reflect.DeepEqual(normal(*again), normal(*r)) {
				t.Errorf("%s\nis read as %+v, error %v, and before as %+v", encoded, again, err, r)
			}
		}
		rows, _ := ParseRows(text)
		for _, row := range rows {
			encoded, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := ParseRows(encoded); err != nil || len(again) != 1 || !again[0].Timestamp.Equal(row.Timestamp.Time) {
				t.Errorf("%s\nis read as %+v, error %v", encoded, again, err)
			}
		}
	})
}

// normal returns a receipt whose time is in UTC.
func normal(r Receipt) Receipt {
	r.Timeout.Timestamp = Timestamp{r.Timeout.Timestamp.UTC()}
	return r
}
