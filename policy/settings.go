package policy

import (
	"math"
	"strconv"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// settings are what one map under policies, per_error or defaults contains.
type settings struct {
	values     map[rules.Field]written // by the key of the table
	perError   []classSchedule
	noPerError bool // null: no schedules are inherited
	broken     bool // something in them is wrong
}

// A written value is a setting in a map.
type written struct {
	null  bool // the default applies
	value any  // as its setting's read returns it, or nil
	at    span // of the value
}

// valueOf returns the value of a setting, or zero where it is absent or null.
func valueOf[T any](s settings, key rules.Field) T {
	v, _ := s.values[key].value.(T)
	return v
}

// decoder turns nodes into settings.
type decoder struct {
	reporter
	spellings *Spellings

	// The names that each section defines, in its order and to look up.
	names   map[string][]string
	defined map[string]map[string]bool
}

// settings reads the map of a policy, or defaults.
func (d decoder) settings(n *node) (s settings) {
	if !d.isMap(n, "a policy") {
		return s
	}
	d.unknownKeys(n, "policy", policyKeys...)
	s.values = d.values(n, false)
	s.perError = d.perError(n)
	if e := n.get("per_error"); e != nil {
		s.noPerError = e.value.isNull()
	}
	return s
}

// values reads the settings of a map: those of a policy, or of an entry of
// per_error.
func (d decoder) values(n *node, perError bool) map[rules.Field]written {
	values := map[rules.Field]written{}
	for i := range table {
		if s := &table[i]; s.read != nil && (s.perError || !perError) {
			if w, ok := d.value(n, s); ok {
				values[s.key] = w
			}
		}
	}
	d.combine(n, values)
	return values
}

// value reads a setting under its key or the older one. It reports a problem
// where both are written and disagree.
func (d decoder) value(n *node, s *setting) (first written, ok bool) {
	for _, key := range [...]string{string(s.key), s.older} {
		if key == "" {
			continue
		}
		e := n.get(key)
		if e == nil {
			continue
		}
		next := written{null: e.value.isNull(), at: e.value.span}
		if !next.null {
			var good bool
			if next.value, good = s.read(d, e); !good {
				continue
			}
		}
		if ok && (first.null != next.null || first.value != next.value) {
			d.problem(e.at, "P104", "%s and %s are the same setting and disagree: keep %s", s.key, key, s.key)
			continue
		}
		if !ok {
			first, ok = next, true
		}
		if key == s.older {
			d.spellings.Names = append(d.spellings.Names, Name{n, e, string(s.key), s.words[e.value.text]})
		}
	}
	return first, ok
}

// An option is a setting of another map: the zero value where it is absent,
// null or wrong.
type option[T any] struct {
	value T
	at    span // of the value
}

// one reads the setting of n under key.
func one[T any](d decoder, n *node, read func(*entry) (T, bool), key string) (o option[T]) {
	e := n.written(key)
	if e == nil {
		return o
	}
	if value, ok := read(e); ok {
		o = option[T]{value, e.value.span}
	}
	return o
}

// retryAfter reads ignore, the greatest wait, or a map. What is not written is
// left to the runtime, so that no key changes what another one means.
func (d decoder) retryAfter(e *entry) (r retry.RetryAfter, ok bool) {
	switch v := e.value.value.(type) {
	case map[string]any:
		d.unknownKeys(e.value, "", "max", "default", "over")
		before := d.errors()
		r.Max = one(d, e.value, d.aboveZero, "max").value
		byDefault := one(d, e.value, d.aboveZero, "default")
		r.Default = byDefault.value
		if most := r.Limit(); r.Default > most {
			d.problem(byDefault.at, "P102", "default %s is longer than max %s, the longest wait that may be asked for: lower it, or raise max", duration.Format(r.Default), duration.Format(most))
		}
		if over := e.value.get("over"); over != nil && !over.value.isNull() {
			r.FailOver = over.value.value == "fail"
			if !r.FailOver && over.value.value != "cap" {
				d.problem(over.value.span, "P102", "over is cap, to wait max, or fail, to stop at once, not %s", kindOf(over.value))
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
	d.problem(e.value.span, "P102", "retry_after is ignore, the longest wait, or {max: 5m, default: 60s, over: cap}, not %s", kindOf(e.value))
	return r, false
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

// quoteShort quotes what the user wrote, as Go does, cut where it gets long.
func quoteShort(s string) string {
	const most = 40
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return strconv.Quote(s)
}

func (d decoder) text(e *entry) (string, bool) {
	s, ok := e.value.value.(string)
	if !ok {
		d.problem(e.value.span, "P102", "%s is text, not %s", e.key, kindOf(e.value))
	}
	return s, ok
}

// name reads text that is not empty.
func (d decoder) name(e *entry) (string, bool) {
	name, ok := d.text(e)
	return name, ok && name != ""
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
		switch unit := duration.CalendarUnit(n.text); unit {
		case "":
		case "M":
			d.warn(n.span, "P103", "%s: the M of %s is months, which are not always of the same length: write m for minutes, or d or w", key, n.text)
		default:
			d.warn(n.span, "P103", "%s: %s has the unit %s, which is not always of the same length: write it in d or w", key, n.text, unit)
		}
		d.spellings.Durations = append(d.spellings.Durations, Duration{n, value})
		return value, true
	case map[string]any:
		value, ok := d.secsNanos(n, key)
		d.spellings.Durations = append(d.spellings.Durations, Duration{n, value})
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

// exhausted reads on_exhausted, and on_failure, which is Prodigy's: whether an
// exhausted call escalates.
func (d decoder) exhausted(e *entry) (escalate, ok bool) {
	v, _ := e.value.value.(string)
	switch {
	case e.key == "on_exhausted" && (v == "fail" || v == "escalate"):
		return v == "escalate", true
	case e.key == "on_failure" && v == "stop":
		return false, true
	case e.key == "on_exhausted" && v == "dead_letter":
		d.problem(e.value.span, "P909", "on_exhausted: dead_letter is not supported yet: write fail or escalate")
	case e.key == "on_failure" && (v == "continue" || e.value.get("fallback") != nil):
		d.problem(e.value.span, "P102", "on_failure: %s belongs to a workflow engine: write on_exhausted: fail, and a fallback: FUNCTION where the function is bound", what(e.value))
	case e.key == "on_failure":
		d.problem(e.value.span, "P102", "on_failure is stop, not %s", kindOf(e.value))
	default:
		d.problem(e.value.span, "P102", "on_exhausted is fail or escalate, not %s", kindOf(e.value))
	}
	return false, false
}

// durable is reserved.
func (d decoder) durable(e *entry) (bool, bool) {
	if v, ok := d.boolean(e); ok && v {
		d.problem(e.at, "P909", "durable is not supported yet: remove it")
	}
	return false, false
}

func (d decoder) scope(e *entry) (string, bool)   { return d.reference("scopes", "a scope")(e) }
func (d decoder) breaker(e *entry) (string, bool) { return d.reference("breakers", "a breaker")(e) }
func (d decoder) budget(e *entry) (string, bool)  { return d.reference("budgets", "a budget")(e) }

func what(n *node) string {
	if n.isMap() {
		return "fallback"
	}
	return n.text
}
