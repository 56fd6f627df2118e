package foreign

import (
	"math"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// traefikKind is the kind for Traefik's retry middleware, in files of dynamic configuration and
// in the resource Middleware. Sources: traefik/traefik, pkg/middlewares/retry, up to 3.7, and
// ExponentialBackOff of cenkalti/backoff v4 for the delays.
var traefikKind = Kind{
	Name: "traefik", Title: "Traefik middleware",
	recognize: func(doc *syntax.Node) bool {
		if isTraefikMiddleware(doc) {
			return at(at(doc, "spec"), "retry").IsMap()
		}
		for _, e := range at(at(doc, "http"), "middlewares").Entries {
			if at(e.Value, "retry").IsMap() {
				return true
			}
		}
		return false
	},
	decode: decodeTraefik,
}

// isTraefikMiddleware reports whether a document is the Kubernetes resource. Before 3.0, its
// group had another name.
func isTraefikMiddleware(doc *syntax.Node) bool {
	return isResource(doc, "traefik.io", "Middleware") || isResource(doc, "traefik.containo.us", "Middleware")
}

var traefikWords = words{
	"max_attempts": "attempts", "initial_delay": "initialInterval", "max_delay": fixed + "the longest delay",
	"max_elapsed": fixed + "the time for retries", "retry_on": "status",
}

// The limits that Traefik sets if there are delays.
const (
	traefikRandom  = 0.5
	traefikMax     = time.Minute
	traefikElapsed = 15 * time.Minute

	// traefikListed is the maximum number of delays that a policy lists.
	traefikListed = 20
)

func decodeTraefik(d *decoder, doc *value) {
	if isTraefikMiddleware(doc.n) {
		name := resource(doc)
		doc.get("spec").skipOthers("retry")
		d.traefikRetry(name, doc.get("spec").get("retry"))
		return
	}
	doc.skipOthers("http")
	doc.get("http").skipOthers("middlewares")
	middlewares := doc.get("http").get("middlewares")
	for _, name := range middlewares.keys() {
		m := middlewares.get(name)
		m.skipOthers("retry")
		if r := m.get("retry"); r != nil && r.n.IsMap() {
			d.traefikRetry(name, r)
		}
	}
}

// traefikRetry converts one middleware.
func (d *decoder) traefikRetry(name string, r *value) {
	p := d.policy(name, traefikWords, r)
	p.MaxAttempts = 1
	switch attempts := r.get("attempts"); {
	case attempts == nil:
		d.problem(r.span(), "P102", rules.Error, "Traefik refuses a retry without attempts: write at least 2, since "+
			"attempts counts the first one")
	case p.attempts(attempts, 0) && p.MaxAttempts == 1:
		attempts.warn("P109", "attempts 1 retries nothing, since it counts the first attempt: write at least 2")
	}
	p.traefikDelays(r.get("initialInterval"))
	d.traefikErrors(p, r)
	r.get("timeout").lose("an attempt that ends later is not retried: the delay before a retry may go beyond it")
	r.get("retryNonIdempotentMethod").lose("it decides whether POST, PATCH and LOCK are retried by status")
	r.get("maxRequestBodyBytes").lose("a request with a longer body is not retried by status")
}

// traefikDelays reads the delays. They grow, but the last delay is less than twice the first
// one.
func (p *Policy) traefikDelays(v *value) {
	p.InitialDelay, p.MaxDelay, p.Backoff = retry.None, retry.None, retry.BackoffFixed
	if !p.duration("initial_delay", v, traefikDuration) || p.InitialDelay == retry.None {
		p.remarks = append(p.remarks, "P204") // another server is tried immediately
		return
	}
	p.Jitter, p.JitterFactor, p.MaxElapsed = retry.JitterProportional, traefikRandom, traefikElapsed
	if p.MaxDelay = traefikMax; p.InitialDelay > traefikMax {
		p.longFirst(v)
		return
	}
	if p.MaxAttempts > 1 && p.InitialDelay < traefikMax {
		const digits = 1e6
		p.Backoff = retry.BackoffExponential
		p.Base = math.Round(math.Pow(2, 1/float64(p.MaxAttempts-1))*digits) / digits
	}
}

// longFirst sets the delays if the first one is longer than the maximum delay. Traefik does not
// shorten the first delay.
func (p *Policy) longFirst(v *value) {
	first := p.InitialDelay
	p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffCustom, 0, retry.None
	p.Delays = []time.Duration{first}
	for len(p.Delays) < min(p.MaxAttempts-1, traefikListed) {
		p.Delays = append(p.Delays, traefikMax)
	}
	p.from("delays", v)
	if p.MaxAttempts-1 > traefikListed {
		p.MaxDelay, p.unknown = first, append(p.unknown, "delays")
		v.note("each later delay is a minute: only %d are listed here", traefikListed)
	}
}

// traefikDuration parses durations with units. A number without a unit is in seconds.
func traefikDuration(text string) (time.Duration, error) {
	return either(ofGo, in(time.Second))(text)
}

// traefikErrors reads what is retried: requests that no server has received, and responses with
// certain statuses.
func (d *decoder) traefikErrors(p *Policy, r *value) {
	statuses, off := r.get("status"), r.get("disableRetryOnNetworkError")
	if !off.bool() {
		p.retryOn(retry.ClassNetwork, statuses)
	} else if statuses == nil {
		off.mistake("P102", "Traefik refuses disableRetryOnNetworkError without status, since nothing is retried then: "+
			"write a status")
	}
	for _, item := range textsIn(statuses) {
		if from, to, ok := statusRange(item.text); ok && !strings.Contains(item.text, "x") {
			p.retryOn(d.http(from, to), item.value)
		} else if item.text != "" {
			item.value.mistake("P102", "Traefik refuses %s as a status: write a number, or a range as 500-599",
				syntax.Quote(item.text))
		}
	}
}
