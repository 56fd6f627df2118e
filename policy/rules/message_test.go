package rules

import (
	"strings"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
)

// TestIn: fields, classes and numbers of attempts are written in other words, and
// advice about fields that cannot be set is omitted.
func TestIn(t *testing.T) {
	names := map[Field]string{
		"max_attempts": "limit", "max_delay": "cap", "jitter: full": "jitter: true", "timeout": "timeout",
	}
	words := Words{
		Field:    func(f Field) (string, bool) { return names[f], names[f] != "" },
		Class:    func(c retry.Class) string { return strings.ToUpper(string(c)) },
		Breaker:  strings.ToUpper,
		Attempts: func(n int) int { return n - 1 },
	}
	for _, tt := range []struct{ message, own, other string }{
		{"`max_delay` 1s is short: raise `max_delay` | lower `initial_delay`",
			"max_delay 1s is short: raise max_delay, or lower initial_delay", "cap 1s is short: raise cap"},
		{"nothing ends: write `max_attempts`: " + attempts(5) + " or fewer | write a `delay_budget` | write a `timeout`",
			"nothing ends: write max_attempts: 5 or fewer, a delay_budget, or a timeout",
			"nothing ends: write limit: 4 or fewer, or a timeout"},
		{"`retry_on` has " + className("timeout") + ": write `jitter: full`",
			"retry_on has timeout: write jitter: full", "retry_on has TIMEOUT: write jitter: true"},
		{"`breaker` " + breakerName("db") + " opens", "breaker db opens", "breaker DB opens"},
		{"no cap: write a `max_delay`", "no cap: write a max_delay", "no cap: write cap"},
		{"no cap: lower `base`", "no cap: lower base", "no cap"},
	} {
		f := Finding{message: tt.message}
		if got := f.In(policyWords); got != tt.own {
			t.Errorf("%s: got %q, want %q", tt.message, got, tt.own)
		}
		if got := f.In(words); got != tt.other {
			t.Errorf("%s: got %q, want %q", tt.message, got, tt.other)
		}
	}
}
