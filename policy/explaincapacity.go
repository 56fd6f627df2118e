package policy

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// permitWaits fills in the longest waits of attempts before they start.
func (f *File) permitWaits() {
	limiters := byName(f.Concurrency, func(l *Limiter) string { return l.Name })
	rates := byName(f.Rates, func(r *Rate) string { return r.Name })
	for i := range f.Policies {
		p := &f.Policies[i]
		if l := limiters[p.Concurrency]; l != nil {
			p.PermitWait = max(l.MaxWait, 0)
		}
		if r := rates[p.Rate]; r != nil {
			p.PermitWait = saturated(p.PermitWait, max(r.MaxWait, 0))
		}
	}
}

// explainHedges writes how many requests hedges add.
func (p *Policy) explainHedges(w io.Writer) {
	if p.Hedge == nil {
		return
	}
	after := "after " + duration.Format(p.Hedge.After)
	if p.Hedge.Quantile > 0 {
		after = "when it takes longer than " + percent(p.Hedge.Quantile) + " of them"
	}
	most := ""
	if calls, _, counted := p.most(); counted {
		most = "; one call makes " + plural(2*calls, "request") + " at worst"
	}
	fmt.Fprintf(w, "A request is made a second time %s. That adds %s of the requests at most in the long run%s.\n", after,
		percent(p.Hedge.Extra), most)
}

// ExplainCapacity describes the order in which the limits apply to an attempt of p. It
// also describes the concurrency limit, the rate and the throttle. file is the name of
// the policy file to print. For a policy without any of these limits, it writes nothing.
// Errors from w are ignored.
func (f *File) ExplainCapacity(w io.Writer, file string, p *Policy) {
	if p.Concurrency == "" && p.Rate == "" && p.Throttle == "" && p.Hedge == nil {
		return
	}
	rates := byName(f.Rates, func(r *Rate) string { return r.Name })
	limiters := byName(f.Concurrency, func(l *Limiter) string { return l.Name })
	throttle, rate, limiter := f.throttles[p.Throttle], rates[p.Rate], limiters[p.Concurrency]
	p.explainOrder(w, rate, limiter)
	if throttle != nil {
		throttle.explain(w, file)
	}
	if rate != nil {
		rate.explain(w, file)
	}
	if limiter != nil {
		limiter.explain(w, file, p.AttemptTimeout)
	}
}

// explainOrder writes the steps of an attempt, in their order. rate and limiter are what
// limits it, or nil.
func (p *Policy) explainOrder(w io.Writer, rate *Rate, limiter *Limiter) {
	var steps []string
	add := func(name, format string, args ...any) {
		if name != "" {
			steps = append(steps, fmt.Sprintf(format, args...))
		}
	}
	add(p.Breaker, "breaker %s: refuses while it is open", p.Breaker)
	add(p.Throttle, "throttle %s: refuses a share while the service fails", p.Throttle)
	if rate != nil {
		add(p.Rate, "rate %s%s", p.Rate, waitStep(rate.From, rate.MaxWait, "its turn"))
	}
	if limiter != nil {
		add(p.Concurrency, "concurrency limit %s%s", p.Concurrency, waitStep(limiter.From, limiter.MaxWait, "a permit"))
	}
	add(p.Breaker, "breaker %s: again, since it may have opened meanwhile", p.Breaker)
	limit := ""
	if p.AttemptTimeout > 0 {
		limit = ", for attempt_timeout " + duration.Format(p.AttemptTimeout)
	}
	add(p.Name, "the request%s", limit)
	if p.Hedge != nil {
		add(p.Name, "a second request %s, if the others admit it without a wait", strings.Split(hedgeText(p.Hedge), ",")[0])
	}
	add(p.Concurrency, "the permit of %s is returned, before any wait for the next attempt", p.Concurrency)
	fmt.Fprint(w, "\neach attempt, in this order:\n")
	for i, step := range steps {
		fmt.Fprintf(w, "  %d  %s\n", i+1, step)
	}
	var refusals []string
	for _, r := range []struct {
		name  string
		class retry.Class
	}{{p.Throttle, retry.ClassThrottled}, {p.Rate, retry.ClassRateLimited}, {p.Concurrency, retry.ClassLimited}} {
		if r.name != "" {
			refusals = append(refusals, string(r.class))
		}
	}
	if len(refusals) > 0 {
		fmt.Fprintf(w, "A refused attempt ends the call, unless retry_on names its class: %s.\n",
			strings.Join(refusals, ", "))
	}
}

