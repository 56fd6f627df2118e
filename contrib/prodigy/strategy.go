package prodigy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A config is a retry configuration of Prodigy.
type config struct {
	source   string // its JSON text
	attempts int    // 0: not given
	schedule retry.Schedule
	budget   time.Duration // 0: none
	retryOn  []retry.Class
	classes  []retry.ErrorClass
	unmapped *Error // why a policy cannot express it, or nil
}

// A strategy is a backoff strategy with what its form says about delays. The
// fields of a form that does not say so are nil.
type strategy struct {
	backoff    retry.Backoff
	initial    *node
	increment  *node
	max        *node
	base       *node // a factor
	delays     *node
	expression *node // a formula
}

// The defaults of Prodigy.
const (
	defaultAttempts     = 3
	defaultInitialDelay = time.Second
	defaultMaxDelay     = 30 * time.Second
	defaultJitterFactor = 0.3
	defaultBase         = 2.0
)

// strategies are the strategies by their names in Rust without underscores and
// capitals: both spellings occur.
var strategies = map[string]retry.Backoff{
	"fixed": retry.BackoffFixed, "linear": retry.BackoffLinear, "exponential": retry.BackoffExponential,
	"fibonacci": retry.BackoffFibonacci, "custom": retry.BackoffCustom,
}

// strategy reads an enum of serde: a name, or an object with one key, the name,
// whose value are the fields. A nil node is the default.
func (r *reader) strategy(n *node) (s strategy) {
	if n == nil {
		return s
	}
	name, fields := n.text, n
	switch {
	case n.kind == '"':
	case n.kind == '{' && len(n.members) == 1:
		name, fields = n.members[0].key, n.members[0]
	default:
		r.fail(n, `is %v: want a strategy, as "fibonacci" or {"exponential": {"base": 2.0}}`, n)
		return s
	}
	backoff, ok := strategies[lowerCase(name)]
	if !ok {
		r.fail(n, "unknown strategy %q: want fixed, linear, exponential, fibonacci or custom; "+
			"update this package, or correct the file", short(name))
		return s
	}
	s.backoff = backoff
	if fields.kind == '{' {
		r.fields(fields, &s)
	} else if fields != n && fields.kind != 'n' {
		r.fail(fields, "is %v: want an object", fields)
	}
	if s.backoff == retry.BackoffLinear && s.increment == nil {
		r.fail(n, `strategy linear has no increment: write {"linear": {"increment": "1s"}}`)
	}
	return s
}

// fields reads the fields of a strategy. Prodigy has three definitions of them:
// "base" is a factor where it is a number, and a delay elsewhere.
func (r *reader) fields(n *node, s *strategy) {
	o := r.object(n)
	s.initial = o.get("initial", "delay")
	s.increment = o.get("increment")
	s.max = o.get("max")
	s.delays = o.get("delays")
	s.expression = o.get("formula")
	s.base = o.get("multiplier")
	if base := o.get("base"); base != nil && base.kind == 0 {
		s.base = base
	} else if base != nil {
		s.initial = base
	}
	o.rest(unknownKey)
}

var separators = strings.NewReplacer("_", "", "-", "")

// lowerCase drops what differs between the spellings of a name.
func lowerCase(name string) string {
	return strings.ToLower(separators.Replace(name))
}

// schedule returns the schedule of a strategy. The initial and the greatest
// delay are those around the strategy, for forms without their own.
func (r *reader) schedule(s strategy, initial, limit time.Duration) retry.Schedule {
	if s.initial != nil {
		initial = r.duration(s.initial)
	}
	if s.max != nil {
		limit = r.duration(s.max)
	}
	if limit == 0 { // no delays at all
		return retry.Schedule{Backoff: retry.BackoffFixed, InitialDelay: retry.None}
	}
	out := retry.Schedule{Backoff: s.backoff, InitialDelay: orNone(initial), MaxDelay: limit}
	switch s.backoff {
	case retry.BackoffLinear:
		out.Increment = r.duration(s.increment)
	case retry.BackoffExponential:
		out.Base = r.number(s.base, defaultBase)
	case retry.BackoffCustom:
		for _, delay := range r.list(s.delays) {
			out.Delays = append(out.Delays, r.duration(delay))
		}
	}
	return out
}

