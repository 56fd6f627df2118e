package policy

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// A Limiter is a limit on concurrent attempts that calls share.
type Limiter struct {
	Pos Pos
	capacity.LimiterPolicy
	From     Symbol      // the Go variable that contains the limiter and its settings, or empty
	adaptive bool        // the limit changes
	at       syntax.Span // of adaptive
}

// A Rate limits the attempts that the calls sharing it may start in a period.
type Rate struct {
	Pos Pos
	capacity.RatePolicy
	Store bool   // whether its state is kept in a store instead of in the process
	From  Symbol // the Go variable that contains the rate and its settings, or empty
}

// A Throttle refuses attempts of the calls that share it while a service is failing.
type Throttle struct {
	Pos Pos
	capacity.ThrottlePolicy
	From     Symbol // the Go variable that contains the throttle and its settings, or empty
	patterns []class
}

// ownState reports the key shared of an entry whose state every process has for itself.
func (d decoder) ownState(e syntax.Entry, what string) {
	if shared := e.Value.Get("shared"); shared != nil {
		d.problem(shared.At, "P101",
			"unknown key \"shared\": every process has its own %s, only breakers, budgets and rates can be in a store", what)
	}
}

// limiters reads the section concurrency.
func (d decoder) limiters(root *syntax.Node) (list []Limiter) {
	for _, e := range d.entries(root, "concurrency", "a concurrency limit") {
		list = append(list, d.limiter(e))
	}
	return list
}

// entries returns the entries of a section that are maps. An entry without a value is
// an empty map.
func (d decoder) entries(root *syntax.Node, section, what string) (list []syntax.Entry) {
	for _, e := range d.section(root, section) {
		if e.Value.IsNull() {
			e.Value = &syntax.Node{Span: e.At, Value: map[string]any{}}
		}
		if d.isMap(e.Value, what) {
			list = append(list, e)
		}
	}
	return list
}

func (d decoder) limiter(e syntax.Entry) Limiter {
	n := e.Value
	before := d.errors()
	d.ownState(e, "limit")
	d.unknownKeys(n, "", "from", "limit", "adaptive", "max_wait", "queue", "shared")
	l := Limiter{Pos: posOf(e.At), LimiterPolicy: capacity.LimiterPolicy{Name: e.Key}, From: d.from(n)}
	if l.From.Name != "" {
		return l
	}
	limit := n.Written("limit")
	l.Limit = optional(d, n, d.atLeastOne, "limit").value
	l.MaxWait = optional(d, n, d.maxWait, "max_wait").value
	l.Queue = optional(d, n, d.atLeastOne, "queue").value
	if queue := n.Written("queue"); queue != nil && l.MaxWait == capacity.NoWait {
		d.problem(queue.At, "P109", "queue is not read with max_wait: none: remove it")
	}
	adaptive := n.Written("adaptive")
	switch {
	case adaptive != nil && limit != nil:
		d.problem(limit.At, "P102",
			"limit is fixed, and adaptive changes: remove one, or write where it begins as adaptive: {initial: %s}",
			limit.Value.Text)
	case adaptive != nil:
		l.adaptive, l.at = true, adaptive.At
		d.adaptive(adaptive, &l)
	case limit == nil && d.errors() == before:
		d.problem(e.At, "P102",
			"%s has no limit: write limit: 20, or adaptive: {target: 500ms} for one that follows the durations", e.Key)
	}
	l.LimiterPolicy = l.Effective()
	return l
}

// adaptive reads adaptive: a target, or a map.
func (d decoder) adaptive(e *syntax.Entry, l *Limiter) {
	if !e.Value.IsMap() || e.Value.Get("secs") != nil {
		l.Target, _ = d.aboveZero(e)
		return
	}
	n := e.Value
	d.unknownKeys(n, "", "target", "initial", "min", "max")
	l.Target = optional(d, n, d.aboveZero, "target").value
	initial := optional(d, n, d.atLeastOne, "initial")
	least := optional(d, n, d.atLeastOne, "min")
	most := optional(d, n, d.atLeastOne, "max")
	l.Limit, l.Min, l.Max = initial.value, least.value, most.value
	effective := l.LimiterPolicy
	effective.Target = max(effective.Target, 1) // the least and the greatest limit do not depend on it
	effective = effective.Effective()
	switch {
	case effective.Min > effective.Max:
		at := least.at
		if least.value == 0 {
			at = most.at
		}
		d.problem(at, "P102", "min %d is more than max %d: lower min, or raise max", effective.Min, effective.Max)
	case initial.value > 0 && (initial.value < effective.Min || initial.value > effective.Max):
		d.problem(initial.at, "P102", "initial %d is not from min %d to max %d", initial.value, effective.Min, effective.Max)
	}
}

