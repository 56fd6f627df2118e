package foreign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// pollyKind is the kind for the JSON of Polly v8's strategy options, alone or in the form that
// Microsoft.Extensions.Http.Resilience binds. Sources: App-vNext/Polly, RetryStrategyOptions,
// and RetryHelper for the jitter.
var pollyKind = Kind{
	Name: "polly", Title: "Polly configuration",
	shape:     true,
	recognize: func(doc *syntax.Node) bool { return hasPart(doc, isPolly) },
	decode:    func(d *decoder, doc *value) { d.search("", doc, isPolly, d.pollyPart) },
}

var pollyWords = words{
	countsRetries: "MaxRetryAttempts", "initial_delay": "Delay", "max_delay": "MaxDelay",
	fullJitter: "UseJitter: true", fixedBackoff: "BackoffType: Constant",
	"attempt_timeout": "AttemptTimeout",
	"timeout":         "TotalRequestTimeout", "breaker": "CircuitBreaker", "failure_rate": "FailureRatio",
	"min_calls": "MinimumThroughput",
}

// pollyJitter is the width of Polly's jitter, as a fraction of the delay. Exponential delays
// have a different jitter: see pollyBegin.
const pollyJitter = 0.25

// The limits of the standard handler of Microsoft.Extensions.Http.Resilience, whose retries are
// exponential with jitter. Source: dotnet/extensions, HttpStandardResilienceOptions.
const (
	pollyHTTPTotal   = 30 * time.Second
	pollyHTTPAttempt = 10 * time.Second
)

// isPollyHTTP reports whether a map has the options of the standard handler.
func isPollyHTTP(n *syntax.Node) bool {
	return slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
		return e.Value.IsMap() && (folded(e.Key) == "totalrequesttimeout" || folded(e.Key) == "attempttimeout")
	})
}

// pollyOptions lists the options of a retry, folded.
var pollyOptions = []string{
	"maxretryattempts", "backofftype", "delay", "maxdelay", "usejitter", "shouldhandle", "delaygenerator",
	"shouldretryafterheader", "onretry", "name",
}

// isPollyRetry reports whether a map has the options of a retry, and no other fields. Some
// programs also name their own settings MaxRetryAttempts, together with, for example,
// DelaySeconds.
func isPollyRetry(n *syntax.Node) bool {
	retries := func(e syntax.Entry) bool { return slices.Contains(pollyOptions[:2], folded(e.Key)) }
	other := func(e syntax.Entry) bool { return !slices.Contains(pollyOptions, folded(e.Key)) }
	return slices.ContainsFunc(n.Entries, retries) && !slices.ContainsFunc(n.Entries, other)
}

// isPolly reports whether a map has the options of a retry, or a strategy with such options. If
// the map has the timeouts of the standard handler, all options of a strategy belong to a
// retry.
func isPolly(n *syntax.Node) bool {
	return isPollyRetry(n) || slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
		return isPollyName(folded(e.Key)) && (isPollyRetry(e.Value) || e.Value.IsMap() && isPollyHTTP(n))
	})
}

func isPollyName(key string) bool {
	return key == "retry" || key == "retryoptions" || key == "retrystrategyoptions"
}

// pollyPart converts the options of a retry and of the strategies in the same map.
func (d *decoder) pollyPart(name string, v *value) {
	if name == "" {
		name = "default"
	}
	if isPollyRetry(v.n) {
		d.pollyPolicy(name, v, v)
		return
	}
	var r *value
	for _, key := range v.keys() {
		if isPollyName(folded(key)) {
			r = v.get(key)
		}
	}
	p := d.pollyPolicy(name, r, v)
	total, attempt := fieldFolded(v, "totalRequestTimeout"), fieldFolded(v, "attemptTimeout")
	if attempt == nil {
		attempt = fieldFolded(v, "timeout")
	}
	if isPollyHTTP(v.n) {
		p.Timeout, p.AttemptTimeout = pollyHTTPTotal, pollyHTTPAttempt
	}
	if attempt == nil {
		p.remarks = append(p.remarks, "P405") // the limit is a default
	}
	p.duration("timeout", pollyTimeout(total), timeSpan)
	p.duration("attempt_timeout", pollyTimeout(attempt), timeSpan)
	d.pollyBegin(p)
	if b := fieldFolded(v, "circuitBreaker"); b != nil {
		p.breaker = d.pollyBreaker(name, b)
	}
	for _, other := range []string{"rateLimiter", "concurrencyLimiter", "bulkhead", "hedging", "fallback"} {
		fieldFolded(v, other).lose("it is another strategy than a retry, a timeout or a breaker")
	}
	d.below(name, v, isPolly, d.pollyPart)
}

// pollyTimeout returns the value of a timeout, which is either the value itself or the Timeout
// field of its options.
func pollyTimeout(v *value) *value {
	if v == nil || !v.n.IsMap() {
		return v
	}
	fieldFolded(v, "name").skip()
	return fieldFolded(v, "timeout")
}

