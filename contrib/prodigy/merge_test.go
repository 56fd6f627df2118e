package prodigy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// agent returns the checkpoint of one agent.
func agent(t *testing.T, name, state string) *Checkpoint {
	t.Helper()
	c, err := Read(strings.NewReader(state), name+".json")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMerge(t *testing.T) {
	one := agent(t, "one", `{"checkpointed_at": "2025-01-16T10:00:00Z", "command_retry_states": {
		"item-1": {"attempt_count": 2, "max_attempts": 5, "next_retry_at": "2025-01-16T10:00:09Z",
			"retry_budget_expires_at": "2025-01-16T10:05:00Z",
			"backoff_state": {"strategy": "fixed", "current_delay": "3s"}},
		"item-2": {"attempt_count": 1, "max_attempts": 5}}}`)
	two := agent(t, "two", `{"checkpointed_at": "2025-01-16T10:01:00Z", "command_retry_states": {
		"item-1": {"attempt_count": 3, "max_attempts": 4, "next_retry_at": "2025-01-16T10:00:05Z",
			"retry_budget_expires_at": "2025-01-16T10:04:00Z",
			"backoff_state": {"strategy": "fibonacci", "current_delay": "2s"}},
		"item-3": {"attempt_count": 2, "max_attempts": 2, "retry_history": [{"attempt_number": 2, "success": true}]}}}`)
	got, err := Merge(one, two)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/merge/agents.json", dump(t, got))
	if _, err := Merge(); err == nil {
		t.Errorf("Merge of nothing: no error")
	}
}

// TestMergeOrder: merging is commutative, associative and idempotent, whatever
// the agents have written.
func TestMergeOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var agents []*Checkpoint
		for i := range 4 {
			agents = append(agents, agent(t, fmt.Sprint(i), randomState(r)))
		}
		all := merge(t, agents...)
		shuffled := append([]*Checkpoint{agents[r.IntN(4)]}, agents...)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for _, got := range []*Checkpoint{
			merge(t, shuffled...),
			merge(t, merge(t, agents[3], agents[0]), merge(t, agents[2], agents[1])),
			merge(t, all, agents[1]),
		} {
			if got, want := dump(t, got), dump(t, all); !bytes.Equal(got, want) {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
		}
	}
}

func merge(t *testing.T, checkpoints ...*Checkpoint) *Checkpoint {
	t.Helper()
	c, err := Merge(checkpoints...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func randomState(r *rand.Rand) string {
	second := func() string { return fmt.Sprintf(`"2025-01-16T10:00:%02dZ"`, r.IntN(60)) }
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var commands, breakers []string
	for _, id := range []string{"a", "b", "c"} {
		if r.IntN(3) == 0 {
			continue
		}
		commands = append(commands, fmt.Sprintf(`%q: {"attempt_count": %d, "max_attempts": %d, "next_retry_at": %s,
			"retry_budget_expires_at": %s, "last_attempt_at": %s,
			"retry_history": [{"attempt_number": %d, "success": %s, "backoff_applied": "%ds"}],
			"backoff_state": {"strategy": %s, "current_delay": "%ds"}}`,
			id, r.IntN(4), 1+r.IntN(4), pick("null", second()), pick("null", second()), pick("null", second()), 1+r.IntN(3),
			pick("true", "false", "false"), r.IntN(9),
			pick(`"fixed"`, `"fibonacci"`, `{"exponential": {"base": 3}}`), r.IntN(9)))
		breakers = append(breakers, fmt.Sprintf(`%q: {"state": %s, "failure_count": %d, "failure_threshold": %d,
			"recovery_timeout": "%ds", "last_failure_at": %s}`,
			id, pick(`"Open"`, `"Closed"`, `"HalfOpen"`), r.IntN(5), 1+r.IntN(5), r.IntN(60), second()))
	}
	return fmt.Sprintf(`{"checkpointed_at": %s, "command_retry_states": {%s}, "circuit_breaker_states": {%s}}`,
		second(), strings.Join(commands, ","), strings.Join(breakers, ","))
}

// TestMergeJob merges the state of a job and its dead letters.
func TestMergeJob(t *testing.T) {
	got := merge(t, open(t, "testdata/job.json"), open(t, "testdata/dead-letters.json"))
	golden(t, "testdata/merge/job.json", dump(t, got))
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
