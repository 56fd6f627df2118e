package foreign

import (
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// kgatewayKind is the kind for the retry field of kgateway's TrafficPolicy. Source:
// kgateway-dev/kgateway, api/v1alpha1/kgateway/retries.go. Envoy computes the delays.
var kgatewayKind = Kind{
	Name: "kgateway", Title: "kgateway TrafficPolicy",
	recognize: func(doc *syntax.Node) bool {
		return isResource(doc, "gateway.kgateway.dev", "TrafficPolicy") && at(at(doc, "spec"), "retry").IsMap()
	},
	decode: decodeKgateway,
}

var kgatewayWords = words{
	countsRetries: "attempts", "initial_delay": "backoffBaseInterval", "retry_on": "retryOn",
	"attempt_timeout": "perTryTimeout", "timeout": "timeouts.request", "max_delay": fixed + "10 times backoffBaseInterval",
}

func decodeKgateway(d *decoder, doc *value) {
	name := resource(doc)
	spec := doc.get("spec")
	spec.skipOthers("retry", "timeouts", "targetRefs", "targetSelectors")
	r, limits := spec.get("retry"), spec.get("timeouts")
	p := d.policy(name, kgatewayWords, r, spec)
	p.Binds = envoyGatewayTargets(spec)
	p.MaxAttempts = 2
	p.attempts(r.get("attempts"), 1)
	for _, field := range []string{"perTryTimeout", "backoffBaseInterval"} {
		if t, err := ofGo(at(r.n, field).Text); err == nil && t < time.Millisecond {
			r.get(field).mistake("P102", "kgateway refuses %s %s: write at least 1ms", field, at(r.n, field).Text)
		}
	}
	p.duration("attempt_timeout", r.get("perTryTimeout"), ofGo)
	p.envoyDelays(r.get("backoffBaseInterval"), nil, ofGo)
	on, statuses := r.get("retryOn"), r.get("statusCodes")
	c := conditions{}
	for _, item := range on.items() {
		c[item.text()] = item
	}
	if statuses != nil {
		c["retriable-status-codes"] = statuses
	}
	if on == nil && statuses == nil {
		d.problem(r.span(), "P102", rules.Error, "kgateway refuses a retry without retryOn and statusCodes: "+
			"write one of them")
	} else {
		d.envoyStatuses(p, c, on, statuses)
	}
	r.get("retryHostPredicates").lose("it selects other hosts for retries")
	limits.get("streamIdle").lose("a call ends after this time without data")
	if !p.duration("timeout", limits.get("request"), ofGo) {
		p.unknown = append(p.unknown, "timeout") // the HTTPRoute may have one
	}
}
