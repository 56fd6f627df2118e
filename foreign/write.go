package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// A target is what a line of a written policy file is about.
type target struct {
	policy  *Policy
	breaker *breaker
	section *section
	field   rules.Field // "": the entry itself
}

// A writer writes a policy file, in the canonical spelling and with one setting on
// each line.
type writer struct {
	strings.Builder
	line int
	at   map[int]target // by line
	lost map[*Policy][]Loss
}

// PolicyFile returns the policies of files as one policy file. It is formatted as
// retrygen fmt does, and has a comment for each loss. The same files result in the
// same text.
func PolicyFile(files ...*File) []byte {
	return []byte(writeFile(files).String())
}

func writeFile(files []*File) *writer {
	w := &writer{line: 1, at: map[int]target{}, lost: map[*Policy][]Loss{}}
	merged := merge(files)
	for _, f := range files {
		for _, l := range f.Losses {
			w.lost[l.Policy] = append(w.lost[l.Policy], l)
		}
	}
	for _, f := range files {
		var titles []string
		for _, k := range f.Kinds {
			titles = append(titles, k.Title)
		}
		w.comment("", "Imported from %s: %s.", f.Name, strings.Join(titles, ", "))
	}
	w.losses("", nil)
	w.put("version: 1")
	if !merged.matchText {
		w.put("match_text: false")
	}
	w.sections("scopes", merged.scopes)
	w.classes(merged)
	w.breakers(merged)
	w.sections("groups", merged.groups)
	if len(merged.Policies) > 0 {
		w.put("")
		w.put("policies:")
	}
	for _, p := range merged.Policies {
		w.policy(p)
	}
	return w
}

// merge returns the contents of files with names that are unique in all of them.
func merge(files []*File) *File {
	if len(files) == 1 {
		return files[0]
	}
	return mergeAll(files)
}

// put writes a line.
func (w *writer) put(format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
	w.line++
}

// field writes a line and records what it is about.
func (w *writer) field(t target, format string, args ...any) {
	w.at[w.line] = t
	w.put(format, args...)
}

// comment writes a comment of one line.
func (w *writer) comment(indent, format string, args ...any) {
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, fmt.Sprintf(format, args...))
	w.put("%s# %s", indent, strings.TrimSpace(text))
}

// losses writes the losses of a policy; nil: those of the documents.
func (w *writer) losses(indent string, p *Policy) {
	for _, l := range w.lost[p] {
		w.comment(indent, "lost: %s:%d: %s: %s", l.File, l.Line, l.Path, l.Why)
	}
}

func (w *writer) classes(f *File) {
	users, retried := f.uses()
	first := true
	for _, c := range f.classes {
		user := users[retry.Class(c.name)]
		if user == nil {
			continue
		}
		if first {
			w.put("")
			w.put("errors:")
		}
		first = false
		var tests []string
		for _, r := range c.http {
			code := strconv.Itoa(r[0])
			if r[1] > r[0] {
				code += "-" + strconv.Itoa(r[1])
			}
			tests = append(tests, code)
		}
		var parts []string
		if tests != nil {
			parts = append(parts, "http: ["+strings.Join(tests, ", ")+"]")
		}
		if c.grpc != nil {
			parts = append(parts, "grpc: ["+strings.Join(c.grpc, ", ")+"]")
		}
		if c.pattern != "" {
			parts = append(parts, "pattern: "+strconv.Quote(c.pattern))
		}
		if c.ofRequest() && retried[retry.Class(c.name)] {
			parts = append(parts, "retryable: true")
		}
		w.field(target{policy: user}, "  %s: {%s}", c.name, strings.Join(parts, ", "))
	}
}

// uses returns the first policy that uses each class, and the classes that policies
// retry.
func (f *File) uses() (users map[retry.Class]*Policy, retried map[retry.Class]bool) {
	users, retried = map[retry.Class]*Policy{}, map[retry.Class]bool{}
	for _, p := range f.Policies {
		for _, c := range p.RetryOn {
			retried[c] = true
		}
		used := slices.Concat(p.RetryOn, p.AbortOn)
		for _, o := range p.PerError {
			used = append(used, o.Class)
		}
		for _, c := range used {
			if users[c] == nil {
				users[c] = p
			}
		}
	}
	return users, retried
}

