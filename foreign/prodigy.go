package foreign

import (
	"cmp"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// prodigyKind is the kind for workflows of Prodigy: retry policies, the error policy of a job,
// and the time limits of a flow spec, which a workflow may also contain.
var prodigyKind = Kind{
	Name: "prodigy", Title: "Prodigy workflow",
	shape: true,
	recognize: func(doc *syntax.Node) bool {
		return hasPart(doc, func(n *syntax.Node) bool { return isProdigy(n) || isProdigyJob(n) })
	},
	decode: func(d *decoder, doc *value) {
		d.file.matchText = true
		d.search("", doc, isProdigyPart, d.prodigyPart)
		d.finishGroup()
	},
}

var prodigyWords = words{
	"max_attempts": "attempts", "initial_delay": "initial_delay", "max_delay": "max_delay", "base": "base",
	"delays":       "delays",
	fullJitter:     "jitter: true",
	fixedBackoff:   "backoff: fixed",
	"delay_budget": "retry_budget", "retry_on": "retry_on",
	"timeout": "timeout_override", "scope": fixed + "step",
}

// isProdigy reports whether a map has a retry_config.
func isProdigy(n *syntax.Node) bool {
	c := n.Child("retry_config")
	return c != nil && c.IsMap() && !isSentence(at(c, "attempts")) && !isSentence(at(c, "max_attempts"))
}

// isSentence reports whether a value is a description of a field, in a place where other
// documents have a number.
func isSentence(n *syntax.Node) bool { return strings.Count(n.Text, " ") >= 2 && !isOpen(n) }

// isProdigyJob reports whether a map is a job, or has its error policy.
func isProdigyJob(n *syntax.Node) bool {
	mode, c := n.Child("mode"), n.Child("error_policy")
	return mode != nil && mode.Text == "mapreduce" || c != nil && c.IsMap()
}

// isProdigyPart reports whether a map has settings of retries, a job or a flow.
func isProdigyPart(n *syntax.Node) bool { return isProdigy(n) || hasProdigyJob(n) || isFlow(n) }

func (d *decoder) prodigyPart(name string, v *value) {
	d.prodigyGroup(v)
	if isFlow(v.n) {
		d.flowLimits(v.get("timeouts"), v)
	}
	if isProdigy(v.n) {
		p := d.prodigyPolicy(cmp.Or(stepName(name, v), "default"), v.get("retry_config"))
		if limit := v.get("timeout_override"); limit != nil {
			p.stepLimit(limit)
		}
	} else {
		d.flowStep(name, v)
	}
	d.below(name, v, isProdigyPart, d.prodigyPart)
}

func (d *decoder) prodigyPolicy(name string, r *value) *Policy {
	p := d.policy(name, prodigyWords, r)
	if !p.attempts(r.get("attempts"), 0) {
		p.attempts(r.get("max_attempts"), 0)
	}
	p.duration("initial_delay", r.get("initial_delay"), withUnit)
	p.duration("max_delay", r.get("max_delay"), withUnit)
	p.duration("delay_budget", r.get("retry_budget"), withUnit)
	if r.get("jitter").bool() {
		p.Jitter = retry.JitterProportional
		p.from("jitter", r.get("jitter"))
		p.jitterFactor(r.get("jitter_factor"))
	} else if f := r.get("jitter_factor"); f != nil {
		f.lacks("P109", "jitter_factor has no effect without jitter: true")
		f.skip()
	}
	p.prodigyBackoff(r.get("backoff"))
	for _, item := range r.get("retry_on").items() {
		d.prodigyError(p, item)
	}
	on := r.get("on_failure")
	if on != nil && (on.n.IsMap() || on.n.Text != "stop") {
		on.lose("the workflow continues after the last attempt: a fallback where the function is bound")
	} else {
		on.skip()
	}
	return p
}

// prodigyBackoff reads a strategy, which is either its name or a map with its name and
// settings.
func (p *Policy) prodigyBackoff(b *value) {
	if b == nil {
		return
	}
	p.from("backoff", b)
	kind, settings := "", (*value)(nil)
	if b.n.IsMap() {
		if keys := b.keys(); len(keys) > 0 {
			kind, settings = keys[0], b.get(keys[0])
		}
	} else {
		kind = b.text()
	}
	first := settings.get("initial")
	switch kind {
	case "fixed":
		p.Backoff, first = retry.BackoffFixed, settings.get("delay")
	case "linear":
		p.Backoff, p.Increment = retry.BackoffLinear, max(p.InitialDelay, time.Second)
		p.duration("increment", settings.get("increment"), withUnit)
	case "exponential":
		if !p.base(settings.get("base")) {
			p.base(settings.get("multiplier"))
		}
	case "fibonacci":
		p.Backoff = retry.BackoffFibonacci
	case "custom":
		p.Backoff = retry.BackoffCustom
		for _, item := range settings.get("delays").items() {
			if delay, ok := prodigyDelay(item); ok {
				p.Delays = append(p.Delays, delay)
			}
		}
	default:
		b.mistake("P102", "backoff is fixed, linear, exponential, fibonacci or custom, not %s", syntax.Quote(kind))
	}
	p.duration("initial_delay", first, withUnit)
}

// prodigyDelay reads a delay of custom backoff. Prodigy writes it as a map of seconds and
// nanoseconds.
func prodigyDelay(v *value) (time.Duration, bool) {
	if !v.n.IsMap() {
		return v.duration(withUnit)
	}
	seconds, ok := v.get("secs").duration(in(time.Second))
	rest, ok2 := v.get("nanos").duration(in(time.Nanosecond))
	return seconds + rest, ok || ok2
}

// prodigyError adds an error to retry_on. The error is the name of a class or a pattern.
func (d *decoder) prodigyError(p *Policy, item *value) {
	if item.n.IsMap() {
		if expr := item.get("pattern").text(); expr != "" {
			p.retryOn(d.pattern("pattern", expr), item)
		}
		return
	}
	switch name := item.text(); name {
	case "network", "timeout", "server_error", "rate_limit":
		p.retryOn(retry.Class(name), item)
	case "":
	default:
		p.retryOn(d.pattern(name, `(?i)`+name), item)
	}
}
