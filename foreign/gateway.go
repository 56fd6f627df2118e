package foreign

import (
	"fmt"
	"maps"
	"regexp"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// gatewayKind is the kind for the retry field of the Gateway API's HTTPRoute. Sources:
// GEP-1731, and GEP-1742 for timeouts. Only a minimum for the delay between attempts is
// specified. The rest depends on the implementation.
var gatewayKind = Kind{
	Name: "gateway", Title: "Gateway API HTTPRoute",
	recognize: func(doc *syntax.Node) bool {
		return isResource(doc, "gateway.networking.k8s.io", "HTTPRoute")
	},
	decode: decodeGateway,
}

var gatewayWords = words{
	countsRetries: "attempts", "initial_delay": "backoff", "retry_on": "codes", "attempt_timeout": "backendRequest",
	"timeout": "request",
}

func decodeGateway(d *decoder, doc *value) {
	name := resource(doc)
	spec := doc.get("spec")
	spec.skipOthers("rules")
	for _, rule := range spec.get("rules").items() {
		rule.skipOthers("name", "retry", "timeouts")
		ruleName := name
		if own := rule.get("name").text(); own != "" {
			ruleName = own
		}
		d.gatewayRule(ruleName, rule)
	}
}

var gatewayTime = regexp.MustCompile(`^(?:\d{1,5}(?:h|m|s|ms)){1,4}$`)

// gatewayDuration parses durations of the Gateway API: GEP-2257, Gateway API Duration Format.
func gatewayDuration(text string) (time.Duration, error) {
	if d, err := ofGo(text); err != nil || gatewayTime.MatchString(text) {
		return d, err
	}
	return 0, fmt.Errorf("%s is no duration of the Gateway API: write whole numbers with h, m, s or ms, as 1s500ms",
		syntax.Quote(text))
}

func (d *decoder) gatewayRule(name string, rule *value) {
	r, timeouts := rule.get("retry"), rule.get("timeouts")
	if r == nil {
		timeouts.skip()
		return
	}
	p := d.policy(name, gatewayWords, r, rule)
	if !p.attempts(r.get("attempts"), 1) {
		p.MaxAttempts, p.unknown = 2, append(p.unknown, "max_attempts") // the implementation decides
	}
	p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, retry.None, retry.None
	if v := r.get("backoff"); v == nil {
		p.unknown = append(p.unknown, "initial_delay")
	} else if p.duration("initial_delay", v, gatewayDuration) {
		v.note("it is the least delay: the implementation may wait longer")
	}
	p.duration("attempt_timeout", timeouts.get("backendRequest"), gatewayDuration)
	p.duration("timeout", timeouts.get("request"), gatewayDuration)
	codes := r.get("codes")
	p.from("retry_on", codes)
	for _, item := range codes.items() {
		if status, ok := item.int(); ok && status >= 400 && status < 600 {
			p.retryOn(d.http(status, status), item)
		} else if ok {
			item.mistake("P102", "%d is no status from 400 to 599", status)
		}
	}
	// Failed connections and timeouts of the backend are retried regardless of the codes.
	p.retryOn(retry.ClassNetwork, codes)
	p.retryOn(retry.ClassTimeout, codes)
	if codes == nil {
		p.unknown = append(p.unknown, rules.Field("retry_on"))
	}
}

// envoyGatewayKind is the kind for the retry field of Envoy Gateway's BackendTrafficPolicy.
// Source: envoyproxy/gateway, api/v1alpha1/retry_types.go.
var envoyGatewayKind = Kind{
	Name: "envoygateway", Title: "Envoy Gateway BackendTrafficPolicy",
	recognize: func(doc *syntax.Node) bool {
		return isResource(doc, "gateway.envoyproxy.io", "BackendTrafficPolicy")
	},
	decode: decodeEnvoyGateway,
}

var envoyGatewayWords = words{
	countsRetries: "numRetries", "initial_delay": "baseInterval", "max_delay": "maxInterval", "retry_on": "retryOn",
	"attempt_timeout": "perRetry.timeout", "timeout": "requestTimeout",
}

func decodeEnvoyGateway(d *decoder, doc *value) {
	name := resource(doc)
	spec := doc.get("spec")
	spec.skipOthers("retry", "timeout", "circuitBreaker", "targetRefs", "targetRef", "targetSelectors")
	spec.get("circuitBreaker").lose("it limits connections and requests at a time: a breaker counts failures")
	binds := envoyGatewayTargets(spec)
	timeout := spec.get("timeout")
	r := spec.get("retry")
	if r == nil {
		timeout.skip()
		return
	}
	p := d.policy(name, envoyGatewayWords, r, spec)
	p.Binds = binds
	p.MaxAttempts = 3
	p.attempts(r.get("numRetries"), 1)
	r.get("numAttemptsPerPriority").lose("it selects other hosts for retries")
	per := r.get("perRetry")
	p.duration("attempt_timeout", per.get("timeout"), ofGo)
	b := per.get("backOff")
	p.envoyDelays(b.get("baseInterval"), b.get("maxInterval"), ofGo)
	on := r.get("retryOn")
	d.envoyGatewayOn(p, on)
	timeout.skipOthers("http")
	http := timeout.get("http")
	http.skip("connectionIdleTimeout", "maxConnectionDuration")
	http.get("maxStreamDuration").lose("it limits a call, too")
	p.duration("timeout", http.get("requestTimeout"), ofGo)
}

// envoyGatewayTargets returns what a policy applies to, such as HTTPRoute/NAME or
// HTTPRoute/LABEL=VALUE.
func envoyGatewayTargets(spec *value) (binds []string) {
	targets := spec.get("targetRefs").items()
	if t := spec.get("targetRef"); t != nil {
		targets = append(targets, t)
	}
	for _, t := range targets {
		t.skip("group", "sectionName", "namespace")
		binds = append(binds, targetOf(t))
	}
	for _, t := range spec.get("targetSelectors").items() {
		t.skip("group", "namespaces")
		t.get("matchExpressions").lose("it selects routes by conditions on their labels")
		binds = append(binds, targetOf(t, "matchLabels"))
	}
	return binds
}

// envoyGatewayOn reads the conditions of a policy. The defaults are those of Istio, and also
// 503 if no statuses are written: see internal/xds/translator/route.go.
func (d *decoder) envoyGatewayOn(p *Policy, on *value) {
	triggers, statuses := on.get("triggers"), on.get("httpStatusCodes")
	c := conditions{}
	for _, item := range triggers.items() {
		c[item.text()] = item
	}
	if len(c) == 0 {
		c = maps.Clone(istioRetryOn)
		if statuses == nil {
			c["503"] = nil
		} else {
			c["retriable-status-codes"] = nil
		}
	}
	d.envoyStatuses(p, c, triggers, statuses)
}
