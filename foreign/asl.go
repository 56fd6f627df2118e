package foreign

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// aslKind is the Amazon States Language: states-language.net/spec.html.
var aslKind = Kind{
	Name: "asl", Title: "Step Functions state machine",
	shape:     true,
	recognize: func(doc *syntax.Node) bool { return hasASL(doc, 0) },
	decode:    decodeASL,
	encode:    encodeASL,
}

var aslWords = words{
	countsRetries: "MaxAttempts", "initial_delay": "IntervalSeconds", "max_delay": "MaxDelaySeconds",
	"base": "BackoffRate", fixedBackoff: "BackoffRate: 1", "retry_on": "ErrorEquals", "attempt_timeout": "TimeoutSeconds",
}

// isASLState reports whether a map is a state with retriers.
func isASLState(n *syntax.Node) bool {
	list := at(n, "Retry")
	return len(list.Items) > 0 && list.Items[0].Get("ErrorEquals") != nil
}

// isASLMachine reports whether a map is a state machine.
func isASLMachine(n *syntax.Node) bool { return at(n, "States").IsMap() && n.Get("StartAt") != nil }

// aslDepth is the depth to which state machines are searched for. CloudFormation templates
// contain them in the properties of resources.
const aslDepth = 6

// hasASL reports whether a value is, or contains, a state machine or a state with retriers.
func hasASL(n *syntax.Node, depth int) bool {
	if isASLMachine(n) || isASLState(n) {
		return true
	}
	return depth < aslDepth &&
		slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool { return hasASL(e.Value, depth+1) })
}

func decodeASL(d *decoder, doc *value) { d.aslTree("", doc) }

// aslTree converts the state machines in a value. name is the name of the value.
func (d *decoder) aslTree(name string, v *value) {
	switch {
	case isASLMachine(v.n):
		v.skip("Comment", "StartAt", "Version", "QueryLanguage")
		v.get("TimeoutSeconds").lose("it limits the whole execution, of which a policy is one state")
		d.aslStates(v.get("States"))
	case isASLState(v.n):
		d.aslState(cmp.Or(name, "task"), v)
	default:
		for _, key := range v.keys() {
			if f := v.get(key); f != nil && hasASL(f.n, 0) {
				d.aslTree(key, f)
			} else {
				f.skip() // other resources of a template
			}
		}
	}
}

// aslFlow lists the fields of states that are unrelated to retries.
var aslFlow = []string{
	"Type", "Comment", "Resource", "Parameters", "Arguments", "Assign", "Next", "End", "InputPath", "OutputPath",
	"ResultPath", "ResultSelector", "Result", "Output", "Choices", "Default", "Seconds", "SecondsPath", "Timestamp",
	"TimestampPath", "Error", "ErrorPath", "Cause", "CausePath", "ItemsPath", "Items", "ItemSelector", "ItemReader",
	"ItemBatcher", "ResultWriter", "MaxConcurrency", "MaxConcurrencyPath", "Label", "Credentials", "QueryLanguage",
	"ToleratedFailureCount", "ToleratedFailureCountPath", "ToleratedFailurePercentage", "ToleratedFailurePercentagePath",
}

func (d *decoder) aslStates(states *value) {
	for _, name := range states.keys() {
		s := states.get(name)
		if s == nil {
			continue
		}
		for _, inner := range []string{"Iterator", "ItemProcessor"} {
			p := s.get(inner)
			p.skip("StartAt", "ProcessorConfig", "Comment", "QueryLanguage")
			d.aslStates(p.get("States"))
		}
		for _, branch := range s.get("Branches").items() {
			branch.skip("StartAt", "Comment", "QueryLanguage")
			d.aslStates(branch.get("States"))
		}
		d.aslState(name, s)
	}
}

