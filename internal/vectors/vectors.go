// Package vectors holds test vectors: expected numbers from the documentation, the
// tests and the code of the systems on which the policies are based. The tests of
// this module check that it produces them.
package vectors

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

//go:embed vectors.json
var text []byte

// A vector is one test case. The types of Input and Expected depend on Kind.
type vector struct {
	Source   string
	Kind     string
	Scope    string // "later": for a feature that this module does not have yet
	Input    json.RawMessage
	Expected json.RawMessage
}

func (v vector) required() bool { return v.Scope != "later" }

// walkers maps each kind to the packages whose tests run its vectors.
var walkers = map[string][]string{
	"backoff_delays":                {"runtime", "policy"},
	"backoff_delays_zero_based":     {"runtime"},
	"backoff_overflow":              {"runtime"},
	"backoff_sum":                   {"runtime"},
	"best_effort_completion":        {"runtime/job"},
	"best_effort_deadline_seconds":  {"runtime/job"},
	"best_effort_metrics":           {"contrib/prometheus"},
	"best_effort_min_dcs":           {"runtime/job"},
	"breaker":                       {"runtime"},
	"breaker_can_proceed":           {"runtime"},
	"breaker_defaults":              {"policy"},
	"breaker_escalate":              {"runtime"},
	"breaker_restore":               {"contrib/prodigy"},
	"budget_accounting":             {"runtime"},
	"category_max_retries":          {"runtime"},
	"dispatch_backoff":              {"runtime"},
	"dlq_manual_review":             {"runtime/durable"},
	"dlq_move":                      {"runtime/durable"},
	"dlq_reprocess_eligible":        {"runtime/durable"},
	"duration_parse":                {"policy", "policy/format", "contrib/prodigy"},
	"duration_parse_documented":     {"policy", "policy/format"},
	"error_class_policy":            {"runtime"},
	"error_collection":              {"runtime/job"},
	"error_match":                   {"runtime"},
	"error_policy":                  {"runtime/job"},
	"error_policy_defaults":         {"runtime/job"},
	"execute_always_failing":        {"runtime"},
	"execute_fail_n_then_succeed":   {"runtime"},
	"execute_with_retry_on":         {"runtime"},
	"fibonacci":                     {"runtime"},
	"form_equivalence":              {"policy", "policy/format"},
	"item_attempt_number":           {"contrib/prodigy"},
	"jitter_bounds":                 {"runtime"},
	"jitter_bounds_additive":        {"runtime"},
	"jitter_bounds_additive_capped": {"runtime"},
	"jitter_test_bounds":            {"runtime"},
	"late_results":                  {"runtime/job"},
	"merge_retry_counts":            {"contrib/prodigy"},
	"resume_attempts":               {"contrib/prodigy"},
	"resume_budget":                 {"runtime"},
	"resume_timer":                  {"contrib/prodigy"},
	"retry_after_seconds":           {"runtime/httpretry"},
	"retry_budget_clamp":            {"contrib/hyperscale"},
	"retry_budget_missing":          {"runtime/job"},
	"retry_budget_sequence":         {"runtime/job"},
	"retry_state_summary":           {"runtime/durable"},
	"retry_state_validate":          {"contrib/prodigy"},
	"retry_storm":                   {"runtime/job"},
	"status_should_retry":           {"runtime"},
	"timeout_cap":                   {"runtime"},
	"timeout_defaults":              {"policy"},
	"timeout_override":              {"runtime", "policy"},
	"timeout_resume":                {"contrib/recovery"},
	"timeouts_jsonl_row":            {"contrib/recovery"},
}

// Walk runs a subtest for each vector that the table walkers assigns to the package
// in the folder walker. kinds maps each kind to a func(*testing.T, Input,
// Expected). These types must have every field of the vectors: a vector with an
// unknown field fails the test.
func Walk(t *testing.T, walker string, kinds map[string]any) {
	t.Helper()
	for kind := range kinds {
		if !slices.Contains(walkers[kind], walker) {
			t.Errorf("the table walkers does not assign %s to %s: add it", kind, walker)
		}
	}
	for i, v := range load(t) {
		if !v.required() || !slices.Contains(walkers[v.Kind], walker) {
			continue
		}
		t.Run(fmt.Sprintf("%s/%d", v.Kind, i), func(t *testing.T) {
			if kinds[v.Kind] == nil {
				t.Fatalf("no test for %s in %s", v.Kind, walker)
			}
			check := reflect.ValueOf(kinds[v.Kind])
			check.Call([]reflect.Value{
				reflect.ValueOf(t), decode(t, v.Input, check.Type().In(1)), decode(t, v.Expected, check.Type().In(2)),
			})
		})
	}
}

func load(t *testing.T) (all []vector) {
	t.Helper()
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// decode decodes raw into a value of the given type.
func decode(t *testing.T, raw json.RawMessage, as reflect.Type) reflect.Value {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	value := reflect.New(as)
	if err := decoder.Decode(value.Interface()); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return value.Elem()
}
