package prodigy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/prodigy"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// TestBreakerReachesStore: the breaker of a command is the breaker of its step in the
// store. Importing it again changes nothing.
func TestBreakerReachesStore(t *testing.T) {
	e, err := durable.New(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	text := `{"command_retry_states": {"deploy": {"attempt_count": 3, "max_attempts": 9}},
		"circuit_breaker_states": {"deploy": {"state": "Open", "failure_count": 5, "failure_threshold": 5,
			"last_failure_at": "` + until.Add(-time.Minute).Format(time.RFC3339) + `", "recovery_timeout": "1m",
			"half_open_max_calls": 1}}}`
	c, err := prodigy.Read(strings.NewReader(text), "c.json")
	if err != nil {
		t.Fatal(err)
	}
	c.Command("deploy").Breaker = "server"
	for again := range 2 {
		report, err := prodigy.Import(t.Context(), e.Admin(), "run", c)
		if err != nil || len(report.Notes) != again {
			t.Errorf("import %d: notes %v, %v", again, report.Notes, err)
		}
		for b, err := range e.Admin().Breakers(t.Context()) {
			want := breaker.Snapshot{State: breaker.Open, Failures: 5, OpenUntil: until}
			if err != nil || b.Name != "server" || b.State != want.State || b.Failures != want.Failures ||
				!b.OpenUntil.Equal(until) {
				t.Errorf("got %+v, %v; want server %+v", b, err, want)
			}
		}
	}
}

// TestCorrelationConflict: of two ids of one command the least counts, which the
// report says.
func TestCorrelationConflict(t *testing.T) {
	e, err := durable.New(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	text := `{"command_retry_states": {"deploy": {"attempt_count": 1, "max_attempts": 9}},
		"retry_execution_history": [{"command_id": "deploy", "correlation_id": "b2", "total_attempts": 1}],
		"retry_correlation_map": {"deploy": "a1"}}`
	c, err := prodigy.Read(strings.NewReader(text), "c.json")
	if err != nil {
		t.Fatal(err)
	}
	report, err := prodigy.Import(t.Context(), e.Admin(), "run", c)
	want := `c.json: command "deploy": has 2 correlation ids: "a1" counts, not "b2"`
	if err != nil || len(report.Conflicts) != 1 || report.Conflicts[0].String() != want {
		t.Errorf("got %v, %v; want %s", report.Conflicts, err, want)
	}
}