// aslState converts the retriers of a state to one policy.
func (d *decoder) aslState(name string, s *value) {
	s.skip(aslFlow...)
	retriers := s.get("Retry").items()
	if len(retriers) == 0 { // nothing else decides about retries
		s.skip("Retry", "Catch", "TimeoutSeconds", "TimeoutSecondsPath", "HeartbeatSeconds", "HeartbeatSecondsPath")
		return
	}
	p := d.policy(name, aslWords, s.get("Retry"), s)
	s.get("Catch").lose("errors that are not retried continue at another state: a fallback: where the function is bound")
	s.get("HeartbeatSeconds").lose("a task that sends no heartbeat for this time has failed")
	s.skip("HeartbeatSecondsPath")
	s.get("TimeoutSecondsPath").lose("the timeout is known at run time only")
	p.duration("attempt_timeout", s.get("TimeoutSeconds"), in(time.Second))
	d.aslRetriers(p, retriers)
}

// aslRetriers reads the retriers of a state. The last one becomes the policy. The others become
// schedules of their error classes.
func (d *decoder) aslRetriers(p *Policy, retriers []*value) {
	last := len(retriers) - 1
	for i, r := range retriers {
		classes := d.aslErrors(r.get("ErrorEquals"))
		if i < last {
			own := &Policy{words: aslWords, places: map[rules.Field]*value{}}
			own.aslSchedule(r)
			for _, c := range classes {
				p.override(c, own, r)
			}
		} else {
			p.aslSchedule(r)
		}
		for _, c := range classes {
			p.retryOn(c, r.get("ErrorEquals"))
		}
	}
	if last > 0 {
		retriers[0].note("each retrier counts its own attempts; here the limit for the latest error counts all attempts")
	}
	if slices.Contains(p.RetryOn, retry.ClassAny) {
		p.RetryOn = nil // every error
	}
}

// override adds the schedule of another policy for errors of a class, unless the class already
// has one.
func (p *Policy) override(c retry.Class, own *Policy, at *value) {
	if c == retry.ClassAny || slices.ContainsFunc(p.PerError, func(o retry.Override) bool { return o.Class == c }) {
		return
	}
	p.PerError = append(p.PerError, retry.Override{Class: c, Schedule: own.Schedule})
	p.unknown = append(p.unknown, own.unknown...)
	p.from(rules.PerError(c), at)
}

// aslSchedule reads one retrier.
func (p *Policy) aslSchedule(r *value) {
	p.MaxAttempts, p.InitialDelay, p.MaxDelay = 4, time.Second, retry.None
	p.attempts(r.get("MaxAttempts"), 1)
	if v := r.get("IntervalSeconds"); v != nil {
		if p.duration("initial_delay", v, in(time.Second)) && p.InitialDelay < 0 {
			v.mistake("P102", "IntervalSeconds is at least 1: Step Functions refuses 0")
		}
	}
	p.base(r.get("BackoffRate"))
	p.duration("max_delay", r.get("MaxDelaySeconds"), in(time.Second))
	switch j := r.get("JitterStrategy"); j.text() {
	case "", "NONE":
	case "FULL":
		p.Jitter = retry.JitterFull
	default:
		j.mistake("P102", "JitterStrategy is FULL or NONE, not %s", syntax.Quote(j.n.Text))
	}
	r.skip("Comment")
}

// aslErrors returns the classes for the error names of a retrier.
func (d *decoder) aslErrors(list *value) (classes []retry.Class) {
	for _, item := range list.items() {
		switch name := item.text(); name {
		case "":
		case "States.ALL":
			classes = append(classes, retry.ClassAny)
		case "States.TaskFailed":
			item.note("every error except a timeout: here every error")
			classes = append(classes, retry.ClassAny)
		case "States.Timeout", "States.HeartbeatTimeout":
			classes = append(classes, retry.ClassTimeout)
		default:
			classes = append(classes, d.pattern(name, `\b`+regexp.QuoteMeta(name)+`\b`))
		}
	}
	return classes
}

// aslName returns the error name for which aslErrors created a class, or "".
func aslName(pattern string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(pattern, `\b`), `\b`)
	plain := strings.ReplaceAll(name, `\.`, ".")
	if regexp.QuoteMeta(plain) != name {
		return ""
	}
	return plain
}
