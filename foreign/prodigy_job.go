package foreign

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// prodigyJobKeys lists the settings of a job. Any map of a workflow may contain them.
var prodigyJobKeys = []string{
	"on_item_failure", "continue_on_failure", "max_failures", "failure_threshold", "error_collection", "circuit_breaker",
	"max_parallel", "timeout_config", "agent_timeout_secs", "on_failure",
}

var groupWords = words{
	"workers": "max_parallel", "on_unit_failure": "on_item_failure", "max_failures": "max_failures",
	"failure_rate": "failure_threshold", "breaker": "circuit_breaker", "collect": "error_collection",
	"timeout": "agent_timeout_secs",
}

// hasProdigyJob reports whether a map has a part of a job's error policy, or one of the job's
// limits.
func hasProdigyJob(n *syntax.Node) bool {
	return slices.ContainsFunc(prodigyJobKeys, func(key string) bool { return n.Child(key) != nil })
}

// prodigyGroup reads those settings of the job that are in one map. All settings become one
// group of the file, and the units of the group are the job's items.
func (d *decoder) prodigyGroup(v *value) {
	d.prodigyTimeouts(v)
	d.prodigyOnFailure(v.get("on_failure"))
	keys := slices.DeleteFunc(slices.Clone(prodigyJobKeys), func(key string) bool {
		return key == "timeout_config" || key == "agent_timeout_secs" || key == "on_failure"
	})
	if !slices.ContainsFunc(keys, v.has) {
		return
	}
	if d.job == nil {
		d.job = newSection(d.groupNames.unique("job"), groupWords, v)
		d.file.groups = append(d.file.groups, d.job)
	}
	g := d.job
	if limit := v.get("max_parallel"); limit != nil {
		g.count("workers", limit)
	}
	d.prodigyItemFailure(g, v)
	if limit := v.get("max_failures"); limit != nil {
		g.count("max_failures", limit)
	}
	threshold := v.get("failure_threshold")
	switch share, ok := threshold.float(); {
	case !ok:
	case share <= 0:
		threshold.lose("a share of 0 stops the job at the first failure: on_unit_failure: stop")
	case share >= 1:
		threshold.lose("no share of failures is above %v: nothing stops the job", share)
	default:
		g.set("failure_rate", threshold, syntax.Number(share))
	}
	g.prodigyBreaker(v.get("circuit_breaker"))
	g.prodigyCollection(v.get("error_collection"))
}

// prodigyOnFailure reads what happens after the failure of a command or workflow. The commands
// in it may have their own policies.
func (d *decoder) prodigyOnFailure(on *value) {
	const why = "what follows a failure is Go code: a fallback where the function is bound"
	if on == nil || !on.n.IsMap() && !on.n.IsList() {
		on.lose(why)
		return
	}
	on.note(why)
	d.search(on.key, on, isProdigyPart, d.prodigyPart)
}

// count sets a whole number of at least 1.
func (s *section) count(field string, v *value) {
	switch n, ok := v.int(); {
	case !ok:
	case n < 1:
		v.lose("%d is no limit of a group, which is a whole number from 1", n)
	default:
		s.set(rules.Field(field), v, syntax.Int(n))
	}
}

// prodigyItemFailure reads what happens to a failed item.
func (d *decoder) prodigyItemFailure(g *section, v *value) {
	action, proceed := v.get("on_item_failure"), v.get("continue_on_failure")
	if v.has("continue_on_failure") && !proceed.bool() {
		g.set("on_unit_failure", proceed, syntax.Text("stop"))
	}
	switch {
	case action == nil:
	case action.n.IsMap():
		action.lose("handlers of failed items are Go code: read Errors and DeadLetters of the outcome")
	default:
		switch word := action.text(); word {
		case "dlq":
			g.set("on_unit_failure", action, syntax.Text("dead_letter"))
		case "skip", "stop":
			g.set("on_unit_failure", action, syntax.Text(word))
		case "retry":
			action.note("an item is retried as the policy of its unit says; after that it is skipped")
			g.set("on_unit_failure", action, syntax.Text("skip"))
		case "":
		default:
			action.lose("%s is handled in Go: read Errors and DeadLetters of the outcome", syntax.Quote(word))
		}
	}
}

