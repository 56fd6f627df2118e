package policy

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// Explain describes the resolved policy: every setting with its origin, the schedule of
// waits, the limit that ends the schedule, and the worst case of a call. The runtime
// computes the waits. Attempts are assumed to fail at once, with errors that do not ask
// for a wait. file is the name of the policy file to print. Errors from w are ignored.
func (p *Policy) Explain(w io.Writer, file string) {
	fmt.Fprintf(w, "policy %s (%s:%d)\n\n", p.Name, file, p.Pos.Line)
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(field rules.Field, value string) {
		origin := "default"
		if field == "timeout" && p.Scope != "" {
			origin = "scope " + p.Scope
		}
		if at, ok := p.Places[field]; ok {
			origin = fmt.Sprintf("%s:%d", file, at.Line)
		}
		fmt.Fprintf(lines, "  %s\t%s\t%s\n", field, value, origin)
	}
	for _, s := range table {
		switch {
		case s.key == "per_error":
			for _, o := range p.PerError {
				own := p.Under(o)
				_, first, _ := own.Bounds(1, 0)
				line(rules.PerError(o.Class),
					attemptsText(o.MaxAttempts)+" attempts, first delay "+duration.Format(first)+", "+o.Backoff.String())
			}
		case s.show != nil && (s.hidden == nil || !s.hidden(p)):
			line(s.key, s.show(p))
		}
	}
	lines.Flush()
	p.explainSchedule(w)
	list := p.classes()
	if some, all := p.RateLimits(); some && !all && p.RetryAfter.Default > 0 {
		limited := retry.Override{Class: retry.ClassRateLimit, Schedule: p.Schedule}
		list = append(list, Policy{Name: string(limited.Class), Policy: p.Under(limited)})
	}
	for _, own := range list {
		fmt.Fprintf(w, "\nfor errors of class %s:\n", own.Name)
		own.explainSchedule(w)
	}
	p.explainWorst(w)
	p.explainHedges(w)
	if p.Durable != nil {
		p.explainCrashes(w)
	}
}

// classes returns the schedules of per_error as policies. Each has the name of
// its class and the limits of p.
func (p *Policy) classes() (list []Policy) {
	for _, o := range p.PerError {
		list = append(list, Policy{Name: string(o.Class), Policy: p.Under(o)})
	}
	return list
}

// retryAfterText describes how long a wait an error may ask for.
func retryAfterText(r retry.RetryAfter) string {
	if r.Max == retry.None {
		return "ignore"
	}
	text := "up to " + duration.Format(r.Limit())
	if r.FailOver {
		text += ", stop above"
	}
	if r.Default > 0 {
		text += ", " + duration.Format(r.Default) + " where a rate limit names none"
	}
	return text
}

