package rules

import (
	"fmt"

	"github.com/retrygen/retrygen/runtime/job"
)

// groupRules lists the rules about the error policy of groups.
var groupRules = []Rule{
	{ID: "P810", Severity: Warning, file: limitNeverReached},
}

// limitNeverReached is P810.
func limitNeverReached(f *File, report report) {
	for _, g := range f.Groups {
		warn := func(field Field, format string, args ...any) {
			report(Warning, Place{"groups", g.Name, field}, format, args...)
		}
		units := fmt.Sprintf("the %d units of the group", g.Units)
		if g.Units > 0 && g.MaxFailures > g.Units {
			warn("max_failures", "max_failures %d is more than %s: lower it", g.MaxFailures, units)
		}
		if g.Units > 0 && g.FailureRate > 0 && g.MinUnits > g.Units {
			warn("failure_rate", "failure_rate is checked from %d ended units on, more than %s: lower min_units", g.MinUnits,
				units)
		}
		breakerNeverStops(g, units, warn)
	}
}

// breakerNeverStops reports a breaker that needs more failures than the group can
// have. The failure after those that open it stops the group.
func breakerNeverStops(g job.GroupPolicy, units string, warn func(Field, string, ...any)) {
	if g.Breaker == nil {
		return
	}
	const field = "breaker.failures"
	needs := g.Breaker.Failures + 1
	switch {
	case g.MaxFailures > 0 && g.MaxFailures < needs:
		warn(field, "the breaker stops the group at failure %d, after max_failures %d: lower failures, or remove the breaker",
			needs, g.MaxFailures)
	case g.Units > 0 && g.Units < needs:
		warn(field, "the breaker stops the group at failure %d, more than %s: lower failures, or remove the breaker", needs,
			units)
	}
}
