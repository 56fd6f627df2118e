package foreign

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// daprKind is the kind for Dapr's Resiliency resource. The defaults come from dapr/kit,
// retry/retry.go, and from the breaker in dapr/dapr, pkg/resiliency/breaker.
var daprKind = Kind{
	Name: "dapr", Title: "Dapr Resiliency",
	recognize: func(doc *syntax.Node) bool {
		return isResource(doc, "dapr.io", "Resiliency") ||
			doc.Get("kind") == nil && at(at(at(doc, "spec"), "policies"), "retries").IsMap()
	},
	decode: decodeDapr,
	encode: encodeDapr,
}

var daprWords = words{
	countsRetries: "maxRetries", "initial_delay": "duration", "max_delay": "maxInterval",
	"attempt_timeout": "timeout", "retry_on": "matching",
	"max_elapsed": fixed + "maxElapsedTime", "breaker": "circuitBreaker",
	"failures": "consecutiveFailures",
}

// daprExponential are the words for exponential retries, whose first delay is 500ms.
var daprExponential = func() words {
	w := maps.Clone(daprWords)
	w["initial_delay"] = fixed + "the first delay"
	return w
}()

// The values that Dapr uses for exponential retries. Except for maxInterval, a resource cannot
// change them.
const (
	daprInitial    = 500 * time.Millisecond
	daprMultiplier = 1.5
	daprJitter     = 0.5
	daprMaxElapsed = 15 * time.Minute
)

// A daprUse is a combination of policies that at least one target has.
type daprUse struct {
	retry, timeout, breaker string
	binds                   []string
	at                      *value // the first target
}

func decodeDapr(d *decoder, doc *value) {
	resource(doc)
	doc.skip("scopes", "version")
	spec := doc.get("spec")
	policies := spec.get("policies")
	retries, timeouts, breakers := policies.get("retries"), policies.get("timeouts"), policies.get("circuitBreakers")
	uses := daprTargets(spec.get("targets"))
	for _, name := range retries.keys() {
		if retries.has(name) && !slices.ContainsFunc(uses, func(u *daprUse) bool { return u.retry == name }) {
			uses = append(uses, &daprUse{retry: name})
		}
	}
	shared := map[string]*circuit{}
	for _, name := range breakers.keys() {
		shared[name] = d.daprBreaker(name, breakers.get(name))
	}
	timeouts.skip(timeouts.keys()...)
	for _, u := range uses {
		d.daprUndefined(u, retries, timeouts, breakers)
		p := d.daprPolicy(u, retries.get(u.retry))
		p.Binds = u.binds
		if t := timeouts.get(u.timeout); t != nil {
			p.duration("attempt_timeout", t, daprDuration)
			p.roots = append(p.roots, t)
		}
		p.breaker = shared[u.breaker]
	}
	for _, p := range d.file.Policies[d.first:] {
		slices.Sort(p.Binds)
	}
}

// daprTargets returns the combinations of policies that the targets have.
func daprTargets(targets *value) (uses []*daprUse) {
	add := func(bind string, t *value) {
		if t == nil {
			return
		}
		t.skip("circuitBreakerCacheSize", "circuitBreakerScope")
		u := &daprUse{
			retry: t.get("retry").text(), timeout: t.get("timeout").text(), breaker: t.get("circuitBreaker").text(), at: t,
		}
		i := slices.IndexFunc(uses, func(o *daprUse) bool {
			return o.retry == u.retry && o.timeout == u.timeout && o.breaker == u.breaker
		})
		if i < 0 {
			i, uses = len(uses), append(uses, u)
		}
		uses[i].binds = append(uses[i].binds, bind)
	}
	for _, section := range []string{"apps", "actors"} {
		list := targets.get(section)
		for _, name := range list.keys() {
			add(section+"/"+name, list.get(name))
		}
	}
	components := targets.get("components")
	for _, name := range components.keys() {
		c := components.get(name)
		for _, key := range []string{"retry", "timeout", "circuitBreaker"} {
			if c.has(key) {
				c.get(key).mistake("P101", "Dapr ignores %s here: write it below outbound or inbound of the component", key)
			}
		}
		for _, direction := range []string{"inbound", "outbound"} {
			add("components/"+name+"/"+direction, c.get(direction))
		}
	}
	return uses
}

// daprUndefined reports names that a target uses but that are not defined. Dapr ignores them.
func (d *decoder) daprUndefined(u *daprUse, retries, timeouts, breakers *value) {
	for _, ref := range []struct {
		key, name string
		defined   *value
	}{{"retry", u.retry, retries}, {"timeout", u.timeout, timeouts}, {"circuitBreaker", u.breaker, breakers}} {
		if ref.name == "" || ref.defined.has(ref.name) || strings.HasPrefix(ref.name, "DaprBuiltIn") {
			continue
		}
		u.at.get(ref.key).lacks("P901", "there is no %s %s in this file: Dapr runs without it, unless another file has it",
			ref.key, syntax.Quote(ref.name))
	}
}