func classNames[S ~string](classes []S, none string) string {
	if len(classes) == 0 {
		return none
	}
	var names []string
	for _, c := range classes {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// explainSchedule writes the wait before each retry, up to the limit that ends
// the retries.
func (p *Policy) explainSchedule(w io.Writer) {
	const rows = 20
	if p.MaxAttempts == 1 {
		fmt.Fprint(w, "\nOne attempt, no retry.\n")
		return
	}
	fmt.Fprint(w, "\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "attempt\tleast wait\twait\tgreatest wait\ttotal\tgreatest total\t\n")
	var waited, most time.Duration
	for k := 1; p.MaxAttempts == retry.Unlimited || k < p.MaxAttempts; k++ {
		if k > rows {
			fmt.Fprint(table, "…\t\t\t\t\t\t\n")
			break
		}
		least, base, greatest := p.Bounds(k, 0)
		waited, most = saturated(waited, base), saturated(most, greatest)
		if bound, limit := p.exceeded(waited); bound != "" {
			table.Flush()
			without := ""
			if p.Jitter != retry.JitterNone {
				without = "without jitter, "
			}
			fmt.Fprintf(w, "\n%sattempt %d is not made: %s %s would be passed\n", without, k+1, bound, duration.Format(limit))
			return
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t\n", k+1,
			duration.Format(least), duration.Format(base), duration.Format(greatest), duration.Format(waited),
			duration.Format(most))
	}
	table.Flush()
	if p.MaxAttempts != retry.Unlimited {
		fmt.Fprintf(w, "\nattempt %d is not made: max_attempts\n", p.MaxAttempts+1)
	}
}

// exceeded returns the limit that the sum of the waits exceeds, or "".
func (p *Policy) exceeded(waited time.Duration) (rules.Field, time.Duration) {
	switch {
	case p.DelayBudget > 0 && waited > p.DelayBudget:
		return "delay_budget", p.DelayBudget
	case p.MaxElapsed > 0 && waited > p.MaxElapsed:
		return "max_elapsed", p.MaxElapsed
	case p.Timeout > 0 && waited >= p.Timeout:
		return "timeout", p.Timeout
	}
	return "", 0
}

// A Worst is the worst case of one call.
type Worst struct {
	Calls int           // maximum number of attempts; 0 if it is not limited, or not counted
	Waits time.Duration // the longest sum of waits, if Calls is not 0
	Total time.Duration // the longest duration of the call; 0 if nothing limits the time inside an attempt

	most  int    // limit on the attempts if they are not counted; 0 means unlimited
	parts string // of Total, for Explain
	final bool   // no wait that a server asks for can make Total longer
}

// Worst returns the maximum number of attempts and the maximum duration of one call.
func (p *Policy) Worst() (w Worst) {
	calls, waits, counted := p.most()
	w.Total, w.parts, w.final = p.longest(calls, waits, counted)
	switch {
	case counted:
		w.Calls, w.Waits = calls, waits
	case !slices.ContainsFunc(p.schedules(), func(s Policy) bool { return s.MaxAttempts == retry.Unlimited }):
		for _, s := range p.schedules() {
			w.most = max(w.most, s.MaxAttempts+p.repeats())
		}
	}
	return w
}

// calls describes the maximum number of attempts, such as "4 calls".
func (w Worst) calls() string {
	switch {
	case w.Calls > 0:
		return plural(w.Calls, "call")
	case w.most > 0:
		return "up to " + plural(w.most, "call")
	}
	return "unlimited calls"
}

// String returns the worst case in one line, such as "4 calls, 12.5s".
func (w Worst) String() string {
	if w.parts == "" {
		return w.calls() + ", no time limit"
	}
	return w.calls() + ", " + duration.Format(w.Total)
}

// explainWorst writes the most attempts and the longest time of one call.
func (p *Policy) explainWorst(out io.Writer) {
	w := p.Worst()
	fmt.Fprintf(out, "\nat worst: %s", w.calls())
	switch {
	case w.parts != "":
		fmt.Fprintf(out, ", %s (%s)\n", duration.Format(w.Total), w.parts)
	case w.Calls > 1:
		fmt.Fprintf(out, ", %s of waiting; nothing limits the time inside an attempt\n", duration.Format(w.Waits))
	default:
		fmt.Fprint(out, "; nothing limits the time inside an attempt\n")
	}
	if !w.final && w.Calls != 1 {
		p.explainAsked(out, w.Waits)
	}
	if lost := p.repeats(); lost > 0 && w.Calls > 0 {
		fmt.Fprintf(out, "Up to %d of the calls repeat attempts that a crash has lost (lost_max %d).\n",
			lost, p.Durable.LostMax)
	}
	if p.Durable != nil {
		p.explainDowntime(out)
	}
}

// explainDowntime writes the limits that include the time in which no process
// executes the run of a durable call.
func (p *Policy) explainDowntime(w io.Writer) {
	var fields []string
	for _, l := range p.limits() {
		if l.most > 0 {
			fields = append(fields, string(l.field))
		}
	}
	switch len(fields) {
	case 0:
		fmt.Fprintln(w, "Time without a process comes in addition.")
	case 1:
		fmt.Fprintf(w, "Time without a process counts against %s.\n", fields[0])
	default:
		last := len(fields) - 1
		fmt.Fprintf(w, "Time without a process counts against %s and %s.\n", strings.Join(fields[:last], ", "), fields[last])
	}
}

// repeats returns how many attempts may repeat lost ones, in addition to
// max_attempts.
func (p *Policy) repeats() int {
	if p.Durable != nil && p.Durable.Repeats() {
		return p.Durable.LostMax - 1
	}
	return 0
}

// longest returns the longest time that a call can take and a description of its
// parts, which is "" if nothing limits the time inside an attempt. final is set
// if no wait that a server asks for can make it longer.
func (p *Policy) longest(calls int, waits time.Duration, counted bool) (total time.Duration, parts string, final bool) {
	one := p.AttemptTimeout
	if one > 0 {
		one = saturated(one, p.PermitWait)
	}
	if p.Timeout > 0 {
		total, parts, final = p.Timeout, "timeout", true
	}
	// max_elapsed counts from the first failure, and the last attempt may start at its end.
	if sum := saturated(saturated(one, p.MaxElapsed), one); one > 0 && p.MaxElapsed > 0 && (parts == "" || sum < total) {
		total, final = sum, true
		parts = fmt.Sprintf("a first attempt of %s, max_elapsed %s, and a last attempt of %[1]s", p.attemptText(),
			duration.Format(p.MaxElapsed))
	}
	if counted && one > 0 && int64(one) <= (1<<62)/int64(calls) {
		if sum := saturated(waits, time.Duration(calls)*one); parts == "" || sum < total {
			total, final = sum, false
			parts = fmt.Sprintf("%d attempts of %s and %s of waiting", calls, p.attemptText(), duration.Format(waits))
			switch {
			case calls > 1:
			case p.PermitWait > 0:
				parts = "attempt_timeout and " + duration.Format(p.PermitWait) + " for permits"
			default:
				parts = "attempt_timeout"
			}
		}
	}
	return total, parts, final
}

// attemptText formats the longest time of an attempt, with its wait for permits.
func (p *Policy) attemptText() string {
	if p.PermitWait > 0 {
		return duration.Format(p.AttemptTimeout) + " after " + duration.Format(p.PermitWait) + " for permits"
	}
	return duration.Format(p.AttemptTimeout)
}

// explainAsked writes how long the waits that errors ask for may be, since they
// may be longer than the waits of the schedules.
func (p *Policy) explainAsked(w io.Writer, waits time.Duration) {
	var most time.Duration
	for _, s := range p.schedules() {
		most = max(most, s.RetryAfter.Limit())
	}
	var limit time.Duration
	var field rules.Field
	for _, l := range p.limits() {
		if l.most > 0 && (limit == 0 || l.most < limit) {
			limit, field = l.most, l.field
		}
	}
	if most == 0 || limit > 0 && waits >= limit {
		return
	}
	fmt.Fprintf(w, "A server may ask for longer waits, up to %s each", duration.Format(most))
	if limit > 0 {
		fmt.Fprintf(w, "; %s limits all waits together to %s", field, duration.Format(limit))
	}
	fmt.Fprintln(w, ".")
}

// A limit is a limit on the sum of all waits.
type limit struct {
	field rules.Field
	most  time.Duration // not positive: no limit
}

func (p *Policy) limits() []limit {
	return []limit{{"delay_budget", p.DelayBudget}, {"max_elapsed", p.MaxElapsed}, {"timeout", p.Timeout}}
}

// schedules returns every schedule that an error may have.
func (p *Policy) schedules() []Policy {
	list := p.classes()
	if !slices.ContainsFunc(list, func(own Policy) bool { return own.Name == string(retry.ClassAny) }) {
		list = append(list, *p)
	}
	return list
}

// most returns the greatest number of calls, which the shortest waits allow, and
// the longest sum of waits. Each wait may be of another schedule, since each error
// of a call may be of another class. counted is false above 100,000 calls.
func (p *Policy) most() (calls int, waits time.Duration, counted bool) {
	const maxCalls = 100_000
	schedules := p.schedules()
	var sum, previous time.Duration
	for k := 1; k <= maxCalls; k++ {
		least, greatest, delay, retried := time.Duration(1<<63-1), time.Duration(0), time.Duration(0), false
		for _, s := range schedules {
			if s.MaxAttempts == retry.Unlimited || k < s.MaxAttempts+p.repeats() {
				retried = true
				shortest, _, longest := s.Bounds(k, previous)
				least, greatest = min(least, shortest), max(greatest, longest)
				_, _, drawn := s.Schedule.Bounds(k, previous)
				delay = max(delay, drawn)
			}
		}
		if !retried {
			return k, p.capped(waits), true
		}
		sum = saturated(sum, least)
		if bound, _ := p.exceeded(sum); bound != "" {
			return k, p.capped(waits), true
		}
		waits, previous = saturated(waits, greatest), delay
	}
	return 0, 0, false
}

// capped returns waits, or the lowest limit on the sum of waits if that is less.
func (p *Policy) capped(waits time.Duration) time.Duration {
	for _, l := range p.limits() {
		if l.most > 0 {
			waits = min(waits, l.most)
		}
	}
	return waits
}

// saturated returns a+b, or the greatest duration if the sum overflows.
func saturated(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}