// prodigyBreaker reads the breaker of a job, with the defaults of Prodigy.
func (s *section) prodigyBreaker(b *value) {
	if b == nil {
		return
	}
	if !b.n.IsMap() {
		b.mistake("P102", "circuit_breaker is a map, not %s", b.n.Describe())
		return
	}
	failures, successes, openFor := 5, 3, 30*time.Second
	if n, ok := b.get("failure_threshold").int(); ok && n > 0 {
		failures = n
	}
	if n, ok := b.get("success_threshold").int(); ok && n > 0 {
		successes = n
	}
	for _, key := range []string{"timeout", "recovery_timeout"} {
		if d, ok := b.get(key).duration(withUnit); ok && d > 0 {
			openFor = d
		}
	}
	for _, key := range []string{"half_open_requests", "half_open_max_calls"} {
		b.get(key).lose("the breaker of a group refuses no unit: the first failure after open_for opens it again")
	}
	s.set("breaker", b, syntax.FlowMap(
		syntax.Entry{Key: "failures", Value: syntax.Int(failures)},
		syntax.Entry{Key: "open_for", Value: durationNode(openFor)},
		syntax.Entry{Key: "successes", Value: syntax.Int(successes)},
	))
}

// prodigyCollection reads which errors of items a job collects.
func (s *section) prodigyCollection(v *value) {
	if v == nil {
		return
	}
	if v.n.IsMap() {
		if size, ok := v.get("batched").get("size").int(); ok && size > 0 {
			s.set("collect", v, every(size))
		}
		return
	}
	switch word := v.text(); word {
	case "aggregate":
		s.set("collect", v, syntax.Text("all"))
	case "immediate":
		s.set("collect", v, every(1))
	case "":
	default:
		if text, ok := strings.CutPrefix(word, "batched:"); ok {
			if size, err := strconv.Atoi(text); err == nil && size > 0 {
				s.set("collect", v, every(size))
				return
			}
		}
		v.mistake("P102", "error_collection is aggregate, immediate or {batched: {size: 10}}, not %s", syntax.Quote(word))
	}
}

// every returns the value of collect with which observers receive errors in batches of n.
func every(n int) *syntax.Node {
	return syntax.FlowMap(syntax.Entry{Key: "every", Value: syntax.Int(n)})
}

// prodigyTimeouts reads the time limits of agents and commands. They become scopes, because it
// is not known here to which functions their policies are bound.
func (d *decoder) prodigyTimeouts(v *value) {
	limit := func(name, within string, v *value) {
		if v == nil {
			return
		}
		s := d.scope(nameOf(name), groupWords, v)
		s.timeLimit(v, either(in(time.Second), withUnit))
		if within != "" && d.hasScope(within) && !s.has("within") {
			s.set("within", nil, syntax.Text(within))
		}
	}
	limit("agent", "", v.get("agent_timeout_secs"))
	config := v.get("timeout_config")
	if config == nil {
		return
	}
	limit("agent", "", config.get("agent_timeout_secs"))
	commands := config.get("command_timeouts")
	for _, key := range commands.keys() {
		limit(key, "agent", commands.get(key))
	}
	config.get("timeout_action").lose("a unit that has timed out has failed: on_unit_failure of the group decides")
	config.get("timeout_policy").lose("every scope has its limit, within the one around it")
	config.get("cleanup_grace_period_secs").lose("the context of the call ends at once: clean up where it is read")
	config.skip("enable_monitoring")
	d.below("agent", config, isProdigyPart, d.prodigyPart)
}

func (d *decoder) hasScope(name string) bool {
	return slices.ContainsFunc(d.file.scopes[d.firstScope:], func(s *section) bool { return s.name == name })
}

// finishGroup sets the defaults of Prodigy. If the group stops at the first failure, settings
// that it does not use become losses.
func (d *decoder) finishGroup() {
	g := d.job
	if g == nil {
		return
	}
	i := slices.IndexFunc(g.settings, func(p setting) bool { return p.field == "on_unit_failure" })
	if i < 0 {
		g.set("on_unit_failure", nil, syntax.Text("dead_letter"))
		return
	}
	if g.settings[i].value.Text == "stop" {
		for _, field := range []string{"max_failures", "failure_rate", "breaker"} {
			g.drop(rules.Field(field), "has no effect: the job stops at the first failure")
		}
	}
}