// targets fills in the targets of adaptive limits: half of the least attempt_timeout of
// the policies that name the limit, unless the file has another one.
func (d decoder) targets(resolved []resolution, f *File) {
	for i := range f.Concurrency {
		l := &f.Concurrency[i]
		if !l.adaptive || l.Target > 0 {
			continue
		}
		known := d.errors() == 0
		for i, p := range f.Policies {
			if p.Concurrency != l.Name {
				continue
			}
			known = known && !resolved[i].merged.broken
			if half := p.AttemptTimeout / 2; half > 0 && (l.Target == 0 || half < l.Target) {
				l.Target = half
			}
		}
		if l.Target == 0 && known {
			d.problem(l.at, "P102",
				"no policy with an attempt_timeout names %s, half of which would be the target: write adaptive: {target: 500ms}",
				l.Name)
		}
		l.LimiterPolicy = l.Effective()
	}
}

// maxWait reads the longest wait of an attempt. It is always finite, so that no
// attempts can wait for each other for ever.
func (d decoder) maxWait(e *syntax.Entry) (time.Duration, bool) {
	if e.Value.Value == "unlimited" {
		d.problem(e.Value.Span, "P102", "max_wait has an end: write a duration, as 500ms, or none to refuse at once")
		return 0, false
	}
	return d.positive(e, "no wait")
}

// rates reads the section rates.
func (d decoder) rates(root *syntax.Node) (list []Rate) {
	for _, e := range d.entries(root, "rates", "a rate") {
		list = append(list, d.oneRate(e))
	}
	return list
}

func (d decoder) oneRate(e syntax.Entry) Rate {
	n := e.Value
	before := d.errors()
	d.unknownKeys(n, "", "from", "rate", "burst", "max_wait", "shared")
	r := Rate{Pos: posOf(e.At), RatePolicy: capacity.RatePolicy{Name: e.Key}, From: d.from(n)}
	if r.From.Name != "" {
		return r
	}
	if rate := n.Written("rate"); rate != nil {
		r.Events, r.Per = d.eventsPer(rate)
	} else if d.errors() == before {
		d.problem(e.At, "P102", "%s has no rate: write rate: 100/s", e.Key)
	}
	r.Burst = optional(d, n, d.atLeastOne, "burst").value
	r.MaxWait = optional(d, n, d.maxWait, "max_wait").value
	r.Store = optional(d, n, d.stored, "shared").value
	r.RatePolicy = r.Effective()
	return r
}

// eventsPer reads a number of events for each period.
func (d decoder) eventsPer(e *syntax.Entry) (events int, per time.Duration) {
	switch e.Value.Value.(type) {
	case string, int64, float64:
	default:
		d.problem(e.Value.Span, "P102", "rate is a number of events for each period, as 100/s, not %s", e.Value.Describe())
		return 0, 0
	}
	events, per, err := duration.ParseRate(e.Value.Text)
	if err != nil {
		d.problem(e.Value.Span, "P102", "rate: %v", err)
		return 0, 0
	}
	d.spellings.Rates = append(d.spellings.Rates, e.Value)
	return events, per
}

// throttles reads the section throttles.
func (d decoder) throttles(root *syntax.Node) (list []Throttle) {
	for _, e := range d.entries(root, "throttles", "a throttle") {
		list = append(list, d.oneThrottle(e))
	}
	return list
}

func (d decoder) oneThrottle(e syntax.Entry) Throttle {
	n := e.Value
	d.ownState(e, "throttle")
	d.unknownKeys(n, "", "from", "k", "window", "min_calls", "max_share", "count", "shared")
	t := Throttle{Pos: posOf(e.At), ThrottlePolicy: capacity.ThrottlePolicy{Name: e.Key}, From: d.from(n)}
	if t.From.Name != "" {
		return t
	}
	t.K = optional(d, n, d.ratio, "k").value
	t.Window = optional(d, n, d.aboveZero, "window").value
	t.MinCalls = optional(d, n, d.atLeastOne, "min_calls").value
	t.MaxShare = optional(d, n, d.shareBelowOne, "max_share").value
	t.patterns = optional(d, n, d.classes, "count").value
	for _, c := range t.patterns {
		t.Count = append(t.Count, string(c.name))
	}
	t.ThrottlePolicy = t.Effective()
	return t
}

