package policy

import (
	"math"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// settings are the contents of one map: a policy, defaults, or an entry of
// per_error.
type settings struct {
	values     map[rules.Field]written // by the key of the table
	perError   []classSchedule
	noPerError bool // null: no schedules are inherited
	broken     bool // they have an error
}

// A written value is the value of a setting in one map.
type written struct {
	null  bool        // the default applies
	value any         // the result of the setting's read, or nil
	at    syntax.Span // of the value
}

// valueOf returns the value of a setting, or the zero value if it is absent or
// null.
func valueOf[T any](s settings, key rules.Field) T {
	v, _ := s.values[key].value.(T)
	return v
}

// decoder turns nodes into settings.
type decoder struct {
	reporter
	spellings *syntax.Spellings

	names   map[string][]string        // by section, in the order of the file; only valid ones
	defined map[string]map[string]bool // by section and name
}

func newDecoder(name string) decoder {
	return decoder{
		reporter: newReporter(name, policyKeys), spellings: new(syntax.Spellings),
		names: map[string][]string{}, defined: map[string]map[string]bool{},
	}
}

// settings reads the map of a policy, or defaults.
func (d decoder) settings(n *syntax.Node) (s settings) {
	if !d.isMap(n, "a policy") {
		return s
	}
	d.unknownKeys(n, "policy", policyKeys...)
	s.values = d.values(n, func(*setting) bool { return true })
	d.combine(n, s.values)
	s.perError = d.perError(n)
	if e := n.Get("per_error"); e != nil {
		s.noPerError = e.Value.IsNull()
	}
	return s
}

// values reads the settings of a map for which want returns true.
func (d decoder) values(n *syntax.Node, want func(*setting) bool) map[rules.Field]written {
	values := map[rules.Field]written{}
	for i := range table {
		if s := &table[i]; s.read != nil && want(s) {
			if w, ok := d.value(n, s); ok {
				values[s.key] = w
			}
		}
	}
	return values
}

// value reads a setting under its key or its older key. It reports a problem if
// both are written and disagree.
func (d decoder) value(n *syntax.Node, s *setting) (first written, ok bool) {
	for _, key := range [...]string{string(s.key), s.older} {
		if key == "" {
			continue
		}
		e := n.Get(key)
		if e == nil {
			continue
		}
		next := written{null: e.Value.IsNull(), at: e.Value.Span}
		if !next.null {
			var good bool
			if next.value, good = s.read(d, e); !good {
				continue
			}
		}
		if ok && (first.null != next.null || first.value != next.value) {
			d.problem(e.At, "P104", "%s and %s are the same setting and disagree: keep %s", s.key, key, s.key)
			continue
		}
		if !ok {
			first, ok = next, true
		}
		if key == s.older {
			name := syntax.Name{Map: n, Entry: e, Key: string(s.key), Word: s.words[e.Value.Text]}
			d.spellings.Names = append(d.spellings.Names, name)
		}
	}
	return first, ok
}

// An option is a setting of a map that is not a policy. It has the zero value if
// it is absent, null or invalid.
type option[T any] struct {
	value T
	at    syntax.Span // of the value
}

// optional reads the setting of n under key.
func optional[T any](d decoder, n *syntax.Node, read func(*syntax.Entry) (T, bool), key string) (o option[T]) {
	e := n.Written(key)
	if e == nil {
		return o
	}
	if value, ok := read(e); ok {
		o = option[T]{value, e.Value.Span}
	}
	return o
}

// retryAfter reads ignore, the longest wait, or a map. It fills in no defaults:
// the runtime does.
func (d decoder) retryAfter(e *syntax.Entry) (r retry.RetryAfter, ok bool) {
	switch v := e.Value.Value.(type) {
	case map[string]any:
		d.unknownKeys(e.Value, "", "max", "default", "over")
		before := d.errors()
		r.Max = optional(d, e.Value, d.aboveZero, "max").value
		byDefault := optional(d, e.Value, d.aboveZero, "default")
		r.Default = byDefault.value
		if most := r.Limit(); r.Default > most {
			d.problem(byDefault.at, "P102",
				"default %s is longer than max %s, the longest wait that may be asked for: lower it, or raise max",
				duration.Format(r.Default), duration.Format(most))
		}
		if over := e.Value.Get("over"); over != nil && !over.Value.IsNull() {
			r.FailOver = over.Value.Value == "fail"
			if !r.FailOver && over.Value.Value != "cap" {
				d.problem(over.Value.Span, "P102",
					"over is cap, to wait max, or fail, to stop at once, not %s", over.Value.Describe())
			}
		}
		return r, d.errors() == before
	case string:
		if v == "ignore" {
			return retry.RetryAfter{Max: retry.None}, true
		}
		r.Max, ok = d.aboveZero(e)
		return r, ok
	}
	d.problem(e.Value.Span, "P102",
		"retry_after is ignore, the longest wait, or {max: 5m, default: 60s, over: cap}, not %s", e.Value.Describe())
	return r, false
}

func (d decoder) isMap(n *syntax.Node, what string) bool {
	if n.IsMap() {
		return true
	}
	d.problem(n.Span, "P102", "%s is a map of settings here, not %s", what, n.Describe())
	return false
}

func (d decoder) text(e *syntax.Entry) (string, bool) {
	s, ok := e.Value.Value.(string)
	if !ok {
		d.problem(e.Value.Span, "P102", "%s is text, not %s", e.Key, e.Value.Describe())
	}
	return s, ok
}

// name reads text that is not empty.
func (d decoder) name(e *syntax.Entry) (string, bool) {
	name, ok := d.text(e)
	return name, ok && name != ""
}

func (d decoder) attempts(e *syntax.Entry) (int, bool) {
	switch v := e.Value.Value.(type) {
	case int64:
		switch {
		case v >= 1 && v <= math.MaxInt32:
			return int(v), true
		case v > math.MaxInt32:
			d.problem(e.Value.Span, "P102", "%s is too large a number of attempts", e.Value.Text)
			return 0, false
		}
		d.problem(e.Value.Span, "P102",
			"%s is at least 1, the first attempt: write 1 for no retry, or unlimited with a timeout or delay_budget",
			e.Key)
	case string:
		if v == "unlimited" {
			return retry.Unlimited, true
		}
		d.problem(e.Value.Span, "P102", "%s is a number of attempts or unlimited, not %s", e.Key, e.Value.Describe())
	default:
		d.problem(e.Value.Span, "P102", "%s is a whole number of attempts or unlimited, not %s", e.Key, e.Value.Describe())
	}
	return 0, false
}

// duration reads a duration in any spelling.
func (d decoder) duration(n *syntax.Node, key string) (time.Duration, bool) {
	switch n.Value.(type) {
	case string, int64, float64:
		value, err := duration.Parse(n.Text)
		if err != nil {
			d.problem(n.Span, "P103", "%s: %v", key, err)
			return 0, false
		}
		switch unit := duration.CalendarUnit(n.Text); unit {
		case "":
		case "M":
			d.warn(n.Span, "P103",
				"%s: the M of %s is months, which are not always of the same length: write m for minutes, or d or w",
				key, n.Text)
		default:
			d.warn(n.Span, "P103",
				"%s: %s has the unit %s, which is not always of the same length: write it in d or w", key, n.Text, unit)
		}
		d.spellings.Durations = append(d.spellings.Durations, syntax.Duration{Node: n, Value: value})
		return value, true
	case map[string]any:
		value, ok := d.secsNanos(n, key)
		d.spellings.Durations = append(d.spellings.Durations, syntax.Duration{Node: n, Value: value})
		return value, ok
	}
	d.problem(n.Span, "P103", "%s is a duration, as 500ms or 2s, not %s", key, n.Describe())
	return 0, false
}

// secsNanos reads {secs: 1, nanos: 0}, as Rust's serde writes a Duration.
func (d decoder) secsNanos(n *syntax.Node, key string) (time.Duration, bool) {
	var parts [2]int64
	for i, name := range []string{"secs", "nanos"} {
		e := n.Get(name)
		if e == nil {
			d.problem(n.Span, "P102", "%s: a duration as a map is {secs: 1, nanos: 0}: write 1s instead", key)
			return 0, false
		}
		v, ok := e.Value.Value.(int64)
		if !ok || v < 0 || i == 1 && v >= 1e9 {
			d.problem(e.Value.Span, "P102", "%s: %s is a whole number, not %s", key, name, e.Value.Describe())
			return 0, false
		}
		parts[i] = v
	}
	d.unknownKeys(n, "", "secs", "nanos")
	if parts[0] > (math.MaxInt64-parts[1])/1e9 {
		d.problem(n.Span, "P103", "%s is longer than 292 years", key)
		return 0, false
	}
	return time.Duration(parts[0])*time.Second + time.Duration(parts[1]), true
}

// initialDelay reads initial_delay. 0 means to retry at once.
func (d decoder) initialDelay(e *syntax.Entry) (time.Duration, bool) {
	value, ok := d.duration(e.Value, e.Key)
	if value == 0 {
		value = retry.None
	}
	return value, ok
}

// maxDelay reads max_delay. none means no cap.
func (d decoder) maxDelay(e *syntax.Entry) (time.Duration, bool) {
	return d.positive(e, "no cap")
}

// timeout reads a time limit. For none it returns 0, which removes an inherited
// limit.
func (d decoder) timeout(e *syntax.Entry) (time.Duration, bool) {
	value, ok := d.positive(e, "no limit")
	return max(value, 0), ok
}

// delayBudget reads delay_budget, or retry_budget as Prodigy spells it. In other
// systems a retry budget is a count.
func (d decoder) delayBudget(e *syntax.Entry) (time.Duration, bool) {
	const mostCounted = 1000
	if n, ok := e.Value.Value.(int64); ok && e.Key == "retry_budget" && 0 < n && n <= mostCounted {
		d.problem(e.Value.Span, "P103",
			"retry_budget: %d has no unit: write %[1]ds, or for a count of retries budgets: {NAME: {retries: %[1]d}} and "+
				"budget: NAME here", n)
		return 0, false
	}
	return d.timeout(e)
}

// positive reads a duration above zero, or none, which is [retry.None].
func (d decoder) positive(e *syntax.Entry, none string) (time.Duration, bool) {
	if e.Value.Value == "none" {
		return retry.None, true
	}
	value, ok := d.duration(e.Value, e.Key)
	if ok && value == 0 {
		d.problem(e.Value.Span, "P102", "%s must be longer than 0: write none for %s", e.Key, none)
		return 0, false
	}
	return value, ok
}

// exhausted reads on_exhausted, or on_failure as Prodigy spells it.
func (d decoder) exhausted(e *syntax.Entry) (genapi.OnExhausted, bool) {
	v, _ := e.Value.Value.(string)
	switch {
	case e.Key == "on_exhausted":
		return word(d, genapi.ExhaustedFail, genapi.ExhaustedEscalate, genapi.ExhaustedDeadLetter,
			genapi.ExhaustedPause)(e)
	case v == "stop":
		return genapi.ExhaustedFail, true
	case v == "continue" || e.Value.Get("fallback") != nil:
		d.problem(e.Value.Span, "P102",
			"on_failure: %s belongs to a workflow engine: write on_exhausted: fail, and a fallback: "+
				"FUNCTION where the function is bound",
			failureText(e.Value))
	default:
		d.problem(e.Value.Span, "P102", "on_failure is stop, not %s", e.Value.Describe())
	}
	return 0, false
}

func (p *Policy) setExhausted(v genapi.OnExhausted) {
	p.OnExhausted, p.Escalate = v, v == genapi.ExhaustedEscalate
}

func (d decoder) scope(e *syntax.Entry) (string, bool) { return d.reference("scopes", "a scope")(e) }
func (d decoder) breaker(e *syntax.Entry) (string, bool) {
	return d.reference("breakers", "a breaker")(e)
}
func (d decoder) budget(e *syntax.Entry) (string, bool) { return d.reference("budgets", "a budget")(e) }
func (d decoder) limiterName(e *syntax.Entry) (string, bool) {
	return d.reference("concurrency", "a concurrency limit")(e)
}
func (d decoder) rateName(e *syntax.Entry) (string, bool) {
	if _, _, err := duration.ParseRate(e.Value.Text); err == nil {
		d.problem(e.Value.Span, "P102",
			"rate is the name of a rate: write rates: {partner: {rate: %s}} at the top of the file, and the name here",
			e.Value.Text)
		return "", false
	}
	return d.reference("rates", "a rate")(e)
}
func (d decoder) throttleName(e *syntax.Entry) (string, bool) {
	return d.reference("throttles", "a throttle")(e)
}

// failureText returns the value of on_failure in short form, for a problem.
func failureText(n *syntax.Node) string {
	if n.IsMap() {
		return "fallback"
	}
	return n.Text
}
