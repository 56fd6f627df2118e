package policy

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
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
	schedule
	delayBudget    option[time.Duration]
	maxElapsed     option[time.Duration]
	attemptTimeout option[time.Duration]
	timeout        option[time.Duration]
	scope          option[string]
	retryOn        option[[]class]
	abortOn        option[[]class]
	perError       []classSchedule
	noPerError     bool // null: none of those below
	breaker        option[string]
	budget         option[string]
	nested         option[bool]
	extends        option[string]
	description    string
	broken         bool // something in them is wrong
}

// A schedule says how often and how fast: what per_error may change.
type schedule struct {
	maxAttempts  option[int]
	backoff      option[backoff]
	initialDelay option[time.Duration]
	maxDelay     option[time.Duration]
	jitter       option[jitter]
	retryAfter   option[retry.RetryAfter]
	onExhausted  option[exhausted]
}

// A classSchedule is the schedule of one class.
type classSchedule struct {
	class  retry.Class
	at     span // of the class
	lifted bool // null: none, whatever lies below
	alone  bool // what lies below does not count
	schedule
}

// exhausted is what on_exhausted says.
type exhausted string

type jitter struct {
	mode   retry.Jitter
	factor float64 // 0: the default
}

var scheduleKeys = []string{
	"max_attempts", "attempts", "backoff", "initial_delay", "max_delay", "jitter", "jitter_factor", "retry_after", "on_exhausted", "on_failure",
}

var policyKeys = append([]string{
	"description", "extends", "scope", "delay_budget", "retry_budget", "max_elapsed", "attempt_timeout", "timeout",
	"retry_on", "abort_on", "per_error", "breaker", "budget", "nested", "durable",
}, scheduleKeys...)

// decoder turns nodes into settings.
type decoder struct {
	reporter
	canon *canon

	// The names that each section defines, in its order and to look up.
	names   map[string][]string
	defined map[string]map[string]bool
}

// settings reads one map as it stands.
func (d decoder) settings(n *node) (s settings) {
	if !d.isMap(n, "a policy") {
		return s
	}
	d.unknownKeys(n, "policy", policyKeys...)
	if e := n.written("description"); e != nil {
		s.description = d.text(e, "description")
	}
	s.extends = one(d, n, d.parent, "extends")
	s.scope = one(d, n, d.reference("scopes", "a scope"), "scope")
	s.schedule = d.schedule(n)
	s.delayBudget = one(d, n, d.limit, "delay_budget", "retry_budget")
	s.maxElapsed = one(d, n, d.limit, "max_elapsed")
	s.attemptTimeout = one(d, n, d.timeout, "attempt_timeout")
	s.timeout = one(d, n, d.timeout, "timeout")
	s.retryOn = one(d, n, d.classes, "retry_on")
	s.abortOn = one(d, n, d.classes, "abort_on")
	s.perError = d.perError(n)
	if e := n.get("per_error"); e != nil {
		s.noPerError = e.value.isNull()
	}
	s.breaker = one(d, n, d.reference("breakers", "a breaker"), "breaker")
	s.budget = one(d, n, d.reference("budgets", "a budget"), "budget")
	s.nested = one(d, n, func(e *entry) (bool, bool) { v := d.boolean(e); return v, true }, "nested")
	if e := n.written("durable"); e != nil && d.boolean(e) {
		d.problem(e.at, "P909", "durable is not supported yet: remove it")
	}
	return s
}

// schedule reads what a policy and an entry of per_error have in common.
func (d decoder) schedule(n *node) (s schedule) {
	s.maxAttempts = one(d, n, d.attempts, "max_attempts", "attempts")
	s.initialDelay = one(d, n, d.initialDelay, "initial_delay")
	s.maxDelay = one(d, n, d.maxDelay, "max_delay")
	d.backoff(n, &s)
	d.canon.backoff(n)
	d.jitter(n, &s)
	d.decorrelated(n, &s)
	d.canon.jitter(n)
	s.retryAfter = one(d, n, d.retryAfter, "retry_after")
	s.onExhausted = d.onExhausted(n)
	d.canon.exhausted(n)
	return s
}

// perError reads the schedules of classes.
func (d decoder) perError(n *node) (list []classSchedule) {
	e := n.get("per_error")
	if e == nil || e.value.isNull() || !d.isMap(e.value, "per_error") {
		return nil
	}
	for _, e := range e.value.entries {
		c := classSchedule{class: retry.Class(e.key), at: e.at, lifted: e.value.isNull(), alone: e.value.isNull()}
		if !d.isClass(e.at, e.key) || !c.lifted && !d.isMap(e.value, "an entry of per_error") {
			continue
		}
		if !c.lifted {
			d.unknownKeys(e.value, "per_error", scheduleKeys...)
			c.schedule = d.schedule(e.value)
		}
		list = append(list, c)
	}
	return list
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
		if most := cmp.Or(r.Max, retry.DefaultRetryAfterMax); r.Default > most {
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
	bool | int | string | exhausted | time.Duration | retry.RetryAfter | []class
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
		switch unit := duration.CalendarUnit(n.text); unit {
		case "":
		case "M":
			d.warn(n.span, "P103", "%s: the M of %s is months, which are not always of the same length: write m for minutes, or d or w", key, n.text)
		default:
			d.warn(n.span, "P103", "%s: %s has the unit %s, which is not always of the same length: write it in d or w", key, n.text, unit)
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

// onExhausted reads on_exhausted, and on_failure, which is Prodigy's.
func (d decoder) onExhausted(n *node) option[exhausted] {
	o := one(d, n, d.exhausted, "on_exhausted")
	old := one(d, n, d.exhausted, "on_failure")
	switch {
	case !old.set:
	case !o.set:
		o = old
	case o.null != old.null || o.value != old.value:
		d.problem(n.get("on_failure").at, "P104", "on_exhausted and on_failure are the same setting and disagree: keep on_exhausted")
	}
	return o
}

// exhausted reads the value of either.
func (d decoder) exhausted(e *entry) (exhausted, bool) {
	v, _ := e.value.value.(string)
	switch {
	case e.key == "on_exhausted" && (v == "fail" || v == "escalate"):
		return exhausted(v), true
	case e.key == "on_failure" && v == "stop":
		return "fail", true
	case e.key == "on_exhausted" && v == "dead_letter":
		d.problem(e.value.span, "P909", "on_exhausted: dead_letter is not supported yet: write fail or escalate")
	case e.key == "on_failure" && (v == "continue" || e.value.get("fallback") != nil):
		d.problem(e.value.span, "P102", "on_failure: %s belongs to a workflow engine: write on_exhausted: fail, and a fallback: FUNCTION where the function is bound", what(e.value))
	case e.key == "on_failure":
		d.problem(e.value.span, "P102", "on_failure is stop, not %s", kindOf(e.value))
	default:
		d.problem(e.value.span, "P102", "on_exhausted is fail or escalate, not %s", kindOf(e.value))
	}
	return "", false
}

func what(n *node) string {
	if n.isMap() {
		return "fallback"
	}
	return n.text
}