func (w *writer) breakers(f *File) {
	written := map[*breaker]bool{}
	for _, p := range f.Policies {
		b := p.breaker
		if b == nil || written[b] {
			continue
		}
		if len(written) == 0 {
			w.put("")
			w.put("breakers:")
		}
		written[b] = true
		w.field(target{breaker: b}, "  %s:", b.Name)
		for _, s := range breakerSettings(b) {
			w.field(target{breaker: b, field: s.field}, "    %s: %s", s.field, s.value)
		}
	}
}

// A pair is a setting in the form of a policy file.
type pair struct {
	field rules.Field
	value string
}

func breakerSettings(b *breaker) (list []pair) {
	add := func(field rules.Field, set bool, value string) {
		if set {
			list = append(list, pair{field, value})
		}
	}
	add("failures", b.Failures != 0, strconv.Itoa(b.Failures))
	add("failure_rate", b.FailureRate != 0, number(b.FailureRate))
	add("slow_rate", b.SlowRate != 0, number(b.SlowRate))
	add("slow_call", b.SlowCall != 0, durationText(b.SlowCall))
	add("min_calls", b.MinCalls != 0, strconv.Itoa(b.MinCalls))
	add("window", b.Window != 0, durationText(b.Window))
	add("window_calls", b.WindowCalls != 0, strconv.Itoa(b.WindowCalls))
	openFor := durationText(b.OpenFor)
	if b.MaxOpenFor != 0 {
		openFor = fmt.Sprintf("{initial: %s, max: %s}", openFor, durationText(b.MaxOpenFor))
	}
	add("open_for", b.OpenFor != 0, openFor)
	add("half_open_calls", b.HalfOpenCalls != 0, strconv.Itoa(b.HalfOpenCalls))
	add("successes", b.Successes != 0, strconv.Itoa(b.Successes))
	return list
}

func (w *writer) policy(p *Policy) {
	for _, b := range p.Binds {
		w.comment("  ", "bind: %s", b)
	}
	w.losses("  ", p)
	settings := policySettings(p)
	if len(settings) == 0 {
		w.field(target{policy: p}, "  %s: {}", p.Name)
		return
	}
	w.field(target{policy: p}, "  %s:", p.Name)
	for _, s := range settings {
		w.field(target{policy: p, field: s.field}, "    %s: %s", s.field, s.value)
	}
	for i, o := range p.PerError {
		if i == 0 {
			w.put("    per_error:")
		}
		w.field(target{policy: p, field: rules.PerError(o.Class)}, "      %s:", o.Class)
		for _, s := range overrideSettings(&p.Schedule, &o.Schedule) {
			w.field(target{policy: p, field: rules.PerError(o.Class)}, "        %s: %s", s.field, s.value)
		}
	}
}

// policySettings returns the settings of a policy that are not the defaults, except
// per_error.
func policySettings(p *Policy) []pair {
	list := scheduleSettings(&p.Schedule)
	limit := func(field rules.Field, d time.Duration) {
		if d > 0 {
			list = append(list, pair{field, durationText(d)})
		}
	}
	limit("delay_budget", p.DelayBudget)
	limit("max_elapsed", p.MaxElapsed)
	limit("attempt_timeout", p.AttemptTimeout)
	limit("timeout", p.Timeout)
	if p.Scope != "" {
		list = append(list, pair{"scope", p.Scope})
	}
	classes := func(field rules.Field, list []retry.Class) pair {
		names := make([]string, len(list))
		for i, c := range list {
			names[i] = string(c)
		}
		return pair{field, "[" + strings.Join(names, ", ") + "]"}
	}
	if len(p.RetryOn) > 0 {
		list = append(list, classes("retry_on", p.RetryOn))
	} else if p.MaxAttempts != 1 {
		list = append(list, pair{"unknown", "retry"}) // the other systems retry every error
	}
	if len(p.AbortOn) > 0 {
		list = append(list, classes("abort_on", p.AbortOn))
	}
	if p.breaker != nil {
		list = append(list, pair{"breaker", p.breaker.Name})
	}
	if p.Escalate {
		list = append(list, pair{"on_exhausted", "escalate"})
	}
	return list
}