func (d *decoder) pollyPolicy(name string, r, around *value) *Policy {
	p := d.policy(name, pollyWords, r, around)
	fieldFolded(r, "name").skip()
	p.MaxAttempts, p.InitialDelay, p.MaxDelay = 4, 2*time.Second, retry.None
	p.attempts(fieldFolded(r, "maxRetryAttempts"), 1)
	p.duration("initial_delay", fieldFolded(r, "delay"), timeSpan)
	p.duration("max_delay", fieldFolded(r, "maxDelay"), timeSpan)
	p.Backoff = retry.BackoffFixed
	standard := isPollyHTTP(around.n)
	if standard {
		p.Backoff = retry.BackoffExponential
	}
	if kind := fieldFolded(r, "backoffType"); kind != nil {
		p.from("backoff", kind)
		switch kind.text() {
		case "Constant":
			p.Backoff = retry.BackoffFixed
		case "Linear":
			p.Backoff, p.Increment = retry.BackoffLinear, max(p.InitialDelay, 0)
		case "Exponential":
			p.Backoff = retry.BackoffExponential
		default:
			kind.mistake("P102", "BackoffType is Constant, Linear or Exponential, not %s", syntax.Quote(kind.n.Text))
		}
	}
	if j := fieldFolded(r, "useJitter"); j.bool() || j == nil && standard {
		p.from("jitter", j)
		if p.Backoff == retry.BackoffExponential {
			p.Jitter = retry.JitterFull
			j.note("Polly varies exponential delays by a formula of its own, from none to twice as long: full jitter waits " +
				"half as long on average")
		} else {
			p.Jitter, p.JitterFactor = retry.JitterProportional, pollyJitter
		}
	}
	if v := fieldFolded(r, "shouldRetryAfterHeader"); v != nil && v.bool() {
		v.note("waits that servers ask for are accepted up to retry_after, by default 5m")
	}
	for _, field := range []string{"shouldHandle", "delayGenerator", "onRetry"} {
		fieldFolded(r, field).lose("a function of the program decides")
	}
	return p
}

// pollyBegin applies rule P404 to exponential delays with jitter. Their sum varies less than
// each delay does, because DecorrelatedJitterBackoffV2 returns the difference between two
// values of a growing curve, at the number of the retry plus a random fraction. If single
// delays are limited, the sums change, and nothing can be said about them.
func (d *decoder) pollyBegin(p *Policy) {
	if p.Backoff != retry.BackoffExponential || p.Jitter != retry.JitterFull {
		return
	}
	p.judged = append(p.judged, "P404")
	if p.InitialDelay <= 0 || p.MaxDelay > 0 || p.Timeout <= 0 || slices.Contains(p.unknown, "initial_delay") ||
		slices.Contains(p.unknown, "max_attempts") || slices.Contains(p.unknown, "max_delay") {
		return
	}
	begin := func(fraction float64) (retries int) {
		for retries < p.MaxAttempts-1 {
			t := float64(retries) + fraction
			sum := math.Pow(2, t) * math.Tanh(math.Sqrt(4*t)) / 1.4 * float64(p.InitialDelay)
			if sum >= float64(p.Timeout) {
				break
			}
			retries++
		}
		return retries
	}
	n, severity, when := begin(0), rules.Error, ""
	if n == p.MaxAttempts-1 {
		n, severity, when = begin(1), rules.Warning, "with the longest waits of its jitter, "
	}
	if n > 0 && p.MaxAttempts > 10 { // as many attempts as fit, like P404 does for other policies
		severity = rules.Info
	}
	if n < p.MaxAttempts-1 {
		at := cmp.Or(p.written("timeout"), p.root())
		d.problem(at.span(), "P404", severity, fmt.Sprintf(
			"%sonly %d of %d attempts can begin within TotalRequestTimeout %s: raise TotalRequestTimeout, lower "+
				"MaxRetryAttempts, or shorten the delays", when, n+1, p.MaxAttempts, duration.Format(p.Timeout)))
	}
}

func (d *decoder) pollyBreaker(name string, v *value) *circuit {
	b := d.breaker(name, pollyWords, v)
	b.FailureRate, b.MinCalls, b.Window, b.OpenFor = 0.1, 100, 30*time.Second, 5*time.Second
	fieldFolded(v, "name").skip()
	if f, ok := fieldFolded(v, "failureRatio").share(1); ok {
		b.FailureRate = f
		b.places["failure_rate"] = fieldFolded(v, "failureRatio")
	}
	if n, ok := fieldFolded(v, "minimumThroughput").int(); ok {
		b.MinCalls = n
		b.places["min_calls"] = fieldFolded(v, "minimumThroughput")
	}
	if t, ok := fieldFolded(v, "samplingDuration").duration(timeSpan); ok {
		b.Window = t
		b.places["window"] = fieldFolded(v, "samplingDuration")
	}
	if t, ok := fieldFolded(v, "breakDuration").duration(timeSpan); ok {
		b.OpenFor = t
		b.places["open_for"] = fieldFolded(v, "breakDuration")
	}
	for _, field := range []string{"shouldHandle", "breakDurationGenerator"} {
		fieldFolded(v, field).lose("a function of the program decides")
	}
	return b
}
