package foreign

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/grpcstatus"
	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// envoyKind is the kind for the retry_policy of Envoy's routes and virtual hosts. Source:
// envoyproxy/envoy, api/envoy/config/route/v3/route_components.proto.
var envoyKind = Kind{
	Name: "envoy", Title: "Envoy route configuration",
	recognize: func(doc *syntax.Node) bool { return hasPart(doc, isEnvoyRoute) },
	decode:    func(d *decoder, doc *value) { d.search("", doc, isEnvoyRoute, d.envoyRoute) },
	encode:    encodeEnvoy,
}

var envoyWords = words{
	countsRetries: "num_retries", "initial_delay": "base_interval", "max_delay": "max_interval", "retry_on": "retry_on",
	"attempt_timeout": "per_try_timeout", "timeout": "timeout",
}

// emissaryWords contains the words for a Mapping of Emissary-ingress. If it does not set
// timeout_ms, it has the timeout of its Module. Source: emissary-ingress/emissary,
// python/ambassador/envoy/v3/v3route.py.
var emissaryWords = func() words {
	w := maps.Clone(envoyWords)
	w["timeout"] = "timeout_ms"
	return w
}()

// The delays of Envoy, which systems based on Envoy also have: exponential with base 2 and full
// jitter.
const (
	envoyBase      = 25 * time.Millisecond
	envoyCapFactor = 10 // max_interval, as a multiple of base_interval
	envoyTimeout   = 15 * time.Second
)

// envoyTargets lists the fields that determine where a route sends requests. Each route has one
// of them.
var envoyTargets = []string{
	"cluster", "clusterheader", "weightedclusters", "clusterspecifierplugin", "inlineclusterspecifierplugin",
}

// envoyClients lists the fields of other parts of Envoy with a retry_policy, such as
// remote_jwks. These parts have other default conditions, delays and time limits.
var envoyClients = []string{"httpuri", "serveruri", "clustername"}

// isEnvoyRoute reports whether a map is a route, or a virtual host, with retries.
func isEnvoyRoute(n *syntax.Node) bool {
	return slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
		return folded(e.Key) == "retrypolicy" && !hasFolded(n, envoyClients...) && (hasFolded(e.Value, "retryon") ||
			hasFolded(e.Value, "numretries", "pertrytimeout", "retrybackoff", "retryhostpredicate") &&
				(hasFolded(n, envoyTargets...) || hasFolded(n, "domains", "routes")))
	})
}

// hasFolded reports whether a map has a field with one of several folded names.
func hasFolded(n *syntax.Node, names ...string) bool {
	return slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool { return slices.Contains(names, folded(e.Key)) })
}

// envoyRoute converts the retry_policy of a route or a virtual host.
func (d *decoder) envoyRoute(name string, route *value) {
	r := fieldFolded(route, "retryPolicy")
	if target := cmp.Or(fieldFolded(route, "cluster"), fieldFolded(route, "service")); target != nil {
		name = target.text()
	}
	if name == "" {
		name = "default"
	}
	p := d.policy(name, envoyWords, r, route)
	p.MaxAttempts = 2
	p.attempts(fieldFolded(r, "numRetries"), 1)
	p.duration("attempt_timeout", fieldFolded(r, "perTryTimeout"), protobuf)
	b := fieldFolded(r, "retryBackOff")
	p.envoyDelays(fieldFolded(b, "baseInterval"), fieldFolded(b, "maxInterval"), protobuf)
	d.envoyRetryOn(p, fieldFolded(r, "retryOn"), fieldFolded(r, "retriableStatusCodes"), conditions{})
	switch {
	case fieldFolded(route, "timeoutMs") != nil: // of a Mapping of Emissary-ingress, which is a route
		p.words = emissaryWords
		p.duration("timeout", fieldFolded(route, "timeoutMs"), in(time.Millisecond))
	case hasFolded(route.n, envoyTargets...) || fieldFolded(route, "timeout") != nil:
		p.Timeout = envoyTimeout
		p.duration("timeout", fieldFolded(route, "timeout"), protobuf)
	default:
		p.unknown = append(p.unknown, "timeout") // each route has its own timeout
	}
	for _, lost := range envoyLost {
		fieldFolded(r, lost.field).lose("%s", lost.why)
	}
	fieldFolded(route, "hedgePolicy").lose("an attempt may go on while the next one runs")
	fieldFolded(route, "idleTimeout").lose("a call ends after this time without data")
	fieldFolded(route, "maxStreamDuration").lose("it limits a call, too")
	fieldFolded(r, "hostSelectionRetryMaxAttempts").skip()
	d.below(name, route, isEnvoyRoute, d.envoyRoute) // the routes of a virtual host
}

