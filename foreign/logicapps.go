package foreign

import (
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// logicAppsKind is the kind for the retryPolicy of actions and triggers in Azure Logic Apps
// workflows, alone or in an Azure Resource Manager template. Sources: "Handle errors and
// exceptions in Azure Logic Apps", and "Limits and configuration" for the limits.
var logicAppsKind = Kind{
	Name: "logicapps", Title: "Logic Apps workflow",
	recognize: func(doc *syntax.Node) bool { return hasPart(doc, isLogicApp) },
	decode: func(d *decoder, doc *value) {
		d.search("", doc, isLogicApp, func(_ string, v *value) { d.logicActions("workflow", v) })
	},
}

var logicWords = words{
	countsRetries: "count", "initial_delay": "interval", "max_delay": "maximumInterval", fixedBackoff: "type: fixed",
	"retry_on": fixed + "the responses",
}

// The limits of Logic Apps.
const (
	logicCount = 90
	logicLeast = 5 * time.Second
	logicMost  = 24 * time.Hour
)

// isLogicApp reports whether a map is the definition of a workflow, with a retryPolicy.
func isLogicApp(n *syntax.Node) bool {
	return strings.Contains(at(n, "$schema").Text, "Microsoft.Logic/schemas") && hasPart(n, isLogicAction)
}

// isLogicAction reports whether a map is an action or a trigger with a retryPolicy.
func isLogicAction(n *syntax.Node) bool { return at(at(n, "inputs"), "retryPolicy").IsMap() }

// logicActions converts the actions in a value. name is the name of the value. An action may
// contain other actions.
func (d *decoder) logicActions(name string, v *value) {
	d.search(name, v, isLogicAction, func(name string, action *value) {
		inputs := action.get("inputs")
		inputs.skipOthers("retryPolicy")
		d.logicPolicy(name, inputs.get("retryPolicy"))
		d.below(name, action, isLogicAction, func(name string, inner *value) { d.logicActions(name, inner) })
	})
}

// logicPolicy converts a retryPolicy. Each delay is a random value between half of the given
// delay and that delay.
func (d *decoder) logicPolicy(name string, r *value) {
	p := d.policy(name, logicWords, r)
	p.InitialDelay, p.MaxDelay = 7500*time.Millisecond, 45*time.Second // of the default policy
	p.MaxAttempts = 5
	kind := r.get("type")
	switch strings.ToLower(kind.text()) {
	case "none":
		p.MaxAttempts = 1
		r.skip(r.keys()...)
		return
	case "fixed":
		p.Backoff, p.MaxDelay = retry.BackoffFixed, logicMost
		for _, field := range []string{"minimumInterval", "maximumInterval"} {
			r.get(field).warn("P109", "%s has no effect with type fixed: remove it", field)
			r.get(field).skip()
		}
	case "exponential":
		p.Jitter, p.MaxDelay = retry.JitterEqual, logicMost
	default:
		if kind != nil && !isLogicExpression(kind) && !kind.n.IsMap() && !kind.n.IsList() {
			kind.mistake("P102", "type is none, fixed or exponential, not %s", syntax.Quote(kind.n.Text))
		}
		p.unknown = append(p.unknown, "initial_delay", "max_delay")
	}
	for _, status := range [][2]int{{408, 408}, {429, 429}, {500, 599}} {
		p.retryOn(d.http(status[0], status[1]), nil)
	}
	p.retryOn(retry.ClassNetwork, nil)
	p.logicCount(r.get("count"))
	p.logicInterval("initial_delay", r.get("interval"))
	p.logicInterval("max_delay", r.get("maximumInterval"))
	least, most := r.get("minimumInterval"), r.get("maximumInterval")
	if isLogicExpression(least) || least != nil && least.done {
		return
	}
	shortest, ok := least.duration(iso8601)
	switch {
	case !ok:
	case shortest < logicLeast || shortest > logicMost:
		least.logicRefused()
	case most != nil && !slices.Contains(p.unknown, "max_delay") && p.MaxDelay > 0 && shortest > p.MaxDelay:
		least.mistake("P201", "minimumInterval %s is above maximumInterval %s: lower it", duration.Format(shortest),
			duration.Format(p.MaxDelay))
	default:
		least.note("no delay is shorter")
	}
}

// isLogicExpression reports whether a value is computed by the workflow or by the template that
// contains it. Such a value is a loss.
func isLogicExpression(v *value) bool {
	if v == nil || !strings.HasPrefix(v.n.Text, "@") && !strings.HasPrefix(v.n.Text, "[") {
		return false
	}
	v.lose("%s is known at run time only", syntax.Quote(v.n.Text))
	return true
}

// logicCount reads the number of retries.
func (p *Policy) logicCount(v *value) {
	if isLogicExpression(v) {
		p.unknown = append(p.unknown, "max_attempts")
		return
	}
	if n, ok := v.int(); ok && (n < 1 || n > logicCount) {
		v.mistake("P102", "Logic Apps refuses count %d: write 1 to %d", n, logicCount)
	} else if ok {
		p.attempts(v, 1)
	}
}

// logicInterval reads one of the delays.
func (p *Policy) logicInterval(field rules.Field, v *value) {
	if isLogicExpression(v) {
		p.unknown = append(p.unknown, field)
		return
	}
	if v == nil || v.done || !p.duration(field, v, iso8601) {
		return
	}
	if d, _ := v.duration(iso8601); d < logicLeast || d > logicMost {
		v.logicRefused()
		p.unknown = append(p.unknown, field)
	}
}

// logicRefused reports an interval that Logic Apps refuses.
func (v *value) logicRefused() {
	v.mistake("P102", "Logic Apps refuses %s %s: write PT5S to P1D", v.key, v.n.Text)
}