// scheduleSettings returns the settings of a schedule that are not the defaults.
func scheduleSettings(s *retry.Schedule) (list []pair) {
	add := func(field rules.Field, set bool, value string) {
		if set {
			list = append(list, pair{field, value})
		}
	}
	attempts := strconv.Itoa(s.MaxAttempts)
	if s.MaxAttempts == retry.Unlimited {
		attempts = "unlimited"
	}
	add("max_attempts", s.MaxAttempts != 0, attempts)
	if strategy, isSet := backoffText(s); isSet {
		add("backoff", true, strategy)
	}
	add("initial_delay", s.InitialDelay != 0, zeroOr(s.InitialDelay, "0s"))
	add("max_delay", s.MaxDelay != 0, zeroOr(s.MaxDelay, "none"))
	switch {
	case s.Jitter == retry.JitterProportional && s.JitterFactor != 0:
		add("jitter", true, number(s.JitterFactor))
	case s.JitterFactor != 0:
		add("jitter", true, fmt.Sprintf("{mode: %s, factor: %s}", s.Jitter, number(s.JitterFactor)))
	case s.Jitter != retry.JitterNone:
		add("jitter", true, s.Jitter.String())
	}
	if r := s.RetryAfter; r.Max < 0 {
		add("retry_after", true, "ignore")
	} else if r != (retry.RetryAfter{}) {
		add("retry_after", true, retryAfterText(r))
	}
	return list
}

// overrideSettings returns the settings of a schedule in per_error, which inherits
// those of its policy.
func overrideSettings(base, own *retry.Schedule) []pair {
	if own.MaxAttempts == 1 {
		return []pair{{"max_attempts", "1"}}
	}
	list := scheduleSettings(own)
	defaults := map[rules.Field]string{
		"max_attempts": "3", "backoff": "exponential", "initial_delay": "1s", "max_delay": "30s", "jitter": "false",
		"retry_after": "{}",
	}
	for _, inherited := range scheduleSettings(base) {
		if !slices.ContainsFunc(list, func(s pair) bool { return s.field == inherited.field }) {
			list = append(list, pair{inherited.field, defaults[inherited.field]})
		}
	}
	return list
}

// backoffText returns the strategy with its settings. isSet is false if it is the
// default.
func backoffText(s *retry.Schedule) (text string, isSet bool) {
	switch {
	case s.Backoff == retry.BackoffExponential && s.Base != 0 && s.Base != 2:
		return "{exponential: {base: " + number(s.Base) + "}}", true
	case s.Backoff == retry.BackoffExponential:
		return "exponential", false
	case s.Backoff == retry.BackoffLinear:
		return "{linear: {increment: " + durationText(s.Increment) + "}}", true
	case s.Backoff == retry.BackoffCustom:
		delays := make([]string, len(s.Delays))
		for i, d := range s.Delays {
			delays[i] = durationText(d)
		}
		return "{custom: {delays: [" + strings.Join(delays, ", ") + "]}}", true
	}
	return s.Backoff.String(), true
}

func retryAfterText(r retry.RetryAfter) string {
	var parts []string
	if r.Max > 0 {
		parts = append(parts, "max: "+durationText(r.Max))
	}
	if r.Default > 0 {
		parts = append(parts, "default: "+durationText(r.Default))
	}
	if r.FailOver {
		parts = append(parts, "over: fail")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// zeroOr formats a duration; one that is not positive is written as zero.
func zeroOr(d time.Duration, zero string) string {
	if d < 0 {
		return zero
	}
	return durationText(d)
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// durationText formats a duration as retrygen fmt does: 1h10s.
func durationText(d time.Duration) string { return duration.Canonical(duration.Format(d)) }
