package foreign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// knativeKind is the kind for the delivery of Knative Eventing. Sources: knative/eventing,
// pkg/apis/duck/v1/delivery_types.go, and pkg/kncloudevents/retries.go for the delays and the
// statuses that are retried.
var knativeKind = Kind{
	Name: "knative", Title: "Knative delivery",
	recognize: func(doc *syntax.Node) bool {
		group, _, _ := strings.Cut(at(doc, "apiVersion").Text, "/")
		return strings.HasSuffix(group, ".knative.dev") && hasPart(at(doc, "spec"), isKnative)
	},
	decode: func(d *decoder, doc *value) {
		name := resource(doc)
		d.search(cmp.Or(name, "delivery"), doc.get("spec"), isKnative, d.knativeDelivery)
		doc.skipOthers("spec")
	},
}

var knativeWords = words{
	countsRetries: "retry", "initial_delay": "backoffDelay", "increment": "backoffDelay", "max_delay": "backoffMax",
	"attempt_timeout": "timeout", "retry_on": fixed + "what Knative retries",
}

// isKnative reports whether a map has a delivery with other fields than a dead-letter sink.
func isKnative(n *syntax.Node) bool {
	delivery := at(n, "delivery")
	return slices.ContainsFunc([]string{"retry", "backoffDelay", "backoffPolicy", "timeout"}, func(key string) bool {
		return delivery.Written(key) != nil
	})
}

func (d *decoder) knativeDelivery(name string, part *value) {
	v := part.get("delivery")
	if step := at(at(part.n, "ref"), "name").Text; step != "" { // a step of a Sequence or Parallel
		name = step
	}
	p := d.policy(name, knativeWords, v)
	v.skip("deadLetterSink", "format")
	if !p.attempts(v.get("retry"), 1) {
		p.unknown = append(p.unknown, "max_attempts") // the broker or the channel decides
	}
	p.knativeDelays(v)
	p.duration("max_delay", v.get("backoffMax"), iso8601)
	p.duration("attempt_timeout", v.get("timeout"), iso8601)
	p.RetryAfter.Max = retry.None
	if longest, ok := v.get("retryAfterMax").duration(iso8601); ok {
		p.RetryAfter.Max = orNone(longest)
	}
	for _, status := range []int{404, 408, 409, 429} {
		p.retryOn(d.http(status, status), nil)
	}
	p.retryOn(d.http(500, 599), nil)
	p.retryOn(retry.ClassNetwork, nil)
	p.retryOn(retry.ClassTimeout, nil)
	d.below(name, part, isKnative, d.knativeDelivery)
}

// knativeDelays reads the delays. If neither a policy nor a delay is written, the settings of
// the broker or channel may apply.
func (p *Policy) knativeDelays(v *value) {
	policy, delay := v.get("backoffPolicy"), v.get("backoffDelay")
	p.MaxDelay = retry.None
	known := false
	switch policy.text() {
	case "", "exponential":
		known = p.duration("initial_delay", delay, iso8601)
	case "linear": // first no delay, then delay, then 2 × delay
		p.Backoff, p.InitialDelay = retry.BackoffLinear, retry.None
		if known = p.duration("increment", delay, iso8601); p.Increment == 0 {
			p.Backoff = retry.BackoffFixed
		}
	default:
		delay.skip()
		policy.mistake("P102", "backoffPolicy is linear or exponential, not %s", syntax.Quote(policy.n.Text))
	}
	if policy == nil || !known {
		p.Backoff, p.InitialDelay = retry.BackoffExponential, 0
		p.unknown = append(p.unknown, "initial_delay")
	}
}
