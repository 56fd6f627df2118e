package retry

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings are the settings of a policy as text. Packages that store calls use them to
// notice that a policy has changed, and to print the changes. Policies that make the same
// decisions have the same Settings, because Settings contain only values that have an
// effect. The zero value means that nothing is known.
//
// The text is a heading followed by a `name: value` line for each setting that differs
// from its default. Settings are named as in policy files. The text does not change with
// the version of this package, unless the meaning of a policy changes. Treat it as
// opaque, because later versions may add settings.
type Settings string

// settingsHeading begins all Settings that are known.
const settingsHeading = "policy 1\n"

// settingDefaults are the values that have no line. They are written out here so that
// the Settings of older policies remain: if a default of this package changes, the
// Settings of the policies that had it must change. A flag has the default false, and a
// setting that is not listed has none.
var settingDefaults = map[string]string{
	"max_attempts": "3", "initial_delay": "1s", "backoff": "exponential", "base": "2", "increment": "0s",
	"max_delay": "30s", "jitter": "none", "retry_after.max": "5m", "retry_after.default": noLimit,
	"delay_budget": noLimit, "max_elapsed": noLimit, "attempt_timeout": noLimit, "timeout": noLimit,
	"hard_limit": noLimit, "match_text": "true", "retry_after.fail_over": "false", "escalate": "false",
	"capture": "false", "retry_unknown": "false", "nested": "false",
}

// noLimit is the value of a duration that does not apply, and unlimited that of
// max_attempts.
const noLimit, unlimited = "none", "unlimited"

// Settings returns the settings of the policy, without its Name.
//
// The errors in a class's Is are compared by type and text. Functions are compared by
// their names, without type arguments. The name of a function literal may change with the
// program, so only the number of function literals is compared.
func (p *Policy) Settings() Settings {
	var w settingsWriter
	w.WriteString(settingsHeading)
	w.schedule(&p.Schedule)
	w.limit("delay_budget", p.DelayBudget)
	w.limit("max_elapsed", p.MaxElapsed)
	w.limit("attempt_timeout", p.AttemptTimeout)
	w.limit("timeout", p.Timeout)
	if p.HardLimit > 0 {
		w.text("scope", p.Scope) // without the limit, no timeout is given for it
	}
	w.limit("hard_limit", p.HardLimit)
	w.flag("capture", p.Capture)
	w.classes("retry_on", p.RetryOn)
	w.flag("retry_unknown", p.RetryUnknown)
	w.classes("abort_on", p.AbortOn)
	for i := range p.Classes {
		w.class(&p.Classes[i])
	}
	if p.Facts != nil {
		w.text("facts", nameOf(p.Facts))
	}
	w.line("match_text", p.MatchText.String())
	for i := range p.PerError {
		w.section("per_error", p.PerError[i].Class)
		w.schedule(&p.PerError[i].Schedule)
		w.prefix = ""
	}
	w.flag("nested", p.Nested)
	return Settings(w.String())
}

// A settingsWriter builds Settings.
type settingsWriter struct {
	strings.Builder
	prefix string // of names: the section
}

// line writes a setting, unless it has its default.
func (w *settingsWriter) line(name, value string) {
	if value != settingDefaults[name] {
		fmt.Fprintf(w, "%s%s: %s\n", w.prefix, name, value)
	}
}

func (w *settingsWriter) text(name, value string) { w.line(name, plain(value)) }

func (w *settingsWriter) flag(name string, value bool) { w.line(name, strconv.FormatBool(value)) }

// duration writes a duration. None and less mean that there is none.
func (w *settingsWriter) duration(name string, d time.Duration) {
	w.line(name, shortDuration(max(d, 0)))
}

// limit writes a duration that applies only if it is positive.
func (w *settingsWriter) limit(name string, d time.Duration) {
	text := noLimit
	if d > 0 {
		text = shortDuration(d)
	}
	w.line(name, text)
}

// classes writes a list whose order does not matter.
func (w *settingsWriter) classes(name string, list []Class) {
	for _, c := range slices.Compact(slices.Sorted(slices.Values(list))) {
		w.text(name, string(c))
	}
}

// section writes the name of a class, whose settings follow.
func (w *settingsWriter) section(name string, c Class) {
	w.text(name, string(c))
	w.prefix = name + "." + plain(string(c)) + "."
}

// schedule writes the fields that the strategy and the jitter use.
func (w *settingsWriter) schedule(s *Schedule) {
	attempts := unlimited
	if n := s.maxAttempts(); n != Unlimited {
		attempts = strconv.Itoa(n)
	}
	w.line("max_attempts", attempts)
	if s.Jitter == JitterDecorrelated || s.Backoff != BackoffCustom {
		w.duration("initial_delay", s.initialDelay())
	}
	if s.Jitter != JitterDecorrelated { // which draws each delay from the one before
		w.backoff(s)
	}
	if d := s.maxDelay(); d == forever {
		w.line("max_delay", noLimit)
	} else {
		w.duration("max_delay", d)
	}
	w.line("jitter", s.Jitter.String())
	factor := s.jitterFactor()
	if s.Jitter == JitterProportional && factor != 0.3 || s.Jitter == JitterAdditive && factor != 0.5 {
		w.line("jitter_factor", decimal(factor))
	}
	w.limit("retry_after.max", s.RetryAfter.Limit())
	if s.RetryAfter.Limit() > 0 {
		w.limit("retry_after.default", s.RetryAfter.Default)
		w.flag("retry_after.fail_over", s.RetryAfter.FailOver)
	}
	w.flag("escalate", s.Escalate)
}