// daprPolicy converts the retry policy of a combination. r is nil if it has none.
func (d *decoder) daprPolicy(u *daprUse, r *value) *Policy {
	if r == nil { // a target without retries
		p := d.policy(cmp.Or(u.retry, u.timeout, u.breaker), daprWords, u.at)
		p.MaxAttempts = 1
		return p
	}
	p := d.policy(u.retry, daprWords, r, u.at)
	p.MaxAttempts = retry.Unlimited
	if n, ok := r.get("maxRetries").int(); ok {
		p.from("max_attempts", r.get("maxRetries"))
		if n >= 0 {
			p.MaxAttempts = n + 1
		}
	}
	switch kind := r.get("policy"); strings.ToLower(kind.text()) {
	case "", "constant":
		p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, 5*time.Second, retry.None
		p.duration("initial_delay", r.get("duration"), daprDuration)
		if v := r.get("maxInterval"); v != nil {
			report := v.warn
			if kind == nil {
				report = v.lacks
			}
			report("P109", "maxInterval is not read by the policy constant: remove it, or write policy: exponential")
			v.skip()
		}
	case "exponential":
		p.words = daprExponential
		p.Base, p.InitialDelay, p.MaxDelay = daprMultiplier, daprInitial, time.Minute
		p.Jitter, p.JitterFactor, p.MaxElapsed = retry.JitterProportional, daprJitter, daprMaxElapsed
		if most := r.get("maxInterval"); p.duration("max_delay", most, daprDuration) && p.MaxDelay < daprInitial {
			// ExponentialBackOff of cenkalti/backoff compares with MaxInterval as it grows.
			most.warn("P201", "the first delay is %s all the same: maxInterval limits the later ones",
				duration.Format(daprInitial))
			p.InitialDelay, p.unknown = p.MaxDelay, append(p.unknown, "initial_delay")
		}
		if v := r.get("duration"); v != nil {
			v.warn("P109", "duration is not read by the policy exponential, which begins with 500ms: remove it")
			v.skip()
		}
	default:
		kind.mistake("P102", "policy is constant or exponential, not %s", syntax.Quote(kind.n.Text))
	}
	d.daprMatching(p, r.get("matching"))
	return p
}

// daprDuration parses durations with units. A number without a unit is in milliseconds.
func daprDuration(text string) (time.Duration, error) {
	return either(ofGo, in(time.Millisecond))(text)
}

// daprMatching reads the statuses that are retried. Errors without a status are always retried.
func (d *decoder) daprMatching(p *Policy, m *value) {
	http, grpc := m.get("httpStatusCodes"), m.get("gRPCStatusCodes")
	if http == nil {
		http = m.get("HTTPStatusCodes")
	}
	if http == nil && grpc == nil {
		return
	}
	p.retryOn(retry.ClassNetwork, m)
	p.retryOn(retry.ClassTimeout, m)
	p.remarks = append(p.remarks, "P406") // timeout is a default
	m.note("errors without a status are retried, too: here these are the classes network and timeout")
	for _, r := range codeRanges(http, 100, 599) {
		p.retryOn(d.http(r[0], r[1]), m)
	}
	for _, r := range codeRanges(grpc, 0, 16) {
		for code := max(r[0], 1); code <= r[1]; code++ {
			p.retryOn(d.grpc(grpcCodes[code]), m)
		}
	}
}

// codeRanges reads a list of codes and ranges in one string, such as 429,500-599.
func codeRanges(v *value, least, most int) (list [][2]int) {
	text := v.text()
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		switch {
		case part == "":
		case err != nil || err2 != nil || from < least || to > most || from > to:
			v.mistake("P102", "%s of %s is no code or range from %d to %d", syntax.Quote(part), v.key, least, most)
		default:
			list = append(list, [2]int{from, to})
		}
	}
	return list
}

// daprTrip matches the conditions that consist of a number of consecutive failures.
var daprTrip = regexp.MustCompile(`^\s*consecutiveFailures\s*(>=?)\s*(\d{1,6})\s*$`)

func (d *decoder) daprBreaker(name string, v *value) *circuit {
	b := d.breaker(name, daprWords, v)
	b.Failures, b.OpenFor = 6, time.Minute
	if trip := v.get("trip"); trip != nil {
		b.places["failures"] = trip
		if m := daprTrip.FindStringSubmatch(trip.text()); m != nil {
			b.Failures, _ = strconv.Atoi(m[2])
			if m[1] == ">" {
				b.Failures++
			}
		} else {
			trip.lose("a breaker opens after consecutiveFailures, or by a rate: the default of Dapr, more than 5, is assumed")
		}
	}
	if t, ok := v.get("timeout").duration(daprDuration); ok {
		b.OpenFor = t
		b.places["open_for"] = v.get("timeout")
	}
	if n, ok := v.get("maxRequests").int(); ok && n > 1 {
		b.HalfOpenCalls, b.Successes = n, n
		b.places["half_open_calls"] = v.get("maxRequests")
	}
	v.get("interval").lose("a closed breaker forgets its counts after this time; ours only after a success")
	return b
}
