package foreign

import (
	"cmp"
	"slices"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
)

// flowKind is the kind for the time limits of a flow spec: timeouts of its scopes, and
// timeout_override of its steps, in milliseconds. Scopes without a timeout have the limits of
// the engine.
var flowKind = Kind{
	Name: "flow", Title: "flow spec",
	shape:     true,
	recognize: func(doc *syntax.Node) bool { return hasPart(doc, isFlow) },
	decode: func(d *decoder, doc *value) {
		d.search("", doc, isFlow, d.flowPart)
	},
}

var flowWords = words{"timeout": "timeouts", "scope": fixed + "scope"}

var stepWords = words{"timeout": "timeout_override", "scope": fixed + "step"}

// flowScopes lists the scopes of the engine with their limits, from the outermost to the
// innermost.
var flowScopes = []struct {
	name, within  string
	timeout, most time.Duration
}{
	{"flow", "", 30 * time.Minute, 45 * time.Minute},
	{"step", "flow", 10 * time.Minute, 15 * time.Minute},
	{"llm_call", "step", 2 * time.Minute, 3 * time.Minute},
	{"tool", "step", 5 * time.Minute, 10 * time.Minute},
}

// isFlow reports whether a map has timeouts of scopes or the timeout override of a step.
func isFlow(n *syntax.Node) bool {
	if n.Child("timeout_override") != nil {
		return true
	}
	t := n.Child("timeouts")
	return t != nil && t.IsMap() && slices.ContainsFunc(t.Entries, func(e syntax.Entry) bool { return isFlowScope(e.Key) })
}

func isFlowScope(name string) bool {
	for _, s := range flowScopes {
		if s.name == name {
			return true
		}
	}
	return false
}

func (d *decoder) flowPart(name string, v *value) {
	d.flowLimits(v.get("timeouts"), v)
	d.flowStep(name, v)
	d.below(name, v, isFlow, d.flowPart)
}

// flowStep adds a policy for a step with its own limit.
func (d *decoder) flowStep(name string, v *value) {
	if limit := v.get("timeout_override"); limit != nil {
		p := d.policy(stepName(name, v), stepWords, v)
		p.MaxAttempts = 1
		p.stepLimit(limit)
	}
}

// stepName returns the name for the policy of a step: the step's ID, or else name.
func stepName(name string, v *value) string { return cmp.Or(v.get("id").text(), name) }

// stepLimit sets the time limit of the step to which a policy belongs.
func (p *Policy) stepLimit(limit *value) {
	p.Scope = "step"
	p.from("scope", limit)
	p.duration("timeout", limit, in(time.Millisecond))
}

// flowLimits adds the scopes of the engine, with the timeouts that a flow sets.
func (d *decoder) flowLimits(timeouts, at *value) {
	for _, s := range flowScopes {
		known := len(d.file.scopes)
		scope := d.scope(s.name, flowWords, at)
		if v := timeouts.get(s.name); v != nil {
			scope.settings = slices.DeleteFunc(scope.settings, func(p setting) bool {
				return p.field == "timeout" && scope.places["timeout"] == nil // the default
			})
			scope.timeLimit(v, in(time.Millisecond))
		}
		if len(d.file.scopes) == known {
			continue
		}
		if !scope.has("timeout") {
			scope.set("timeout", nil, durationNode(s.timeout))
		}
		scope.set("hard_limit", nil, durationNode(s.most))
		if s.within != "" {
			scope.set("within", nil, syntax.Text(s.within))
		}
	}
}
