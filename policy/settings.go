package policy

import (
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// An option is one setting of a map, normalised: whatever it was called, it
// has one meaning here.
type option[T any] struct {
	set   bool
	null  bool // written as null: back to the default
	value T
	at    span
}

// settings are what one map under policies, or defaults, says.
type settings struct {
	maxAttempts    option[int]
	backoff        option[backoff]
	initialDelay   option[time.Duration]
	maxDelay       option[time.Duration]
	jitter         option[jitter]
	delayBudget    option[time.Duration]
	maxElapsed     option[time.Duration]
	attemptTimeout option[time.Duration]
	timeout        option[time.Duration]
	retryOn        option[[]class]
	abortOn        option[[]class]
	extends        option[string]
	description    string
	broken         bool // something in them is wrong
}

// class is an item of retry_on or abort_on.
type class struct {
	name    retry.Class
	pattern *regexp.Regexp
}

type jitter struct {
	mode   retry.Jitter
	factor float64 // 0: the default
}

var policyKeys = []string{
	"description", "extends", "max_attempts", "attempts", "backoff", "initial_delay", "max_delay", "jitter", "jitter_factor",
	"delay_budget", "retry_budget", "max_elapsed", "attempt_timeout", "timeout", "retry_on", "abort_on", "on_exhausted", "on_failure",
}

// decoder turns nodes into settings.
type decoder struct {
	reporter
	canon *canon
}

// settings reads one map as it stands.
func (d decoder) settings(n *node) (s settings) {
	if !d.isMap(n, "a policy") {
		return s
	}
	d.unknownKeys(n, "policy", policyKeys...)
	if e := n.get("description"); e != nil {
		s.description = d.text(e, "description")
	}
	s.extends = one(d, n, d.parent, "extends")
	s.maxAttempts = one(d, n, d.attempts, "max_attempts", "attempts")
	s.initialDelay = one(d, n, d.initialDelay, "initial_delay")
	s.maxDelay = one(d, n, d.maxDelay, "max_delay")
	s.delayBudget = one(d, n, d.limit, "delay_budget", "retry_budget")
	s.maxElapsed = one(d, n, d.limit, "max_elapsed")
	s.attemptTimeout = one(d, n, d.timeout, "attempt_timeout")
	s.timeout = one(d, n, d.timeout, "timeout")
	d.backoff(n, &s)
	d.canon.backoff(n)
	d.jitter(n, &s)
	d.canon.jitter(n)
	s.retryOn = one(d, n, d.classes, "retry_on")
	s.abortOn = one(d, n, d.classes, "abort_on")
	d.exhausted(n)
	d.canon.exhausted(n)
	return s
}

// one reads a setting that may be written under any of several keys, the
// canonical one first. Two that disagree are a problem.
func one[T comparableOrList](d decoder, n *node, read func(*entry) (T, bool), keys ...string) (o option[T]) {
	var first *entry
	for _, key := range keys {
		e := n.get(key)
		if e == nil {
			continue
		}
		next := option[T]{set: true, null: e.value.isNull(), at: e.value.span}
		if !next.null {
			var ok bool
			if next.value, ok = read(e); !ok {
				continue
			}
		}
		if first != nil && (o.null != next.null || any(o.value) != any(next.value)) {
			d.problem(e.at, "P104", "%s and %s are the same setting and disagree: keep %s", first.key, key, keys[0])
			continue
		}
		if first == nil {
			first, o = e, next
		}
		if key != keys[0] {
			d.canon.alias(n, e, keys[0])
		}
	}
	return o
}

// comparableOrList: only settings with one spelling are lists, so that lists
// are never compared.
type comparableOrList interface {
	int | string | time.Duration | []class
}

func (d decoder) isMap(n *node, what string) bool {
	if n.isMap() {
		return true
	}
	d.problem(n.span, "P102", "%s is a map of settings here, not %s", what, kindOf(n))
	return false
}

func kindOf(n *node) string {
	switch n.value.(type) {
	case nil:
		return "nothing"
	case bool:
		return n.text
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	case string:
		return "the text " + quoteShort(n.text)
	}
	return "the number " + quoteShort(n.text)
}

// quoteShort quotes what the user wrote, cut where it gets long.
func quoteShort(s string) string {
	const most = 40
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return `"` + s + `"`
}

func (d decoder) text(e *entry, what string) string {
	s, ok := e.value.value.(string)
	if !ok {
		d.problem(e.value.span, "P102", "%s is text, not %s", what, kindOf(e.value))
	}
	return s
}

func (d decoder) parent(e *entry) (string, bool) {
	name := d.text(e, "extends")
	return name, name != ""
}

func (d decoder) attempts(e *entry) (int, bool) {
	switch v := e.value.value.(type) {
	case int64:
		switch {
		case v >= 1 && v <= math.MaxInt32:
			return int(v), true
		case v > math.MaxInt32:
			d.problem(e.value.span, "P102", "%s is too large a number of attempts", e.value.text)
			return 0, false
		}
		d.problem(e.value.span, "P102", "%s is at least 1, the first attempt: write 1 for no retry, or unlimited with a timeout or delay_budget", e.key)
	case string:
		if v == "unlimited" {
			return retry.Unlimited, true
		}
		d.problem(e.value.span, "P102", "%s is a number of attempts or unlimited, not %s", e.key, kindOf(e.value))
	default:
		d.problem(e.value.span, "P102", "%s is a whole number of attempts or unlimited, not %s", e.key, kindOf(e.value))
	}
	return 0, false
}

// duration reads a duration in any spelling.
func (d decoder) duration(n *node, key string) (time.Duration, bool) {
	switch n.value.(type) {
	case string, int64, float64:
		value, err := duration.Parse(n.text)
		if err != nil {
			d.problem(n.span, "P103", "%s: %v", key, err)
			return 0, false
		}
		if duration.HasCalendarUnit(n.text) {
			d.warn(n.span, "P103", "%s: %s has a unit that is not always of the same length: write it in d or w", key, n.text)
		}
		d.canon.duration(n, value)
		return value, true
	case map[string]any:
		value, ok := d.secsNanos(n, key)
		d.canon.duration(n, value)
		return value, ok
	}
	d.problem(n.span, "P103", "%s is a duration, as 500ms or 2s, not %s", key, kindOf(n))
	return 0, false
}

// secsNanos reads {secs: 1, nanos: 0}, as Rust's serde writes a Duration.
func (d decoder) secsNanos(n *node, key string) (time.Duration, bool) {
	var parts [2]int64
	for i, name := range []string{"secs", "nanos"} {
		e := n.get(name)
		if e == nil {
			d.problem(n.span, "P102", "%s: a duration as a map is {secs: 1, nanos: 0}: write 1s instead", key)
			return 0, false
		}
		v, ok := e.value.value.(int64)
		if !ok || v < 0 || i == 1 && v >= 1e9 {
			d.problem(e.value.span, "P102", "%s: %s is a whole number, not %s", key, name, kindOf(e.value))
			return 0, false
		}
		parts[i] = v
	}
	d.unknownKeys(n, "", "secs", "nanos")
	if parts[0] > (math.MaxInt64-parts[1])/1e9 {
		d.problem(n.span, "P103", "%s is longer than 292 years", key)
		return 0, false
	}
	return time.Duration(parts[0])*time.Second + time.Duration(parts[1]), true
}

// initialDelay may be zero: retry at once.
func (d decoder) initialDelay(e *entry) (time.Duration, bool) {
	value, ok := d.duration(e.value, e.key)
	if value == 0 {
		value = retry.None
	}
	return value, ok
}

// maxDelay may be none: no cap.
func (d decoder) maxDelay(e *entry) (time.Duration, bool) {
	return d.positive(e, "no cap")
}

// timeout may be none. In the resolved policy that is zero, as if it had not
// been said, so that it can lift a default.
func (d decoder) timeout(e *entry) (time.Duration, bool) {
	value, ok := d.positive(e, "no limit")
	return max(value, 0), ok
}

// limit is a time limit that is absent or written.
func (d decoder) limit(e *entry) (time.Duration, bool) { return d.timeout(e) }

// positive reads a duration above zero or none.
func (d decoder) positive(e *entry, none string) (time.Duration, bool) {
	if e.value.value == "none" {
		return retry.None, true
	}
	value, ok := d.duration(e.value, e.key)
	if ok && value == 0 {
		d.problem(e.value.span, "P102", "%s is longer than 0: write none for %s", e.key, none)
		return 0, false
	}
	return value, ok
}

var builtinClasses = []string{"network", "timeout", "server_error", "rate_limit", "canceled", "transient", "any"}

func (d decoder) classes(e *entry) ([]class, bool) {
	if !e.value.isList() {
		d.problem(e.value.span, "P102", "%s is a list of error classes, as [network, timeout], not %s", e.key, kindOf(e.value))
		return nil, false
	}
	if len(e.value.items) == 0 && e.key == "retry_on" {
		d.problem(e.value.span, "P108", "retry_on is empty, so that nothing would be retried: list error classes, remove it to retry every error, or write max_attempts: 1")
		return nil, false
	}
	var list []class
	ok := true
	for _, item := range e.value.items {
		c, good := d.class(item, e.key)
		if good && slices.ContainsFunc(list, func(have class) bool { return have.name == c.name }) {
			d.problem(item.span, "P102", "%s stands twice in %s: remove one", c.name, e.key)
			good = false
		}
		list = append(list, c)
		ok = ok && good
	}
	return list, ok
}

func (d decoder) class(n *node, key string) (class, bool) {
	switch v := n.value.(type) {
	case string:
		switch {
		case v == "canceled" && key == "retry_on":
			d.problem(n.span, "P707", "a call that its caller canceled is never retried: remove canceled")
			return class{}, false
		case slices.Contains(builtinClasses, v):
			return class{name: retry.Class(v)}, true
		case v == "breaker_open":
			d.problem(n.span, "P909", "breaker_open is not supported yet: remove it")
			return class{}, false
		}
		d.problem(n.span, "P901", "there is no error class %s%s", quoteShort(v), didYouMean(v, builtinClasses))
	case map[string]any:
		e := n.get("pattern")
		d.unknownKeys(n, "", "pattern")
		if e == nil {
			d.problem(n.span, "P102", "an item of %s is a class, or {pattern: …}", key)
			return class{}, false
		}
		text, ok := e.value.value.(string)
		if !ok {
			d.problem(e.value.span, "P102", "pattern is text, not %s", kindOf(e.value))
			return class{}, false
		}
		re, err := regexp.Compile(text)
		if err != nil {
			d.problem(e.value.span, "P709", "%v: write a pattern in Go's syntax (RE2)", err)
			return class{}, false
		}
		return class{retry.Class("pattern:" + text), re}, true
	default:
		d.problem(n.span, "P102", "an item of %s is a class, or {pattern: …}, not %s", key, kindOf(n))
	}
	return class{}, false
}

// exhausted reads on_exhausted and Prodigy's on_failure, of which only failing
// is carried out.
func (d decoder) exhausted(n *node) {
	for key, fail := range map[string]string{"on_exhausted": "fail", "on_failure": "stop"} {
		e := n.get(key)
		if e == nil || e.value.isNull() || e.value.value == fail {
			continue
		}
		switch v := e.value.value; {
		case key == "on_exhausted" && (v == "escalate" || v == "dead_letter"):
			d.problem(e.value.span, "P909", "%s: %s is not supported yet: remove it", key, v)
		case key == "on_failure" && (v == "continue" || e.value.get("fallback") != nil):
			d.problem(e.value.span, "P102", "on_failure: %s belongs to a workflow engine: write on_exhausted: fail, and handle the error where the wrapper is called", what(e.value))
		default:
			d.problem(e.value.span, "P102", "%s is %s, not %s", key, fail, kindOf(e.value))
		}
	}
}

func what(n *node) string {
	if n.isMap() {
		return "fallback"
	}
	return n.text
}

// over lays s over the settings below it.
func (s settings) over(below settings) settings {
	lay(&s.maxAttempts, below.maxAttempts)
	lay(&s.backoff, below.backoff)
	lay(&s.initialDelay, below.initialDelay)
	lay(&s.maxDelay, below.maxDelay)
	lay(&s.jitter, below.jitter)
	lay(&s.delayBudget, below.delayBudget)
	lay(&s.maxElapsed, below.maxElapsed)
	lay(&s.attemptTimeout, below.attemptTimeout)
	lay(&s.timeout, below.timeout)
	lay(&s.retryOn, below.retryOn)
	lay(&s.abortOn, below.abortOn)
	return s
}

func lay[T any](o *option[T], below option[T]) {
	if !o.set {
		*o = below
	}
}

// policy writes the settings out as the runtime's model, with every default.
func (s settings) policy(name string) retry.Policy {
	p := retry.Policy{
		Name: name, MaxAttempts: s.maxAttempts.value, InitialDelay: s.initialDelay.value, MaxDelay: s.maxDelay.value,
		Backoff: s.backoff.value.strategy, Base: s.backoff.value.base, Increment: s.backoff.value.increment, Delays: s.backoff.value.delays,
		Jitter: s.jitter.value.mode, JitterFactor: s.jitter.value.factor,
		DelayBudget: s.delayBudget.value, MaxElapsed: s.maxElapsed.value, AttemptTimeout: s.attemptTimeout.value, Timeout: s.timeout.value,
	}
	add := func(list []class, to *[]retry.Class) {
		for _, c := range list {
			*to = append(*to, c.name)
			if c.pattern != nil && !slices.ContainsFunc(p.Classes, func(have retry.ErrorClass) bool { return have.Class == c.name }) {
				p.Classes = append(p.Classes, retry.ErrorClass{Class: c.name, Pattern: c.pattern})
			}
		}
	}
	add(s.retryOn.value, &p.RetryOn)
	add(s.abortOn.value, &p.AbortOn)
	return p.Effective()
}

// places maps every field that is written somewhere to where.
func (s settings) places() map[rules.Field]span {
	places := map[rules.Field]span{}
	note := func(field rules.Field, set bool, at span) {
		if set {
			places[field] = at
		}
	}
	note("max_attempts", s.maxAttempts.set, s.maxAttempts.at)
	note("backoff", s.backoff.set, s.backoff.at)
	note("base", s.backoff.set, s.backoff.at)
	note("increment", s.backoff.set, s.backoff.at)
	note("delays", s.backoff.set, s.backoff.at)
	note("initial_delay", s.initialDelay.set, s.initialDelay.at)
	note("max_delay", s.maxDelay.set, s.maxDelay.at)
	note("jitter", s.jitter.set, s.jitter.at)
	note("jitter_factor", s.jitter.set, s.jitter.at)
	note("delay_budget", s.delayBudget.set, s.delayBudget.at)
	note("max_elapsed", s.maxElapsed.set, s.maxElapsed.at)
	note("attempt_timeout", s.attemptTimeout.set, s.attemptTimeout.at)
	note("timeout", s.timeout.set, s.timeout.at)
	note("retry_on", s.retryOn.set, s.retryOn.at)
	note("abort_on", s.abortOn.set, s.abortOn.at)
	return places
}