// envoyLost lists the fields of a retry_policy that have no equivalent.
var envoyLost = []struct{ field, why string }{
	{"perTryIdleTimeout", "an attempt fails after this time without data"},
	{"retryHostPredicate", "it selects other hosts for retries"},
	{"retryPriority", "it selects other hosts for retries"},
	{"retryOptionsPredicates", "an extension changes retries"},
	{"retriableHeaders", "responses with these headers are retried"},
	{"retriableRequestHeaders", "only requests with these headers are retried"},
	{"rateLimitedRetryBackOff", "headers of the response say when to retry: retry_after reads Retry-After only"},
}

// envoyDelays sets the delays of a policy to the written ones, or to Envoy's defaults.
func (p *Policy) envoyDelays(base, most *value, format durationFormat) {
	p.Jitter, p.InitialDelay = retry.JitterFull, envoyBase
	p.duration("initial_delay", base, format)
	p.MaxDelay = times(max(p.InitialDelay, 0), envoyCapFactor)
	p.duration("max_delay", most, format)
}

// An envoyCondition describes what a condition of retry_on matches.
type envoyCondition struct {
	name     string
	from, to int    // HTTP statuses
	grpc     string // a gRPC code
	classes  []retry.Class
}

// envoyConditions lists the conditions of retry_on. Envoy counts a reset and a timeout of an
// attempt as gateway errors: see source/common/router/retry_state_impl.cc.
var envoyConditions = []envoyCondition{
	{name: "5xx", from: 500, to: 599, classes: []retry.Class{retry.ClassNetwork, retry.ClassTimeout}},
	{name: "gateway-error", from: 502, to: 504, classes: []retry.Class{retry.ClassNetwork, retry.ClassTimeout}},
	{name: "reset", classes: []retry.Class{retry.ClassNetwork, retry.ClassTimeout}},
	{name: "reset-before-request", classes: []retry.Class{retry.ClassNetwork}},
	{name: "connect-failure", classes: []retry.Class{retry.ClassNetwork}},
	{name: "refused-stream", classes: []retry.Class{retry.ClassNetwork}},
	{name: "http3-post-connect-failure", classes: []retry.Class{retry.ClassNetwork}},
	{name: "envoy-ratelimited", classes: []retry.Class{retry.ClassRateLimit}},
	{name: "retriable-4xx", from: 409, to: 409},
	{name: "cancelled", grpc: "CANCELLED"},
	{name: "deadline-exceeded", grpc: "DEADLINE_EXCEEDED"},
	{name: "resource-exhausted", grpc: "RESOURCE_EXHAUSTED"},
	{name: "internal", grpc: "INTERNAL"},
	{name: "unavailable", grpc: "UNAVAILABLE"},
}

// conditions maps the names of conditions to the values in which they are written.
type conditions map[string]*value

// add reads conditions that are separated by commas in one string.
func (c conditions) add(on *value) {
	for name := range strings.SplitSeq(on.text(), ",") {
		if name = strings.TrimSpace(name); name != "" {
			c[name] = on
		}
	}
}

