package rules

import (
	"math"
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// capacityRules lists the rules about concurrency limits, rates, throttles and hedges.
var capacityRules = []Rule{
	{ID: "P611", Severity: Error, file: hedgeNeverFires},
	{ID: "P612", Severity: Error, file: hedgeRepeats},
	{ID: "P613", Severity: Error, file: waitsTooLong},
	{ID: "P614", Severity: Error, file: targetWithoutEffect, whole: []string{"policies"}},
	{ID: "P615", Severity: Warning, file: rateBelowOneCall},
	{ID: "P616", Severity: Warning, file: groupStarves},
	{ID: "P617", Severity: Warning, file: moreHedgesThanExtra},
	{ID: "P619", Severity: Error, file: refusesHealth},
	{ID: "P928", Severity: Error, file: hedgedStep},
}

// hedgeNeverFires is P611.
func hedgeNeverFires(f *File, report report) {
	for _, p := range f.Policies {
		most := p.longestAttempt()
		if p.Hedge == nil || most == 0 {
			continue
		}
		after, field := p.Hedge.After, Field("after")
		if p.Hedge.Quantile > 0 {
			after, field = p.Hedge.AtLeast, "at_least"
		}
		if after >= most {
			report(Error, Place{"policies", p.Name, "hedge." + field},
				"no second request starts, since %s %s is not below %s, after which every attempt ends: lower it",
				field, short(after), short(most))
		}
	}
}

// hedgeRepeats is P612.
func hedgeRepeats(f *File, report report) {
	for _, b := range f.Bindings {
		p := f.policy(b.Policy)
		switch {
		case p == nil || p.Hedge == nil || b.Idempotent.Repeatable():
		case b.Idempotent == NotIdempotent:
			report(Error, b.at("idempotent"),
				"%s is not idempotent, but policy %s makes slow requests twice: write hedge: none for it, or idempotent: key",
				b.name(), p.Name)
		default:
			report(Error, b.at("policy"),
				"policy %s makes slow requests twice, but %s is not known to be idempotent: write idempotent: true or key, or "+
					"hedge: none", p.Name, b.name())
		}
	}
}

// A permitWait is the longest wait of an attempt at a limiter or a rate.
type permitWait struct {
	field Field // of the policy
	what  string
	name  string
	most  time.Duration
}

// permitWaits returns the waits of an attempt of p before it starts.
func (f *File) permitWaits(p *Policy) (list []permitWait) {
	if r := f.rate(p.Rate); r != nil {
		list = append(list, permitWait{"rate", "rate", r.Name, max(r.MaxWait, 0)})
	}
	if l := f.limiter(p.Concurrency); l != nil {
		list = append(list, permitWait{"concurrency", "concurrency limit", l.Name, max(l.MaxWait, 0)})
	}
	return list
}

// waitsTooLong is P613.
func waitsTooLong(f *File, report report) {
	for _, p := range f.Policies {
		if p.Timeout <= 0 {
			continue
		}
		var sum time.Duration
		var last permitWait
		over := false
		for _, w := range f.permitWaits(&p) {
			if w.most >= p.Timeout {
				over = true
				report(Error, Place{"policies", p.Name, w.field},
					"an attempt may wait %s at %s %s, but timeout %s ends the call first: lower its max_wait, or raise timeout",
					short(w.most), w.what, w.name, short(p.Timeout))
			}
			sum += min(w.most, math.MaxInt64-sum)
			if w.most > 0 {
				last = w
			}
		}
		if over || sum == 0 || p.AttemptTimeout <= 0 || p.MaxAttempts == retry.Unlimited {
			continue
		}
		n := retriesWithin(p.Policy, p.Timeout, p.AttemptTimeout, greatestDelay) + 1
		longest := p.AttemptTimeout + min(sum, math.MaxInt64-p.AttemptTimeout)
		within := retriesWithin(p.Policy, p.Timeout, longest, greatestDelay) + 1
		if within < n {
			severity := Warning
			if p.MaxAttempts >= manyAttempts {
				severity = Info
			}
			report(severity, Place{"policies", p.Name, last.field},
				"with waits of %s before each attempt, only %d of %d attempts that time out can begin within timeout %s: lower "+
					"max_wait of %s %s, or raise timeout", short(sum), within, n, short(p.Timeout), last.what, last.name)
		}
	}
}

// targetWithoutEffect is P614.
func targetWithoutEffect(f *File, report report) {
	const fraction = 5 // of the time limit of an attempt; a target below it probably refuses healthy calls
	for _, l := range f.Limiters {
		if l.Target <= 0 {
			continue
		}
		var shortest, longest time.Duration
		unlimited := false
		for _, p := range f.Policies {
			if p.Concurrency != l.Name {
				continue
			}
			most := p.longestAttempt()
			unlimited = unlimited || most == 0
			longest = max(longest, most)
			if most > 0 && (shortest == 0 || most < shortest) {
				shortest = most
			}
		}
		at := Place{"concurrency", l.Name, "adaptive.target"}
		switch {
		case longest == 0:
		case !unlimited && l.Target >= longest:
			report(Error, at, "no attempt takes longer than target %s, since each ends after %s at most: lower the target",
				short(l.Target), short(longest))
		case l.Target < shortest/fraction:
			report(Warning, at,
				"target %s is less than a fifth of %s, which attempts may take, so a slow day of the service refuses most "+
					"calls: raise the target, or lower attempt_timeout", short(l.Target), short(shortest))
		}
	}
}

// rateBelowOneCall is P615. While a service refuses every attempt at once, only the
// waits of the schedule pass between them.
func rateBelowOneCall(f *File, report report) {
	for _, p := range f.Policies {
		r := f.rate(p.Rate)
		if r == nil || p.MaxAttempts == retry.Unlimited {
			continue
		}
		refused := firstRefused(p.Policy, r, 0)
		if refused == 0 {
			continue
		}
		severity := Warning
		if p.MaxAttempts >= manyAttempts {
			severity = Info
		}
		when := ", if its attempts fail at once"
		if p.AttemptTimeout > 0 && firstRefused(p.Policy, r, p.AttemptTimeout) > 0 {
			when = ", however long its attempts take"
		}
		report(severity, Place{"policies", p.Name, "rate"},
			"rate %s (%s, burst %d) refuses attempt %d of a call, even if there is no other call%s: raise its burst or "+
				"max_wait, or lower max_attempts", r.Name, duration.FormatRate(r.Events, r.Per), r.Burst, refused, when)
	}
}

// firstRefused returns the first attempt of a call that an idle rate refuses if attempts
// take the given time and the waits between them are the longest, or 0.
func firstRefused(p *retry.Policy, r *capacity.RatePolicy, attempt time.Duration) int {
	var taken time.Time // the state of the rate
	now := time.Unix(0, 0)
	for k := 1; k <= p.MaxAttempts && k <= maxSummed; k++ {
		if k > 1 {
			now = now.Add(attempt).Add(greatestWait(p, k-1))
		}
		next, wait := r.Take(taken, now)
		if wait > max(r.MaxWait, 0) {
			return k
		}
		if wait > 0 {
			now = now.Add(wait)
			next, _ = r.Take(taken, now)
		}
		taken = next
	}
	return 0
}

// groupStarves is P616.
func groupStarves(f *File, report report) {
	for _, g := range f.Groups {
		reported := map[string]bool{}
		for _, b := range f.Bindings {
			p := f.policy(b.Policy)
			if b.Group != g.Name || p == nil || reported[p.Concurrency] {
				continue
			}
			if l := f.limiter(p.Concurrency); l != nil {
				reported[l.Name] = starves(g.Name, g.Workers, g.Units, p, l, report)
			}
		}
	}
}

// starves reports a group whose workers ask for more permits at a time than a limiter
// can give or let wait.
func starves(group string, workers, units int, p *Policy, l *capacity.LimiterPolicy, report report) bool {
	if workers <= 0 || 0 < units && units < workers {
		workers = units
	}
	limit := l.Limit
	if l.Target > 0 {
		limit = l.Max // it may rise that far
	}
	if workers <= limit || limit <= 0 {
		return false
	}
	at := Place{"groups", group, "workers"}
	queue := l.Queue
	if queue == 0 {
		queue = limit
	}
	if l.MaxWait < 0 {
		queue = 0
	}
	if refused := workers - limit - queue; refused > 0 {
		report(Warning, at,
			"%d units call at a time, but concurrency limit %s admits %d and lets %d wait, so %d are refused: lower workers, "+
				"or raise the limit", workers, l.Name, limit, queue, refused)
		return true
	}
	rounds := (workers+limit-1)/limit - 1
	wait, last := l.MaxWait, p.longestAttempt()
	if last > 0 && last > wait/time.Duration(rounds) {
		report(Warning, at,
			"%d units call at a time, but concurrency limit %s admits %d: the last ones wait for attempts of up to %s, and are "+
				"refused after max_wait %s: lower workers, or raise max_wait", workers, l.Name, limit, short(last), short(wait))
		return true
	}
	return false
}

// moreHedgesThanExtra is P617.
func moreHedgesThanExtra(f *File, report report) {
	for _, p := range f.Policies {
		if p.Hedge == nil {
			continue
		}
		if finding, found := overExtra(*p.Hedge); found {
			report(finding.Severity, Place{"policies", p.Name, "hedge.after"}, "%s", finding.message)
		}
	}
}

// overExtra reports a hedge that may start for more requests than Extra allows.
func overExtra(h hedge.Policy) (Finding, bool) {
	const tolerance = 1e-9 // 1 − 0.95 is not 0.05
	share := math.Round((1-h.Quantile)*1e6) / 1e6
	return finding(h.Quantile > 0 && 1-h.Quantile > h.Extra+tolerance, Warning, "quantile",
		"%.4g %% of the requests take longer than p%.6g, but `extra` allows second requests for %.4g %%: raise `extra` "+
			"to %.6g | write a higher percentile", 100*share, 100*h.Quantile, 100*h.Extra, share)
}

// refusesHealth is P619.
func refusesHealth(f *File, report report) {
	for _, t := range f.Throttles {
		if finding, found := refusesHealthy(t); found {
			report(finding.Severity, Place{"throttles", t.Name, finding.Field}, "%s", finding.message)
		}
	}
	for _, r := range f.Rates {
		if finding, found := overPeriod(r); found {
			report(finding.Severity, Place{"rates", r.Name, finding.Field}, "%s", finding.message)
		}
	}
}

// refusesHealthy reports a throttle that refuses attempts while all are accepted.
func refusesHealthy(t capacity.ThrottlePolicy) (Finding, bool) {
	return finding(t.K < 1, Error, "k", "`k` %.4g refuses attempts although all succeed: write 1 or more; 2 is usual", t.K)
}

// overPeriod reports a burst that is greater than the events of a period.
func overPeriod(r capacity.RatePolicy) (Finding, bool) {
	return finding(0 < r.Events && r.Events < r.Burst, Warning, "burst",
		"`burst` %d is more than the %d attempts of a period, so that up to %d start in one: lower `burst`", r.Burst,
		r.Events, MostInPeriod(r))
}

// CheckRate returns the findings about a single rate. known is the same as for [Check].
func CheckRate(r capacity.RatePolicy, known Known) []Finding {
	f, found := overPeriod(r.Effective())
	return alone("P619", f, found && known("burst") && known("events"))
}

// CheckThrottle returns the findings about a single throttle. known is the same as for
// [Check].
func CheckThrottle(t capacity.ThrottlePolicy, known Known) []Finding {
	f, found := refusesHealthy(t.Effective())
	return alone("P619", f, found && known("k"))
}

// CheckHedge returns the findings about a single hedge. known is the same as for [Check].
func CheckHedge(h hedge.Policy, known Known) []Finding {
	f, found := overExtra(h.Effective())
	return alone("P617", f, found && known("quantile") && known("extra"))
}

// alone returns a finding of a rule, if it is found.
func alone(rule string, f Finding, found bool) []Finding {
	if !found {
		return nil
	}
	f.Rule, f.Text = rule, f.In(policyWords)
	return []Finding{f}
}

// MostInPeriod returns the maximum number of attempts that a rate allows to start in one
// of its periods, or the maximum int if the number is larger.
func MostInPeriod(r capacity.RatePolicy) int {
	if r.Events > 0 && r.Burst > math.MaxInt-r.Events {
		return math.MaxInt
	}
	return r.Burst + r.Events - 1
}

// hedgedStep is P928.
func hedgedStep(f *File, report report) {
	for _, p := range f.Policies {
		if p.Hedge != nil && p.Durable != nil {
			report(Error, Place{"policies", p.Name, "hedge"},
				"policy %s is durable, and after a crash the record of an attempt does not say which of two requests was made: "+
					"write hedge: none, or remove durable", p.Name)
		}
	}
}

// unusedCapacity reports the limits, rates and throttles that no policy names (P902).
func (f *File) unusedCapacity(warn func(section, name, what string, used bool)) {
	names := slices.Clone(f.CapacityInGo)
	for _, l := range f.Limiters {
		names = append(names, Place{Section: "concurrency", Name: l.Name})
	}
	for _, r := range f.Rates {
		names = append(names, Place{Section: "rates", Name: r.Name})
	}
	for _, t := range f.Throttles {
		names = append(names, Place{Section: "throttles", Name: t.Name})
	}
	kinds := map[string]struct {
		what string
		name func(*Policy) string
	}{
		"concurrency": {"concurrency limit", func(p *Policy) string { return p.Concurrency }},
		"rates":       {"rate", func(p *Policy) string { return p.Rate }},
		"throttles":   {"throttle", func(p *Policy) string { return p.Throttle }},
	}
	for _, n := range names {
		kind := kinds[n.Section]
		used := slices.ContainsFunc(f.Policies, func(p Policy) bool { return kind.name(&p) == n.Name })
		warn(n.Section, n.Name, kind.what, used)
	}
}
