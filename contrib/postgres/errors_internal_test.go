package postgres

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// TestRestart: what was not committed is repeated for about 15s while the server
// refuses connections at once, and Open for about 5s.
func TestRestart(t *testing.T) {
	for name, at := range map[string]struct {
		policy       *retry.Policy
		least, limit time.Duration
	}{
		"update": {&policy, 12 * time.Second, 15 * time.Second},
		"open":   {&opening, 4 * time.Second, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := retry.Do(t.Context(), at.policy, func(context.Context) (int, error) { return 0, errConnection })
				if took := time.Since(start); err == nil || took < at.least || took > at.limit {
					t.Errorf("%v after %v, want an error after %v to %v", err, took, at.least, at.limit)
				}
			})
		})
	}
}
