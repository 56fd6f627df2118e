package rules

import (
	"fmt"

	"github.com/retrygen/retrygen/runtime/job"
)

// groupRules lists the rules about the error policy of groups.
var groupRules = []Rule{
	{
		ID: "P810", Title: "limit on failures that is never reached", Severity: Warning,
		Reports: "A group ends before `max_failures`, `min_units` or the failures of its `breaker` are reached.",
		Why: "The limit is meant to stop a job that cannot succeed. The job runs on, and calls a dependency that " +
			"is down for every unit.",
		Wrong: "groups: {import: {units: 8, failure_rate: 0.2}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		Right: "groups: {import: {units: 8, failure_rate: 0.2, min_units: 4}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		NotReported: []string{
			"Groups without `units`: the number is not known. Only a `breaker` is compared with `max_failures`.",
			"Limits that all units together can reach.",
		},
		Fix:     "Lower the limit, or remove it. `min_units` is 10 if it is not written.",
		Related: []string{"P109", "P808"},
		file:    limitNeverReached,
	},
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