// backoff writes the strategy and its settings.
func (w *settingsWriter) backoff(s *Schedule) {
	w.line("backoff", s.Backoff.String())
	switch s.Backoff {
	case BackoffExponential:
		w.line("base", decimal(s.base()))
	case BackoffLinear:
		w.duration("increment", s.Increment)
	case BackoffCustom:
		for _, delay := range s.Delays {
			w.duration("delays", delay)
		}
	}
}

// class writes the tests of a class and its action.
func (w *settingsWriter) class(c *ErrorClass) {
	w.section("class", c.Class)
	for _, target := range c.Is {
		w.line("is", fmt.Sprintf("%T %q", target, fmt.Sprint(target)))
	}
	for _, test := range c.As {
		w.text("as", nameOf(test))
	}
	for _, r := range c.HTTP {
		w.line("http", fmt.Sprintf("%d-%d", r[0], r[1]))
	}
	if c.Pattern != nil {
		w.line("pattern", strconv.Quote(c.Pattern.String()))
	}
	if c.Action != ActionDefault {
		w.line("action", c.Action.String())
	}
	w.prefix = ""
}

// plain returns a text as it is if it could be a name in Go, and otherwise quoted.
func plain(text string) string {
	const signs = "_-/."
	for _, c := range text {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(signs, c)) {
			return strconv.Quote(text)
		}
	}
	if text == "" {
		return `""`
	}
	return text
}

// shortDuration returns a duration as policy files have it: 1m, not 1m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// nameOf returns the name of a function, with its package. A function literal has
// none: its number, as in init.func3, changes with the literals above it.
func nameOf(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	if _, number, ok := strings.Cut(name, ".func"); ok && strings.TrimLeft(number, ".0123456789") == "" {
		return ""
	}
	return name
}

// Known reports whether s has settings, which is true even for a policy that has only
// defaults.
func (s Settings) Known() bool { return strings.HasPrefix(string(s), settingsHeading) }

// written returns the settings that have a line, by their names. Those with several
// values have them in one.
func (s Settings) written() map[string]string {
	values := map[string]string{}
	if !s.Known() {
		return values
	}
	for line := range strings.Lines(string(s[len(settingsHeading):])) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if before, ok := values[name]; ok {
			value = before + ", " + value
		}
		values[name] = value
	}
	return values
}

// All returns the values, keyed by the names of the settings. For the policy's main
// schedule, it also returns the defaults. It returns nil if nothing is known.
func (s Settings) All() map[string]string {
	if !s.Known() {
		return nil
	}
	values := s.written()
	effective := []string{"max_attempts", "max_delay", "jitter"}
	value := func(name string) string { return valueOf(values, name) }
	decorrelated := value("jitter") == JitterDecorrelated.String()
	if !decorrelated {
		effective = append(effective, "backoff")
	}
	if decorrelated || value("backoff") != BackoffCustom.String() {
		effective = append(effective, "initial_delay")
	}
	if !decorrelated && value("backoff") == BackoffExponential.String() {
		effective = append(effective, "base")
	}
	for _, name := range effective {
		values[name] = value(name)
	}
	return values
}

// valueOf returns a value, or its default.
func valueOf(values map[string]string, name string) string {
	if value, ok := values[name]; ok {
		return value
	}
	for _, section := range [...]string{"per_error.", "class."} {
		if class, ok := strings.CutPrefix(name, section); ok {
			_, name, _ = strings.Cut(class, ".")
			break
		}
	}
	if value, ok := settingDefaults[name]; ok {
		return value
	}
	return noLimit
}

// MaxAttempts returns how many attempts a call may make. If classes have their own
// limits, it returns the largest one. It returns 0 if nothing is known, and [Unlimited]
// if there is no limit.
func (s Settings) MaxAttempts() (most int) {
	values := s.All()
	for name := range values {
		limited := name == "max_attempts" || strings.HasPrefix(name, "per_error.") && strings.HasSuffix(name, ".max_attempts")
		if !limited {
			continue
		}
		if values[name] == unlimited {
			return Unlimited
		}
		n, _ := strconv.Atoi(values[name])
		most = max(most, n)
	}
	return most
}

// Schedule describes the delays and the time limits in a few words, as in "exponential 1s
// × 2 to 30s, full jitter, delay_budget 1m". It is empty if nothing is known.
func (s Settings) Schedule() string {
	values := s.All()
	if values == nil {
		return ""
	}
	text := values["backoff"] + " " + values["initial_delay"]
	switch values["backoff"] {
	case "":
		text = values["jitter"] + text
	case BackoffExponential.String():
		text += " × " + values["base"]
	case BackoffLinear.String():
		text += " + " + valueOf(values, "increment")
	case BackoffCustom.String():
		text = values["backoff"] + " " + valueOf(values, "delays")
	}
	if limit := values["max_delay"]; limit != noLimit && values["backoff"] != BackoffFixed.String() {
		text += " to " + limit
	}
	if jitter := values["jitter"]; jitter != JitterNone.String() && values["backoff"] != "" {
		text += ", " + jitter + " jitter"
	}
	for _, name := range [...]string{"delay_budget", "max_elapsed", "attempt_timeout", "timeout", "hard_limit"} {
		if limit, ok := values[name]; ok {
			text += ", " + name + " " + limit
		}
	}
	if classes, ok := values["per_error"]; ok {
		text += ", others for " + classes
	}
	return text
}

// Changes returns the differences between before and s, as in "max_attempts 3 → 5",
// ordered by setting name. It returns nil if either before or s is unknown.
func (s Settings) Changes(before Settings) (list []string) {
	if !s.Known() || !before.Known() {
		return nil
	}
	a, b := before.written(), s.written()
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if from, to := valueOf(a, name), valueOf(b, name); from != to {
			list = append(list, name+" "+from+" → "+to)
		}
	}
	return list
}