// orNone returns d as a field of a policy, where zero is the default.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return retry.None
	}
	return d
}

// jitter adds what Prodigy's documentation says about jitter: the delay ± factor
// × delay.
func jitter(s *retry.Schedule, on bool, factor float64) {
	if on && factor > 0 {
		s.Jitter, s.JitterFactor = retry.JitterProportional, factor
	}
}

// mappable returns why a policy cannot express a strategy, or nil.
func (r *reader) mappable(s strategy) *Error {
	switch {
	case s.expression != nil:
		return r.problem(s.expression, "a formula has no counterpart in a policy: list its delays, as "+
			`{"custom": {"delays": ["1s", "2s"]}}`)
	case s.backoff == retry.BackoffExponential && s.base != nil && r.number(s.base, 0) <= 0:
		return r.problem(s.base, "is %v: want a factor greater than 0", s.base)
	}
	return nil
}

// config reads a RetryConfig, in both of its definitions.
func (r *reader) config(n *node) *config {
	if n == nil {
		return nil
	}
	o := r.object(n)
	c := &config{source: r.source(n), attempts: defaultAttempts}
	if attempts := o.get("attempts", "max_attempts"); attempts != nil {
		c.attempts = max(r.count(attempts), 1) // Prodigy, too, makes the first one
	}
	s := r.strategy(o.get("backoff"))
	initial, limit := defaultInitialDelay, defaultMaxDelay
	if d := o.get("initial_delay"); d != nil {
		initial = r.duration(d)
	}
	if d := o.get("max_delay"); d != nil {
		limit = r.duration(d)
	}
	c.unmapped = r.mappable(s)
	c.schedule = r.schedule(s, initial, limit)
	jitter(&c.schedule, r.flag(o.get("jitter")), r.number(o.get("jitter_factor"), defaultJitterFactor))
	c.budget = r.duration(o.get("retry_budget"))
	for _, m := range r.list(o.get("retry_on")) {
		r.matcher(c, m)
	}
	if action := o.get("on_failure"); action != nil && lowerCase(action.text) != "stop" {
		r.note(action, "is not part of a policy: decide in the code that calls the step what follows its failure")
	}
	o.rest(unknownKey)
	return c
}

// matchers are the classes of errors by their names, as in strategies.
var matchers = map[string]retry.Class{
	"network": retry.ClassNetwork, "timeout": retry.ClassTimeout,
	"servererror": retry.ClassServerError, "ratelimit": retry.ClassRateLimit,
}

// matcher adds an element of retry_on.
func (r *reader) matcher(c *config, n *node) {
	pattern := n.find("pattern")
	if pattern == nil {
		pattern = n.find("Pattern")
	}
	if pattern == nil {
		class, ok := matchers[lowerCase(n.text)]
		if n.kind != '"' || !ok {
			r.fail(n, `is %v: want network, timeout, server_error, rate_limit or {"pattern": "…"}`, n)
		}
		c.retryOn = append(c.retryOn, class)
		return
	}
	re, err := regexp.Compile(r.string(pattern))
	if err != nil {
		c.unmapped = r.problem(pattern, "%s is not a regular expression of Go: rewrite it as RE2", pattern)
		return
	}
	class := retry.Class(fmt.Sprintf("pattern_%d", len(c.classes)+1))
	c.retryOn = append(c.retryOn, class)
	c.classes = append(c.classes, retry.ErrorClass{Class: class, Pattern: re})
}

// policy returns the policy of a configuration.
func (c *config) policy(name string, attempts int) *retry.Policy {
	s := c.schedule
	s.Delays = slices.Clone(s.Delays)
	if s.MaxAttempts = c.attempts; attempts > 0 {
		s.MaxAttempts = attempts
	}
	return &retry.Policy{
		Name: name, Schedule: s, DelayBudget: c.budget,
		RetryOn: slices.Clone(c.retryOn), Classes: slices.Clone(c.classes),
	}
}
