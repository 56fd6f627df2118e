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
