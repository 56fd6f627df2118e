package schema

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestOneMistakeOneViolation: unions are written flat, so that a mistake is
// reported once, where it is, in the schema's own words.
func TestOneMistakeOneViolation(t *testing.T) {
	tests := []struct {
		text string
		want []Violation
	}{
		{`{"version": 1}`, nil},
		{`{"version": 1, "policies": {"p": {"max_attempts": 3, "backoff": {"linear": {"increment": "1s"}}}}}`, nil},
		{`{"version": 2}`, []Violation{{Path: []string{"version"}, Message: "This language is version: 1."}}},
		{`{"version": 1, "polices": {}}`, []Violation{{Property: "polices", Message: `unknown key "polices"`}}},
		{`{"version": 1, "policies": {"p": {"timeout": 5}}}`, []Violation{{
			Path: []string{"policies", "p", "timeout"}, Message: "This is a number with a unit, such as 2s or 1m30s, or none.",
		}}},
		{`{"version": 1, "policies": {"p": {"backoff": {"fibonaci": {}}}}}`, []Violation{{
			Path: []string{"policies", "p", "backoff"}, Property: "fibonaci",
			Message: "backoff is fixed, exponential or fibonacci, or one strategy with its settings, as {linear: {increment: " +
				"1s}}.",
		}}},
		{`{"version": 1, "policies": {"p": {"backoff": {"linear": {"increment": null}}}}}`, []Violation{{
			Path:    []string{"policies", "p", "backoff", "linear", "increment"},
			Message: "A duration is a number with a unit: 500ms, 2s, 1m30s.",
		}}},
		{`{"version": 1, "policies": {"p": {"backoff": {"custom": {"delays": ["1s", null]}}}}}`, []Violation{{
			Path:    []string{"policies", "p", "backoff", "custom", "delays", "1"},
			Message: "A duration is a number with a unit: 500ms, 2s, 1m30s.",
		}}},
		{`{"version": 1, "policies": {"p": {"per_error": {"timeout": {"backoff": {"linear": null}}}}}}`, []Violation{{
			Path:    []string{"policies", "p", "per_error", "timeout", "backoff", "linear"},
			Message: "The settings of the strategy.",
		}}},
		{`{"version": 1, "policies": {"p": {"durable": {"on_lost": "retry"}}, "q": {"durable": false}}}`, nil},
		{`{"version": 1, "policies": {"p": {"durable": {"on_lost": "again"}}}}`, []Violation{{
			Path: []string{"policies", "p", "durable", "on_lost"}, Message: "on_lost is retry, fail or pause.",
		}}},
		{`{"version": 1, "policies": {"p": {"durable": {"retain": "1d"}}}}`, []Violation{{
			Path: []string{"policies", "p", "durable"}, Property: "retain",
			Message: "durable is true, false or {record: attempts, on_lost: pause}.",
		}}},
		{`{"version": 1, "bind": {"Charge": {"policy": "p", "id": ["a", 3]}}}`, []Violation{{
			Path: []string{"bind", "Charge", "id"}, Message: "The name of a parameter, or a list of names.",
		}}},
		{`{"version": 1, "groups": {"g": {"collect": {"every": 2}, "breaker": null, "failure_rate": 0.2}}}`, nil},
		{`{"version": 1, "groups": {"g": {"collect": "last"}}}`, []Violation{{
			Path: []string{"groups", "g", "collect"}, Message: "collect is all, first or {every: 10}.",
		}}},
		{`{"version": 1, "groups": {"g": {"breaker": "upstream"}}}`, []Violation{{
			Path: []string{"groups", "g", "breaker"}, Message: "breaker of a group has failures, open_for and successes.",
		}}},
		{`{"version": 1, "groups": {"g": {"failure_rate": 1}}}`, []Violation{{
			Path: []string{"groups", "g", "failure_rate"}, Message: "A share above 0 and below 1.",
		}}},
		{`{"version": 1, "policies": {"p": {"jitter": 2}}}`, []Violation{{
			Path:    []string{"policies", "p", "jitter"},
			Message: "jitter is true, false, a mode such as full, a factor such as 0.3, or {mode: additive, factor: 0.5}.",
		}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Validate(parse(t, tt.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestJSON(t *testing.T) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, JSON(), "", "  "); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(indented.Bytes(), JSON()) {
		t.Error("the schema is not indented by two spaces")
	}
	if id := parse(t, string(JSON())).(map[string]any)["$id"]; id != ID {
		t.Errorf("$id is %v, want %v", id, ID)
	}
}
