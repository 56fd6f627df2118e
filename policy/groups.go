package policy

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/job"
)

// A Group is work that fans out over units.
type Group struct {
	Pos Pos
	job.GroupPolicy
}

// groupKeys are the settings of a group.
var groupKeys = []string{
	"units", "timeout", "budget", "best_effort",
	"workers", "on_unit_failure", "max_failures", "failure_rate", "min_units", "breaker", "collect",
}

// groups reads the section groups.
func (d decoder) groups(root *syntax.Node, budgets []Budget) (list []Group) {
	for _, e := range d.section(root, "groups") {
		if e.Value.IsNull() {
			e.Value = &syntax.Node{Span: e.At, Value: map[string]any{}}
		}
		if !d.isMap(e.Value, "a group") {
			continue
		}
		d.unknownKeys(e.Value, "group", groupKeys...)
		g := Group{Pos: posOf(e.At), GroupPolicy: job.GroupPolicy{Name: e.Key}}
		g.Units = optional(d, e.Value, d.atLeastOne, "units").value
		g.Timeout = optional(d, e.Value, d.timeout, "timeout").value
		name := optional(d, e.Value, d.reference("budgets", "a budget"), "budget")
		for _, b := range budgets {
			switch {
			case b.Name != name.value:
			case b.Count == nil && (b.Ratio != nil || b.From.Name != ""):
				d.problem(name.at, "P102", "budget %s is a ratio, but the budget of a group counts: name one with retries", b.Name)
			default:
				g.Budget = b.Count
			}
		}
		if be := e.Value.Get("best_effort"); be != nil && !be.Value.IsNull() && d.isMap(be.Value, "best_effort") {
			g.BestEffort = d.bestEffort(be.Value)
		}
		d.errorPolicy(e.Value, &g.GroupPolicy)
		list = append(list, g)
	}
	return list
}

// errorPolicy reads what happens in a group when units fail.
func (d decoder) errorPolicy(n *syntax.Node, g *job.GroupPolicy) {
	g.Workers = optional(d, n, d.atLeastOne, "workers").value
	g.OnUnitFailure = optional(d, n, d.failureAction, "on_unit_failure").value
	g.MaxFailures = optional(d, n, d.atLeastOne, "max_failures").value
	g.FailureRate = optional(d, n, d.failureRate, "failure_rate").value
	g.MinUnits = optional(d, n, d.atLeastOne, "min_units").value
	g.Breaker = optional(d, n, d.groupBreaker, "breaker").value
	g.Collect = optional(d, n, d.collect, "collect").value
	limits := []string{"max_failures", "failure_rate", "min_units", "breaker"}
	for _, key := range limits {
		switch e := n.Written(key); {
		case e == nil:
		case g.OnUnitFailure == job.FailureStop:
			d.problem(e.At, "P109", "%s is not read with on_unit_failure: stop, which stops at the first failure: remove it",
				key)
		case key == "min_units" && n.Written("failure_rate") == nil:
			d.problem(e.At, "P109", "min_units is not read without failure_rate: write failure_rate, or remove min_units")
		}
	}
	*g = g.Effective()
}

// failureAction reads what happens to a unit that has failed.
func (d decoder) failureAction(e *syntax.Entry) (job.FailureAction, bool) {
	actions := []job.FailureAction{job.FailureSkip, job.FailureDeadLetter, job.FailureStop}
	i := slices.IndexFunc(actions, func(a job.FailureAction) bool { return e.Value.Value == a.String() })
	if i >= 0 {
		return actions[i], true
	}
	hint := map[string]string{
		"dlq":   ": write dead_letter",
		"retry": ": the unit's policy retries it, as max_attempts: 4",
	}[e.Value.Text]
	if strings.HasPrefix(e.Value.Text, "custom") || e.Value.Get("custom") != nil {
		hint = ": handle the Errors of the outcome in Go"
	}
	d.problem(e.Value.Span, "P102", "on_unit_failure is skip, dead_letter or stop, not %s%s", e.Value.Describe(), hint)
	return 0, false
}

// failureRate reads the share of failed units above which a group stops.
func (d decoder) failureRate(e *syntax.Entry) (float64, bool) {
	value, ok := number(e.Value)
	if !ok || value <= 0 || value >= 1 {
		d.problem(e.Value.Span, "P102", "%s is a share above 0 and below 1, as 0.2 for 20 %%, not %s", e.Key,
			e.Value.Describe())
		return 0, false
	}
	return value, true
}

// groupBreaker reads the breaker of a group.
func (d decoder) groupBreaker(e *syntax.Entry) (*breaker.Policy, bool) {
	if !e.Value.IsMap() {
		d.problem(e.Value.Span, "P102",
			"breaker of a group is a map, since each job has its own: write {failures: 5, open_for: 30s}, not %s",
			e.Value.Describe())
		return nil, false
	}
	d.unknownKeys(e.Value, "", "failures", "open_for", "successes")
	b := breaker.Policy{
		Failures:  optional(d, e.Value, d.atLeastOne, "failures").value,
		OpenFor:   optional(d, e.Value, d.aboveZero, "open_for").value,
		Successes: optional(d, e.Value, d.atLeastOne, "successes").value,
	}.Effective()
	return &b, true
}

