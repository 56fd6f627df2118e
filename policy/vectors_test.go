package policy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/internal/vectors"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// TestVectors walks the vectors about what policy files mean.
func TestVectors(t *testing.T) {
	vectors.Walk(t, "policy", map[string]any{
		"duration_parse": durationVector, "duration_parse_documented": durationVector,
		"form_equivalence": formVector, "backoff_delays": delaysVector, "breaker_defaults": breakerVector,
		"timeout_defaults": scopeVector, "timeout_override": overrideVector,
	})
}

func durationVector(t *testing.T, text string, want struct {
	OK        bool
	NS        *time.Duration
	Canonical string // another spelling of the same duration
	Error     string // humantime's message
	Decimal   string `json:"ns_decimal"` // where int64 is too small
	Overflows bool   `json:"overflows_int64"`
}) {
	if _, err := strconv.ParseInt(want.Decimal, 10, 64); want.Decimal != "" && (err != nil) != want.Overflows {
		t.Errorf("%s nanoseconds overflow: %v, want %v", want.Decimal, err != nil, want.Overflows)
	}
	texts := []string{text}
	if want.Canonical != "" {
		texts = append(texts, want.Canonical)
	}
	for _, text := range texts {
		got, err := duration.Parse(text)
		if ok := want.OK && !want.Overflows; (err == nil) != ok || ok && want.NS != nil && got != *want.NS {
			t.Errorf("Parse(%q) = %v, %v; want %+v", text, got, err, want)
		}
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

func formVector(t *testing.T, input json.RawMessage, want struct {
	Strategy string
	Initial  time.Duration `json:"initial_delay_ns"`
	Max      time.Duration `json:"max_delay_ns"`
	Attempts int
	Params   struct {
		Increment string
		Base      float64
		Delays    []string
	}
	Jitter    bool
	Factor    float64        `json:"jitter_factor"` // of jitter: true
	Budget    *time.Duration `json:"retry_budget"`
	RetryOn   []string       `json:"retry_on"`
	OnFailure string         `json:"on_failure"`
}) {
	p, problems := check(t, input)
	if problems != nil {
		t.Fatal(problems)
	}
	if p.Backoff.String() != want.Strategy {
		t.Errorf("strategy %v, want %v", p.Backoff, want.Strategy)
	}
	if want.Initial != 0 && p.InitialDelay != want.Initial || want.Max != 0 && p.MaxDelay != want.Max ||
		want.Attempts != 0 && p.MaxAttempts != want.Attempts {
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
	if want.Jitter || want.Budget != nil || len(want.RetryOn) > 0 {
		t.Errorf("got %+v, want no jitter, budget or classes in the vector", want)
	}
	if p.Jitter != retry.JitterNone || p.DelayBudget != 0 || p.RetryOn != nil {
		t.Errorf("got %+v, want no jitter, budget or classes", p)
	}
	if want.Factor != 0 {
		jittered, _ := check(t, []byte(`{"jitter": true}`))
		if got := jittered.Effective().JitterFactor; got != want.Factor {
			t.Errorf("factor %v, want %v", got, want.Factor)
		}
	}
	if want.OnFailure != "" {
		if _, problems := check(t, fmt.Appendf(nil, `{"on_failure": %q}`, want.OnFailure)); problems != nil {
			t.Error(problems)
		}
	}
}

func delaysVector(t *testing.T, in struct {
	Strategy     string
	Params       map[string]any
	InitialDelay time.Duration `json:"initial_delay_ns"`
	MaxDelay     time.Duration `json:"max_delay_ns"`
	Retries      int
}, want struct {
	Delays []time.Duration `json:"delays_ns"`
}) {
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

// breakerVector writes the defaults of another system, which are not ours.
func breakerVector(t *testing.T, _ struct{}, want struct {
	Failures  int    `json:"failure_threshold"`
	Successes int    `json:"success_threshold"`
	OpenFor   string `json:"timeout"`
	Calls     int    `json:"half_open_requests"`
}) {
	settings := fmt.Sprintf("failures: %d, successes: %d, open_for: %s, half_open_calls: %d",
		want.Failures, want.Successes, want.OpenFor, want.Calls)
	file, problems := policy.Check("retry.yaml",
		[]byte("version: 1\npolicies: {p: {breaker: b}}\nbreakers: {b: {"+settings+"}}\n"))
	if file == nil || len(file.Breakers) != 1 {
		t.Fatalf("%v", problems)
	}
	got := file.Breakers[0].Effective()
	openFor, err := time.ParseDuration(want.OpenFor)
	if err != nil {
		t.Fatal(err)
	}
	expected := breaker.Policy{
		Name: "b", Failures: want.Failures, Successes: want.Successes, OpenFor: openFor, HalfOpenCalls: want.Calls,
	}
	if diff := cmp.Diff(expected.Effective(), got); diff != "" {
		t.Error(diff)
	}
}

// scopes returns the scopes of the example that has those of the vectors.
func scopes(t *testing.T) map[string]policy.Scope {
	t.Helper()
	const name = "../examples/agent/retry.yaml"
	file, problems := policy.Check(name, read(t, name))
	if file == nil {
		t.Fatal(problems)
	}
	all := map[string]policy.Scope{}
	for _, s := range file.Scopes {
		all[s.Name] = s
	}
	return all
}

func scopeVector(t *testing.T, scope string, want struct {
	Default   int `json:"default_ms"`
	HardLimit int `json:"hard_limit_ms"`
}) {
	got := scopes(t)[scope]
	if got.Timeout.Milliseconds() != int64(want.Default) || got.HardLimit.Milliseconds() != int64(want.HardLimit) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// overrideVector writes a timeout under a policy in a scope. Package retry
// clamps the same timeout when it arrives at run time.
func overrideVector(t *testing.T, in struct {
	Scope    string
	Override int `json:"override_ms"`
}, want struct {
	Effective int `json:"effective_ms"`
	Lint      string
}) {
	scope := scopes(t)[in.Scope]
	text := fmt.Appendf(nil,
		"version: 1\nscopes: {s: {timeout: %s, hard_limit: %s}}\npolicies: {p: {scope: s, timeout: %dms}}\n",
		duration.Format(scope.Timeout), duration.Format(scope.HardLimit), in.Override)
	_, problems := policy.Check("retry.yaml", text)
	refused := slices.ContainsFunc(problems, func(p policy.Problem) bool { return p.Rule == "P403" })
	violation := strings.HasPrefix(want.Lint, "violation")
	if refused != violation || violation != (want.Effective < in.Override) {
		t.Errorf("got %v, want %+v", problems, want)
	}
}
