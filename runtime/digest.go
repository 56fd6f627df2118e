package retry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Digest returns 16 hexadecimal digits by which a package that stores calls
// recognizes that a policy has changed. Policies that decide alike have the same
// digest: it has the effective values, without those that the other fields leave
// without effect. The Name is not part of it.
//
// An error in Is of a class counts by its type and text. Functions count by their
// names, which have neither type arguments nor, for a function literal, anything
// that remains when the program changes: those count by their number only.
//
// The digest does not change with the version of this package, unless what it says
// of a policy changes.
func (p *Policy) Digest() string {
	sum := sha256.Sum256([]byte(p.canonical()))
	return hex.EncodeToString(sum[:8])
}

// canonical returns the text of which [Policy.Digest] is the hash: a line for each
// field that does not have its default.
//
// A new field is a new line, without one for its default, so that the digests of
// older policies remain. The defaults are written out here for the same reason: if
// one of this package changes, the digests of the policies that had it must change.
func (p *Policy) canonical() string {
	var d digest
	d.WriteString("policy 1\n")
	d.schedule(&p.Schedule)
	d.duration("delay_budget", max(p.DelayBudget, 0), 0)
	d.duration("max_elapsed", max(p.MaxElapsed, 0), 0)
	d.duration("attempt_timeout", max(p.AttemptTimeout, 0), 0)
	d.duration("timeout", max(p.Timeout, 0), 0)
	if p.HardLimit > 0 {
		d.text("scope", p.Scope) // without the limit, no timeout is given for it
	}
	d.duration("hard_limit", max(p.HardLimit, 0), 0)
	d.flag("capture", p.Capture)
	d.classes("retry_on", p.RetryOn)
	d.flag("retry_unknown", p.RetryUnknown)
	d.classes("abort_on", p.AbortOn)
	for i := range p.Classes {
		d.class(&p.Classes[i])
	}
	if p.Facts != nil {
		d.text("facts", nameOf(p.Facts))
	}
	if p.MatchText != MatchWords {
		d.line("match_text", p.MatchText.String())
	}
	for i := range p.PerError {
		d.text("per_error", string(p.PerError[i].Class))
		d.schedule(&p.PerError[i].Schedule)
	}
	d.flag("nested", p.Nested)
	return d.String()
}

// A digest builds the canonical text of a policy. Its methods write nothing for a
// default.
type digest struct{ strings.Builder }

func (d *digest) line(key, value string) { fmt.Fprintf(d, "%s: %s\n", key, value) }

func (d *digest) text(key, value string) { d.line(key, strconv.Quote(value)) }

func (d *digest) flag(key string, value bool) {
	if value {
		d.line(key, "true")
	}
}

func (d *digest) duration(key string, value, byDefault time.Duration) {
	if value != byDefault {
		d.line(key, value.String())
	}
}

func (d *digest) number(key string, value, byDefault float64) {
	if value != byDefault {
		d.line(key, strconv.FormatFloat(value, 'g', -1, 64))
	}
}

// classes writes a list whose order does not matter.
func (d *digest) classes(key string, list []Class) {
	for _, c := range slices.Compact(slices.Sorted(slices.Values(list))) {
		d.text(key, string(c))
	}
}

// schedule writes the fields that the strategy and the jitter use.
func (d *digest) schedule(s *Schedule) {
	if n := s.maxAttempts(); n != 3 {
		d.line("max_attempts", strconv.Itoa(n))
	}
	if s.Jitter == JitterDecorrelated || s.Backoff != BackoffCustom {
		d.duration("initial_delay", s.initialDelay(), time.Second)
	}
	if s.Jitter != JitterDecorrelated { // which draws each delay from the one before
		d.backoff(s)
	}
	d.duration("max_delay", s.maxDelay(), 30*time.Second)
	if s.Jitter != JitterNone {
		d.line("jitter", s.Jitter.String())
	}
	switch s.Jitter {
	case JitterProportional:
		d.number("jitter_factor", s.jitterFactor(), 0.3)
	case JitterAdditive:
		d.number("jitter_factor", s.jitterFactor(), 0.5)
	}
	d.duration("retry_after.max", s.RetryAfter.Limit(), 5*time.Minute)
	if s.RetryAfter.Limit() > 0 {
		d.duration("retry_after.default", max(s.RetryAfter.Default, 0), 0)
		d.flag("retry_after.fail_over", s.RetryAfter.FailOver)
	}
	d.flag("escalate", s.Escalate)
}

// backoff writes the strategy and its settings.
func (d *digest) backoff(s *Schedule) {
	if s.Backoff != BackoffExponential {
		d.line("backoff", s.Backoff.String())
	}
	switch s.Backoff {
	case BackoffExponential:
		d.number("base", s.base(), 2)
	case BackoffLinear:
		d.duration("increment", max(s.Increment, 0), 0)
	case BackoffCustom:
		for _, delay := range s.Delays {
			d.line("delay", max(delay, 0).String())
		}
	}
}

// class writes the tests of a class and its action.
func (d *digest) class(c *ErrorClass) {
	d.text("class", string(c.Class))
	for _, target := range c.Is {
		d.line("is", fmt.Sprintf("%T %q", target, fmt.Sprint(target)))
	}
	for _, test := range c.As {
		d.text("as", nameOf(test))
	}
	for _, r := range c.HTTP {
		d.line("http", fmt.Sprintf("%d-%d", r[0], r[1]))
	}
	if c.Pattern != nil {
		d.text("pattern", c.Pattern.String())
	}
	if c.Action != ActionDefault {
		d.line("action", c.Action.String())
	}
}

// nameOf returns the name of a function, with its package. A function literal has
// none: its number, as in init.func3, changes with the literals above it.
func nameOf(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	if _, number, ok := strings.Cut(name, ".func"); ok && strings.TrimLeft(number, ".0123456789") == "" {
		return ""
	}
	return name
}