// collect reads which errors of units a group keeps.
func (d decoder) collect(e *syntax.Entry) (job.Collect, bool) {
	switch e.Value.Value {
	case "all":
		return job.CollectAll, true
	case "first":
		return job.CollectFirst, true
	}
	if e.Value.IsMap() && e.Value.Written("every") != nil {
		d.unknownKeys(e.Value, "", "every")
		every := optional(d, e.Value, d.atLeastOne, "every")
		return job.Collect(every.value), every.value > 0
	}
	d.problem(e.Value.Span, "P102", "collect is all, first or {every: 10}, not %s", e.Value.Describe())
	return 0, false
}

func (d decoder) bestEffort(n *syntax.Node) *job.BestEffort {
	d.unknownKeys(n, "", "min_success", "deadline", "late", "check_every")
	var b job.BestEffort
	b.MinSuccess = optional(d, n, d.atLeastOne, "min_success").value
	b.Deadline = optional(d, n, d.bestEffortDeadline, "deadline").value
	b.CheckEvery = optional(d, n, d.aboveZero, "check_every").value
	if e := n.Get("late"); e != nil && !e.Value.IsNull() {
		late := map[string]job.Late{"log_only": job.LateLog, "log": job.LateLog, "update_result": job.LateUpdate,
			"update": job.LateUpdate}
		l, ok := late[e.Value.Text]
		if !ok {
			d.problem(e.Value.Span, "P102", "late is log_only or update_result, not %s", e.Value.Describe())
		}
		b.Late = l
		if word := l.String(); ok && e.Value.Text != word {
			d.spellings.Names = append(d.spellings.Names, syntax.Name{Map: n, Entry: e, Key: e.Key, Word: word})
		}
	}
	b = b.Effective()
	return &b
}

func (d decoder) bestEffortDeadline(e *syntax.Entry) (time.Duration, bool) {
	value, ok := d.aboveZero(e)
	if ok && value > job.MaxDeadline {
		d.problem(e.Value.Span, "P806", "deadline %s is over the ceiling of %s: lower it", duration.Format(value),
			duration.Format(job.MaxDeadline))
		return 0, false
	}
	return value, ok
}

// Explain describes when a job of the group ends and what happens to units that fail.
// file is the name of the policy file to print. Errors from w are ignored.
func (g *Group) Explain(w io.Writer, file string) {
	fmt.Fprintf(w, "group %s (%s:%d)\n\n", g.Name, file, g.Pos.Line)
	line := func(format string, args ...any) { fmt.Fprintf(w, "  "+format+"\n", args...) }
	if g.Workers > 0 {
		line("runs %s at a time", plural(g.Workers, "unit"))
	} else {
		line("runs all units at once")
	}
	if b := g.Budget; b != nil {
		line("budget %s: %s, of one unit %d", b.Name, plural(max(b.Retries, 0), "retry"), max(b.PerUnit, 0))
	}
	if e := g.BestEffort; e != nil {
		format := "ends when %s succeeded, and cancels the others"
		if e.Late == job.LateUpdate {
			format = "has a provisional result when %s succeeded, and adds later ones to the final one"
		}
		line(format, plural(e.MinSuccess, "unit"))
		line("ends after %s, with the results until then", duration.Format(e.Deadline))
	}
	if g.Timeout > 0 {
		line("fails after %s", duration.Format(g.Timeout))
	}
	g.explainFailures(line)
}

// explainFailures writes what failures of units do, in the order of the decisions.
func (g *Group) explainFailures(line func(format string, args ...any)) {
	if b := g.Breaker; b != nil {
		line("stops when a unit fails while the breaker is open: after %s in a row, for %s; then %s to close it",
			plural(b.Failures, "failure"), duration.Format(b.OpenFor), plural(b.Successes, "success"))
	}
	if g.MaxFailures > 0 {
		line("stops when %s failed", plural(g.MaxFailures, "unit"))
	}
	if g.FailureRate > 0 {
		line("stops when more than %.4g %% of the ended units failed, from %s on", 100*g.FailureRate,
			plural(g.MinUnits, "unit"))
	}
	line("%s", map[job.FailureAction]string{
		job.FailureSkip:       "continues when a unit fails",
		job.FailureDeadLetter: "continues when a unit fails, which becomes a dead letter",
		job.FailureStop:       "stops when a unit fails",
	}[g.OnUnitFailure])
	switch {
	case g.Collect == job.CollectAll:
		line("keeps all errors")
	case g.Collect == job.CollectFirst:
		line("keeps the first error")
	default:
		line("passes on errors in batches of %d, and keeps the rest", g.Collect)
	}
}

// ExplainGroups describes the groups in which a policy is bound. Errors from w are
// ignored.
func (f *File) ExplainGroups(w io.Writer, file, policy string) {
	for i := range f.Groups {
		if g := &f.Groups[i]; slices.ContainsFunc(f.Bindings, func(b Binding) bool {
			return b.Policy == policy && b.Group.Name == g.Name
		}) {
			fmt.Fprintln(w)
			g.Explain(w, file)
		}
	}
}
