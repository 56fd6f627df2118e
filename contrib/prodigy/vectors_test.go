package prodigy

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/internal/vectors"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// TestVectors reads what humantime reads, counts as Prodigy counts the attempts of
// an item, and continues as the documents say.
func TestVectors(t *testing.T) {
	vectors.Walk(t, "contrib/prodigy", map[string]any{
		"duration_parse": durationVector, "merge_retry_counts": mergeVector, "item_attempt_number": itemVector,
		"resume_attempts": attemptsVector, "resume_timer": timerVector, "breaker_restore": breakerVector,
		"retry_state_validate": validateVector,
	})
}

func durationVector(t *testing.T, text string, want struct {
	OK        bool
	NS        *time.Duration
	Canonical string
	Error     string
	Decimal   string `json:"ns_decimal"`
	Overflows bool   `json:"overflows_int64"`
}) {
	quoted := []byte(marshal(t, text))
	n, refused := parse("", quoted)
	if refused != nil {
		t.Fatal(refused)
	}
	r := reader{text: quoted}
	got := r.duration(n)
	if ok := want.OK && !want.Overflows; (r.err == nil) != ok || ok && want.NS != nil && got != *want.NS {
		t.Errorf("%q = %v, %v; want %+v", text, got, r.err, want)
	}
}

// mergeVector: of several counts of one item, the greatest counts.
func mergeVector(t *testing.T, in struct{ Failed, DLQ map[string]int }, want map[string]int) {
	failed, dead := map[string]any{}, []any{}
	for id, n := range in.Failed {
		failed[id] = map[string]any{"item_id": id, "attempts": n}
	}
	for id, n := range in.DLQ {
		dead = append(dead, map[string]any{"item_id": id, "failure_count": n})
	}
	got := merge(t,
		agent(t, "job", marshal(t, map[string]any{"job_id": "j", "failed_agents": failed})),
		agent(t, "dead", marshal(t, dead)))
	counts := map[string]int{}
	for _, c := range got.Commands {
		counts[c.ID] = c.Attempts
	}
	if !maps.Equal(counts, want) {
		t.Errorf("got %v, want %v", counts, want)
	}
}

// afterT returns the duration in a time of a vector, as T+5s.
func afterT(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(strings.TrimPrefix(text, "T+"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func itemVector(t *testing.T, in struct {
	Count int `json:"retry_count"`
}, want int) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		imported(t, e, fmt.Sprintf(`{"job_id": "j", "item_retry_counts": {"charge": %d}}`, in.Count))
		unlimited := retry.Policy{Name: "charge", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 100}}
		calls, err := resume(t, e, &unlimited, 1)
		if err != nil {
			t.Fatal(err)
		}
		sameCalls(t, calls, call{want, 0})
	})
}

func attemptsVector(t *testing.T, in struct {
	Count int `json:"attempt_count"`
	Max   int `json:"max_attempts"`
}, want struct {
	Left  int    `json:"executions_left"`
	Error string // of Prodigy
}) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		imported(t, e, state(`"attempt_count": %d, "max_attempts": %d`, in.Count, in.Max))
		p := retry.Policy{Name: "charge", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: in.Max}}
		calls, err := resume(t, e, &p, 99)
		if len(calls) != want.Left || !errors.Is(err, retry.ErrAttempts) {
			t.Errorf("attempts %v, error %v; want %d", calls, err, want.Left)
		}
	})
}

// validateVector: more attempts than the maximum are reported, and nothing is
// executed.
func validateVector(t *testing.T, in struct {
	Count int `json:"attempt_count"`
	Max   int `json:"max_attempts"`
}, want struct{ Error string }) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		_, report := imported(t, e, state(`"attempt_count": %d, "max_attempts": %d`, in.Count, in.Max))
		word, _, _ := strings.Cut(strings.ToLower(want.Error), " ")
		if text := fmt.Sprint(report.Notes); word == "" || !strings.Contains(text, word) {
			t.Errorf("got the notes %s, want one with %q", text, word)
		}
		p := retry.Policy{Name: "charge", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 100}}
		if calls, err := resume(t, e, &p, 99); len(calls) > 0 || !errors.Is(err, retry.ErrAttempts) {
			t.Errorf("attempts %v, error %v; want none", calls, err)
		}
	})
}

func timerVector(t *testing.T, in struct {
	Written  string `json:"checkpointed_at"`
	Next     string `json:"next_retry_at"`
	Restored string `json:"restored_at"`
}, want struct {
	Wait time.Duration `json:"wait_ns"`
}) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		text := strings.Replace(state(`"attempt_count": 1, "max_attempts": 5, "next_retry_at": %s`, at(afterT(t, in.Next))),
			"{", fmt.Sprintf(`{"checkpointed_at": %s, `, at(afterT(t, in.Written))), 1)
		time.Sleep(afterT(t, in.Restored))
		imported(t, e, text)
		calls, err := resume(t, e, &policy5, 1)
		if err != nil {
			t.Fatal(err)
		}
		sameCalls(t, calls, call{2, want.Wait})
	})
}

func breakerVector(t *testing.T, in struct {
	State   string
	Age     int `json:"last_failure_age_s"`
	Timeout int `json:"recovery_timeout_s"`
}, want struct {
	State     string
	Successes int `json:"half_open_success_count"`
}) {
	synctest.Test(t, func(t *testing.T) {
		c := agent(t, "breaker", fmt.Sprintf(`{"command_retry_states": {}, "circuit_breaker_states": {"charge": {
			"state": %q, "failure_count": 5, "failure_threshold": 5, "recovery_timeout": "%ds", "last_failure_at": %s}}}`,
			in.State, in.Timeout, at(-time.Duration(in.Age)*time.Second)))
		policy, snapshot, _ := c.Breaker("charge")
		b := breaker.New(policy)
		b.Restore(snapshot)
		if got := b.State(); got != circuitStates[lowerCase(want.State)] || want.Successes != 0 {
			t.Errorf("state %v, want %+v", got, want)
		}
	})
}
