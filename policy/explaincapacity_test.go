package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/capacity"
)

// TestExplainExtremes: numbers at the ends of their ranges neither overflow nor become 0.
func TestExplainExtremes(t *testing.T) {
	var text strings.Builder
	limiter := Limiter{LimiterPolicy: capacity.LimiterPolicy{Name: "db", Limit: 1, Queue: 300_000, MaxWait: 3 * time.Hour}}
	limiter.explain(&text, "retry.yaml", 10*time.Hour)
	rate := Rate{RatePolicy: capacity.RatePolicy{Name: "fast", Events: 3_000_000, Per: time.Second, Burst: 1}}
	rate.explain(&text, "retry.yaml")
	for _, want := range []string{"the others wait for up to 3h\n", "one attempt each 333ns,"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}

// TestWorstOfManyAttempts: max_attempts limits the calls even if there are too many of them to count.
func TestWorstOfManyAttempts(t *testing.T) {
	for settings, want := range map[string]string{
		"max_attempts: 1000000": "up to 1000000 calls, no time limit",
		"max_attempts: 1000000, per_error: {network: {max_attempts: 2000000}}": "up to 2000000 calls, no time limit",
		"max_attempts: unlimited, max_elapsed: 1m, jitter: full":               "unlimited calls, no time limit",
	} {
		file, problems := Check("retry.yaml", []byte("version: 1\npolicies:\n  a: {"+settings+"}\n"))
		if file == nil {
			t.Fatal(problems)
		}
		if got := file.Policy("a").Worst().String(); got != want {
			t.Errorf("%s: got %q, want %q", settings, got, want)
		}
	}
}