// ratio reads a number above 0.
func (d decoder) ratio(e *syntax.Entry) (float64, bool) {
	value, ok := number(e.Value)
	if !ok || !(value > 0) || math.IsInf(value, 0) {
		d.problem(e.Value.Span, "P102", "%s is a number above 0, not %s", e.Key, e.Value.Describe())
		return 0, false
	}
	return value, true
}

// shareBelowOne reads a share above 0 and below 1.
func (d decoder) shareBelowOne(e *syntax.Entry) (float64, bool) {
	value, ok := number(e.Value)
	if !ok || !(value > 0 && value < 1) {
		d.problem(e.Value.Span, "P102", "%s is a share above 0 and below 1, not %s", e.Key, e.Value.Describe())
		return 0, false
	}
	return value, true
}

// hedge reads hedge: none, when the second request starts, or a map.
func (d decoder) hedge(e *syntax.Entry) (*hedge.Policy, bool) {
	before := d.errors()
	h := new(hedge.Policy)
	switch {
	case e.Value.Value == "none":
		return nil, true
	case !e.Value.IsMap() || e.Value.Get("secs") != nil:
		d.hedgeAfter(e, h)
	default:
		n := e.Value
		d.unknownKeys(n, "", "after", "at_least", "extra")
		if after := n.Written("after"); after != nil {
			d.hedgeAfter(after, h)
		} else if d.errors() == before {
			d.problem(e.At, "P102", "hedge does not say when the second request starts: write after: p95, or after: 50ms")
		}
		h.AtLeast = optional(d, n, d.aboveZero, "at_least").value
		h.Extra = optional(d, n, d.rate, "extra").value
		if least := n.Written("at_least"); least != nil && h.After > 0 {
			d.problem(least.At, "P109", "at_least is not read with after %s: remove it", duration.Format(h.After))
		}
	}
	*h = h.Effective()
	return h, d.errors() == before
}

// hedgeAfter reads when the second request starts: a duration, or a percentile of the
// durations of first requests.
func (d decoder) hedgeAfter(e *syntax.Entry, h *hedge.Policy) {
	text, _ := e.Value.Value.(string)
	digits, isPercentile := strings.CutPrefix(text, "p")
	if !isPercentile {
		h.After, _ = d.aboveZero(e)
		return
	}
	// A quantile is the percentage that is written, not the nearest number to a quotient.
	value, err := strconv.ParseFloat(digits+"e-2", 64)
	if err != nil || !(value > 0 && value < 1) {
		d.problem(e.Value.Span, "P102",
			"%s is not a percentile: write p95 for the duration that 95 %% of the requests do not exceed, or a duration, as "+
				"50ms", syntax.Quote(text))
		return
	}
	h.Quantile = value
}

// hedgeText describes when a hedge starts, and how many there may be.
func hedgeText(h *hedge.Policy) string {
	after := "after " + duration.Format(h.After)
	if h.Quantile > 0 {
		after = "after " + percentile(h.Quantile) + ", at least " + duration.Format(h.AtLeast)
	}
	return after + ", for " + percent(h.Extra) + " of the requests"
}

// percentile formats a quantile as in a policy file: p95.
func percentile(quantile float64) string { return "p" + strconv.FormatFloat(quantile*100, 'g', 6, 64) }

// percent formats a share: 5 %.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 3, 64) + " %" }

// capacityModel adds what limits attempts to m, in the form that package rules checks.
func (f *File) capacityModel(m *rules.File, unknown unsound) {
	inGo := func(section, name string, from Symbol) bool {
		if from.Name != "" {
			m.CapacityInGo = append(m.CapacityInGo, rules.Place{Section: section, Name: name})
		}
		return from.Name != ""
	}
	for _, l := range f.Concurrency {
		if !unknown.has("concurrency", l.Name) && !inGo("concurrency", l.Name, l.From) {
			m.Limiters = append(m.Limiters, l.LimiterPolicy)
		}
	}
	for _, r := range f.Rates {
		if !unknown.has("rates", r.Name) && !inGo("rates", r.Name, r.From) {
			m.Rates = append(m.Rates, r.RatePolicy)
		}
	}
	for _, t := range f.Throttles {
		if !unknown.has("throttles", t.Name) && !inGo("throttles", t.Name, t.From) {
			m.Throttles = append(m.Throttles, t.ThrottlePolicy)
		}
	}
}
