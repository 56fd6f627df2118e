package policy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// TestVectors walks testdata/vectors.json: numbers from the documents and the
// tests of the systems whose policies the language reads.
func TestVectors(t *testing.T) {
	var vectors []struct {
		Kind            string
		Input, Expected json.RawMessage
	}
	if err := json.Unmarshal(read(t, "testdata/vectors.json"), &vectors); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func(*testing.T, json.RawMessage, json.RawMessage){
		"duration_parse": durationVector, "duration_parse_documented": durationVector,
		"form_equivalence": formVector, "backoff_delays": delaysVector,
	}
	for i, v := range vectors {
		t.Run(fmt.Sprintf("%s/%d", v.Kind, i), func(t *testing.T) { kinds[v.Kind](t, v.Input, v.Expected) })
	}
}

func decode(t *testing.T, raw json.RawMessage, to any) {
	t.Helper()
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatal(err)
	}
}

func durationVector(t *testing.T, input, expected json.RawMessage) {
	var text string
	var want struct {
		OK        bool
		NS        *time.Duration
		Overflows bool `json:"overflows_int64"`
	}
	decode(t, input, &text)
	decode(t, expected, &want)
	got, err := duration.Parse(text)
	if ok := want.OK && !want.Overflows; (err == nil) != ok || ok && want.NS != nil && got != *want.NS {
		t.Errorf("ParseDuration(%q) = %v, %v; want %+v", text, got, err, want)
	}
}

// check puts settings, written as JSON, under a policy.
func check(t *testing.T, settings []byte) (retry.Policy, []policy.Problem) {
	t.Helper()
	file, problems := policy.Check("retry.yaml", fmt.Appendf(nil, "version: 1\npolicies: {p: %s}\n", settings))
	if file == nil {
		return retry.Policy{}, problems
	}
	return file.Policies[0].Policy, problems
}

func formVector(t *testing.T, input, expected json.RawMessage) {
	var want struct {
		Strategy string
		Initial  time.Duration `json:"initial_delay_ns"`
		Max      time.Duration `json:"max_delay_ns"`
		Attempts int
		Params   struct {
			Increment string
			Base      float64
			Delays    []string
		}
	}
	decode(t, expected, &want)
	p, problems := check(t, input)
	if problems != nil {
		t.Fatal(problems)
	}
	if p.Backoff.String() != want.Strategy {
		t.Errorf("strategy %v, want %v", p.Backoff, want.Strategy)
	}
	if want.Initial != 0 && p.InitialDelay != want.Initial || want.Max != 0 && p.MaxDelay != want.Max || want.Attempts != 0 && p.MaxAttempts != want.Attempts {
		t.Errorf("got %+v, want %+v", p, want)
	}
	var delays []string
	for _, d := range p.Delays {
		delays = append(delays, duration.Format(d))
	}
	increment := ""
	if p.Increment != 0 {
		increment = duration.Format(p.Increment)
	}
	if increment != want.Params.Increment || p.Base != want.Params.Base || !slices.Equal(delays, want.Params.Delays) {
		t.Errorf("got %+v, want parameters %+v", p, want.Params)
	}
	if p.Jitter != retry.JitterNone || p.DelayBudget != 0 || p.RetryOn != nil {
		t.Errorf("got %+v, want no jitter, budget or classes", p)
	}
}

func delaysVector(t *testing.T, input, expected json.RawMessage) {
	var in struct {
		Strategy     string
		Params       map[string]any
		InitialDelay time.Duration `json:"initial_delay_ns"`
		MaxDelay     time.Duration `json:"max_delay_ns"`
		Retries      int
	}
	var want struct {
		Delays []time.Duration `json:"delays_ns"`
	}
	decode(t, input, &in)
	decode(t, expected, &want)
	settings := map[string]any{
		"backoff":      map[string]any{in.Strategy: in.Params},
		"max_attempts": in.Retries + 1, "max_delay": in.MaxDelay.String(),
	}
	if in.Strategy != "custom" {
		settings["initial_delay"] = in.InitialDelay.String()
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	p, problems := check(t, text)
	if p.Name == "" {
		// Two vectors are of policies that the rules refuse, for good reason.
		shrinks := in.Params["base"] == 0.5 && problems[0].Rule == "P106"
		capped := in.InitialDelay > in.MaxDelay && problems[0].Rule == "P201"
		if !shrinks && !capped {
			t.Error(problems)
		}
		return
	}
	var got []time.Duration
	for k := range in.Retries {
		_, base, _ := p.Bounds(k+1, 0)
		got = append(got, base)
	}
	if !slices.Equal(got, want.Delays) {
		t.Errorf("delays %v, want %v", got, want.Delays)
	}
}