// envoyRetryOn reads retry_on, and the statuses for the condition retriable-status-codes. If no
// condition is written, the defaults of the system apply. Envoy itself has no defaults.
func (d *decoder) envoyRetryOn(p *Policy, on, statuses *value, absent conditions) {
	c := conditions{}
	c.add(on)
	if len(c) == 0 {
		c = maps.Clone(absent)
	}
	d.envoyStatuses(p, c, on, statuses)
}

// envoyStatuses adds the statuses for the condition retriable-status-codes to a policy. on is
// where the conditions are written, or nil.
func (d *decoder) envoyStatuses(p *Policy, c conditions, on, statuses *value) {
	if p.MaxAttempts == 1 {
		on.skip()
		statuses.skip()
		return
	}
	if _, byStatus := c["retriable-status-codes"]; statuses != nil && !byStatus {
		statuses.lacks("P109", "%s has no effect: add retriable-status-codes to %s", statuses.key,
			on.name(p.words["retry_on"]))
		statuses.skip()
		statuses = nil
	}
	for _, item := range statuses.items() {
		if n, ok := item.int(); ok {
			c[strconv.Itoa(n)] = item
		}
	}
	d.retryConditions(p, c)
	if len(p.RetryOn) == 0 {
		p.MaxAttempts = 1
		p.root().lacks("P108", "there is no condition in %s, so nothing is retried: write one, as connect-failure",
			on.name(p.words["retry_on"]))
	}
}

// retryConditions adds the classes of conditions to retry_on. Their order does not depend on
// the document. A gRPC code is omitted if another class covers it in a policy file.
func (d *decoder) retryConditions(p *Policy, c conditions) {
	var retried [600]bool
	addStatuses := func(from, to int, v *value) {
		if !retried[from] {
			p.retryOn(d.http(from, to), v)
		}
		for s := from; s <= to; s++ {
			retried[s] = true
		}
	}
	for _, known := range envoyConditions {
		v, ok := c[known.name]
		if !ok {
			continue
		}
		if known.from > 0 {
			addStatuses(known.from, known.to, v)
		}
		for _, class := range known.classes {
			p.retryOn(class, v)
		}
		p.remarks = append(p.remarks, "P406") // conditions with timeouts also match errors that servers cause
	}
	listed := false
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if s, err := strconv.Atoi(name); err == nil && s >= 100 && s < 600 {
			addStatuses(s, s, c[name])
			listed = true
		} else if !isCondition(name) {
			c[name].warn("P102", "%s is no condition of Envoy, so it is refused or ignored", syntax.Quote(name))
		}
	}
	for _, known := range envoyConditions {
		code := uint32(slices.Index(grpcCodes[:], known.grpc))
		if v, ok := c[known.name]; ok && known.grpc != "" && !retried[grpcstatus.HTTP(code)] && !p.covers(code) {
			p.retryOn(d.grpc(known.grpc), v)
		}
	}
	if v, ok := c["retriable-status-codes"]; ok && !listed {
		v.note("retriable-status-codes: no status is listed, but a request may name some")
	}
	if v, ok := c["retriable-headers"]; ok {
		v.note("retriable-headers: responses with certain headers are retried")
	}
}

// covers reports whether the class network or timeout is in retry_on and covers a gRPC code.
func (p *Policy) covers(code uint32) bool {
	return code == grpcstatus.Unavailable && slices.Contains(p.RetryOn, retry.ClassNetwork) ||
		code == grpcstatus.DeadlineExceeded && slices.Contains(p.RetryOn, retry.ClassTimeout)
}

// isCondition reports whether Envoy has a condition with that name.
func isCondition(name string) bool {
	return name == "retriable-headers" || name == "retriable-status-codes" ||
		slices.ContainsFunc(envoyConditions, func(c envoyCondition) bool { return c.name == name })
}

// name returns the key of a value as it is written in the document, or a default if the value
// is absent.
func (v *value) name(absent string) string {
	if v == nil {
		return absent
	}
	return v.key
}
