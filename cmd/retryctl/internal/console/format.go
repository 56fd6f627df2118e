package console

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// functions are those of the templates.
var functions = template.FuncMap{
	"asset":    asset,
	"clean":    clean,
	"lines":    func(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") },
	"count":    count,
	"percent":  percent,
	"length":   length,
	"stamp":    stamp,
	"machine":  func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"distance": distance,
	"pause":    func(p admin.Pause) string { return pauses[p] },
	"age":      age,
	"tone":     tone,
	"runURL":   func(run string) string { return link("/run", "id", run) },
	"stepURL":  func(run, step string) string { return link("/step", "run", run, "id", step) },
	"groupURL": func(run, group string) string { return link("/group", "run", run, "id", group) },
	"link":     link,
	"letter":   letter,
	"words":    func(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") },
	"word":     func(s storage.Status) string { return s.String() },
	"reason":   func(r retry.Reason) string { return r.Error() },
	"add":      func(a, b int) int { return a + b },
	"count64":  func(n int64) string { return count(int(n)) },
	"share":    share,
	"ratio":    ratio,
	"attempts": attempts,
}

// asset returns the URL of a file of the console. It changes with the file, so that
// browsers may keep it.
func asset(name string) (string, error) {
	content, err := files.ReadFile("static/" + name)
	return link("/static/"+name, "v", version(content)), err
}

// clean returns text from a store for a page: on one line, without characters that
// nobody sees or that change the direction of what follows.
func clean(v any) string { return term.Clean(fmt.Sprint(v)) }

// link returns a URL of this console with a query of names and values. Ids are in
// the query: in a path, browsers and proxies would change some.
func link(path string, pairs ...any) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := fmt.Sprint(pairs[i+1]); value != "" {
			q.Set(fmt.Sprint(pairs[i]), value)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// letter returns the value of the box that selects a dead letter.
func letter(s admin.StepInfo) string { return url.QueryEscape(string(storage.After(s.Run, s.Step))) }

// count returns a number with a comma after each thousand.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// percent returns a part of a whole, as in 12.5%.
func percent(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return number(100*float64(part)/float64(whole)) + "%"
}

// length returns a duration with about three digits, as policy files write it.
func length(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		d = d.Round(time.Hour)
		text := fmt.Sprint(int(d/(24*time.Hour)), "d")
		if rest := d % (24 * time.Hour); rest > 0 {
			text += duration.Format(rest)
		}
		return text
	case d >= time.Hour:
		d = d.Round(time.Minute)
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= 10*time.Millisecond:
		d = d.Round(time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	default:
		d = d.Round(time.Microsecond)
	}
	return duration.Format(d)
}

// stamp returns a time to the second.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format(time.DateTime)
}

// pauses are the words before the end of a wait that precedes no attempt.
var pauses = map[admin.Pause]string{admin.PauseSleep: "sleep, ends ", admin.PauseSignal: "signal, ends "}

// distance returns a time relative to now.
func distance(t, now time.Time) string {
	switch d := t.Sub(now).Round(time.Second); {
	case t.IsZero():
		return ""
	case d > 0:
		return "in " + length(d)
	case d == 0:
		return "now"
	default:
		return length(-d) + " ago"
	}
}

// age returns how long ago a time was, in whole minutes, hours or days: a page that is
// kept up to date must not change each second.
func age(t, now time.Time) string {
	const day = 24 * time.Hour
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return length(d.Truncate(time.Minute)) + " ago"
	case d < 2*day:
		return length(d.Truncate(time.Hour)) + " ago"
	default:
		return length(d.Truncate(day)) + " ago"
	}
}

// tones are the classes in the style sheet of statuses, outcomes and the states of
// breakers.
var tones = map[string]string{
	"open": "calm", "waiting": "wait", "executing": "busy", "in doubt": "person", "parked": "wait", "paused": "person",
	"succeeded": "good", "failed": "bad", "dead letter": "bad", "canceled": "over", "timed out": "bad",
	"abandoned": "over", "expired": "over", "discarded": "over",

	"timed_out": "bad", "lost": "person", "interrupted": "over", "withdrawn": "over", "refused": "over",
	"resolved": "calm",
	"requeued": "calm",

	"breaker closed": "good", "breaker open": "bad", "breaker half-open": "wait", "breaker escalated": "person",
	"breaker forced-open": "person",
	"reprocess":           "good", "review": "person", "unknown": "over",
}

// tone returns the class of a status, an outcome or an eligibility.
func tone(v any) string {
	if t := tones[fmt.Sprint(v)]; t != "" {
		return t
	}
	return "over"
}

// share returns a part of a whole in percent, for the width of a bar.
func share(part, whole int) string {
	if whole <= 0 {
		return "0"
	}
	return number(100 * min(float64(part)/float64(whole), 1))
}

// ratio returns a/b to two digits.
func ratio(a, b int) string {
	if b == 0 {
		return "–"
	}
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 2, 64)
}

// attempts returns the limit on the attempts of a policy.
func attempts(p *policy.Policy) string {
	if p.MaxAttempts == retry.Unlimited {
		return "unlimited"
	}
	return strconv.Itoa(p.MaxAttempts)
}