// explain writes whom the throttle refuses.
func (t *Throttle) explain(w io.Writer, file string) {
	fmt.Fprintf(w, "\nthrottle %s (%s:%d)\n\n", t.Name, file, t.Pos.Line)
	if inGo(w, t.From) {
		return
	}
	fmt.Fprintf(w, "  looks at the requests of the last %s, from %s on\n", duration.Format(t.Window),
		plural(t.MinCalls, "request"))
	share := func(accepted float64) string {
		many := max(1e6, float64(t.MinCalls)) // so that the 1 in the formula does not count
		return percent(t.Share(many, many*accepted))
	}
	fmt.Fprintf(w,
		"  at twice the load that the service accepts: refuses %s, at four times %s, and %s if it accepts nothing\n",
		share(0.5), share(0.25), share(0))
	fmt.Fprintf(w, "  counts %s\n", classNames(t.Count, "the errors that a breaker would count"))
}

// explain writes how many attempts the rate admits.
func (r *Rate) explain(w io.Writer, file string) {
	fmt.Fprintf(w, "\nrate %s (%s:%d)\n\n", r.Name, file, r.Pos.Line)
	if r.Store {
		fmt.Fprintln(w, "  is shared by all processes that use its store")
	}
	if inGo(w, r.From) {
		return
	}
	if !r.Store {
		fmt.Fprintln(w, "  each process has its own: several processes together send several times as much")
	}
	interval := r.Per / time.Duration(r.Events)
	if interval >= time.Millisecond {
		interval = interval.Round(time.Microsecond)
	}
	fmt.Fprintf(w, "  admits one attempt each %s, and %d at once after a pause: at most %d in any %s\n",
		duration.Format(interval), r.Burst, rules.MostInPeriod(r.RatePolicy), duration.Format(r.Per))
	fmt.Fprintf(w, "  %s\n", waitText(r.MaxWait, "its turn"))
	fmt.Fprintf(w, "  at twice the rate: refuses every second attempt%s\n", othersWait(r.MaxWait))
}

// explain writes how many attempts the limit admits. Each takes up to attempt, if that
// is positive.
func (l *Limiter) explain(w io.Writer, file string, attempt time.Duration) {
	fmt.Fprintf(w, "\nconcurrency limit %s (%s:%d)\n\n", l.Name, file, l.Pos.Line)
	if inGo(w, l.From) {
		return
	}
	if l.Target > 0 {
		fmt.Fprintf(w, "  admits %d attempts at a time at first, later from %d to %d\n", l.Limit, l.Min, l.Max)
		fmt.Fprintf(w,
			"  falls while attempts take longer than %s on average, and rises while they do not and it is in use\n",
			duration.Format(l.Target))
		fmt.Fprintln(w, "  helps if load makes the service slow; if it is slow for another reason, calls are refused in vain")
	} else {
		fmt.Fprintf(w, "  admits %s at a time\n", plural(l.Limit, "attempt"))
	}
	queue := "as many as there are permits"
	if l.Queue > 0 {
		queue = strconv.Itoa(l.Queue) + " at a time"
	}
	fmt.Fprintf(w, "  %s\n", waitText(l.MaxWait, "a permit"))
	if l.MaxWait > 0 {
		fmt.Fprintf(w, "  lets %s wait, the oldest first, and refuses others at once\n", queue)
	}
	wait := l.MaxWait
	if attempt > 0 {
		perSecond := float64(l.Limit) / attempt.Seconds()
		fmt.Fprintf(w, "  allows %s attempts a second if each takes attempt_timeout %s\n",
			strconv.FormatFloat(perSecond, 'g', 3, 64), duration.Format(attempt))
		// Attempts end in rounds of l.Limit, until the last of the queue has its permit.
		rounds := time.Duration(1)
		if l.Limit > 0 && l.Queue > 0 {
			rounds = time.Duration((l.Queue + l.Limit - 1) / l.Limit)
		}
		if attempt <= wait/rounds {
			wait = rounds * attempt
		}
	}
	fmt.Fprintf(w, "  at twice the load: refuses every second attempt%s\n", othersWait(wait))
}

// inGo reports whether a Go variable has the settings, and writes that.
func inGo(w io.Writer, from Symbol) bool {
	if from.Name != "" {
		fmt.Fprintf(w, "  is the Go variable %s, which has the settings\n", from.Name)
	}
	return from.Name != ""
}

// waitText describes how long an attempt waits.
func waitText(most time.Duration, what string) string {
	if most <= 0 {
		return "refuses an attempt at once that would have to wait for " + what
	}
	return "an attempt waits for " + what + " for up to " + duration.Format(most)
}

// waitStep describes how long an attempt waits, for the list of its steps.
func waitStep(from Symbol, most time.Duration, what string) string {
	switch {
	case from.Name != "":
		return ": waits as its Go variable says, which the times above do not contain"
	case most <= 0:
		return ": no wait for " + what
	}
	return ": waits for " + what + " for up to " + duration.Format(most)
}

// othersWait describes how long the attempts wait that are not refused.
func othersWait(most time.Duration) string {
	if most <= 0 {
		return " at once"
	}
	return "; the others wait for up to " + duration.Format(most)
}
