package storm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
)

// Describe describes the system, with one line per service, load and event.
func (s *System) Describe() (lines []string) {
	for i := range s.Services {
		v := &s.Services[i]
		lines = append(lines, v.String())
		for _, t := range v.Calls {
			lines = append(lines, fmt.Sprintf("%s: calls %s under %s", v.Name, t.Service, t.Client.Policy.Name))
		}
	}
	for i := range s.Loads {
		l := &s.Loads[i]
		lines = append(lines, fmt.Sprintf("%s, to %s under %s", l, l.Target.Service, l.Target.Client.Policy.Name))
	}
	for i := range s.Events {
		lines = append(lines, s.Events[i].String())
	}
	return lines
}

// String describes the workers and the queue.
func (s *Service) String() string {
	text := fmt.Sprintf("%s: %s, %s for a request, so that it can serve %s",
		s.Name, count(s.workers(), "worker"), s.Time, PerSecond(s.Capacity()))
	if s.Queue == Unlimited {
		text += "; its queue has no limit"
	} else {
		text += "; its queue has " + count(s.Queue*s.instances(), "place")
	}
	if s.Notices {
		text += "; it drops the requests of callers that have gone"
	}
	return text
}

// String describes who makes the calls.
func (l *Load) String() string {
	who := fmt.Sprintf("%s calls per second", Thousands(int(l.Rate+0.5)))
	if l.Rate < 10 && l.Users == 0 {
		who = fmt.Sprintf("%.2g calls per second", l.Rate)
	}
	if l.Users > 0 {
		who = fmt.Sprintf("%s users, who pause for %s", Thousands(l.Users), seconds(l.Think.Seconds()))
	}
	return fmt.Sprintf("%s: %s in %s", l.Name, who, count(max(l.Clients, 1), "process"))
}

// String describes when the event happens and what it does.
func (e *Event) String() string {
	what := e.Service
	if what == "" {
		what = e.Load
	}
	text := fmt.Sprintf("after %s, for %s: %s ", seconds(e.At.Seconds()), seconds(e.For.Seconds()), what)
	switch e.Effect {
	case Capacity:
		return text + "loses " + Percent(1-e.Factor) + " of its workers"
	case Slowness:
		return text + fmt.Sprintf("takes %.3g times as long for a request", e.Factor)
	case Errors:
		return text + fmt.Sprintf("fails %s of its requests (%s)", Percent(e.Factor), e.Class)
	case Down:
		return text + "refuses all connections"
	case Surge:
		return text + fmt.Sprintf("makes %.3g times as many calls", e.Factor)
	}
	return fmt.Sprintf("after %s: %s loses the state of its breakers and budgets", seconds(e.At.Seconds()), what)
}

// String describes the distribution, as in "100ms on average (exponential)".
func (t Times) String() string {
	switch t.Shape {
	case Constant:
		return seconds(t.mean)
	case Lognormal:
		return fmt.Sprintf("%s on average (lognormal)", seconds(t.mean))
	}
	return fmt.Sprintf("%s on average (exponential)", seconds(t.mean))
}

// count formats a number and a noun, such as "1 process" and "20 processes".
func count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return Thousands(n) + " " + noun
}

// Assumed lists, without duplicates, the settings in the policy files that are not
// simulated.
func (s *System) Assumed() (list []string) {
	for _, t := range s.targets() {
		for _, a := range t.Client.Assumed {
			if a = t.Client.Policy.Name + ": " + a; !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// PerSecond formats a rate per second.
func PerSecond(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.2g/s", rate)
	}
	return grouped(strconv.FormatFloat(rate, 'f', 0, 64)) + "/s"
}

// Thousands formats a number with commas.
func Thousands(n int) string { return grouped(strconv.Itoa(n)) }

// grouped adds commas to the digits of a number.
func grouped(text string) string {
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Percent formats a share as a percentage.
func Percent(share float64) string {
	switch p := 100 * share; {
	case p > 0 && p < 1:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// times formats a factor.
func times(factor float64) string { return fmt.Sprintf("%.2f ×", factor) }

// seconds formats a number of seconds.
func seconds(s float64) string {
	d := time.Duration(nanoseconds(s))
	unit := time.Millisecond
	if d >= time.Second {
		unit = 100 * time.Millisecond
	}
	return duration.Format(d.Round(unit))
}
