package foreign

import (
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
)

// kumaKind is the kind for Kuma's MeshRetry, as a Kubernetes resource and in the universal
// format. Source: kumahq/kuma, pkg/plugins/policies/meshretry/api/v1alpha1.
var kumaKind = Kind{
	Name: "kuma", Title: "Kuma MeshRetry",
	recognize: func(doc *syntax.Node) bool {
		kind := doc.Child("type")
		return isResource(doc, "kuma.io", "MeshRetry") || kind != nil && kind.Text == "MeshRetry" && doc.Get("spec") != nil
	},
	decode: decodeKuma,
}

var kumaWords = words{
	countsRetries: "numRetries", "initial_delay": "baseInterval", "max_delay": "maxInterval", "retry_on": "retryOn",
	"attempt_timeout": "perTryTimeout",
}

func decodeKuma(d *decoder, doc *value) {
	name := doc.get("name").text()
	doc.skip("type", "mesh", "labels")
	if own := resource(doc); own != "" {
		name = own
	}
	spec := doc.get("spec")
	spec.skip("targetRef")
	for _, section := range []string{"to", "rules"} {
		for _, to := range spec.get(section).items() {
			target := to.get("targetRef")
			bind := targetOf(target, "labels", "tags")
			target.skip()
			to.skip("matches")
			conf := to.get("default")
			conf.get("tcp").lose("connections are attempted again, without delays")
			for _, protocol := range []string{"http", "grpc"} {
				if c := conf.get(protocol); c != nil {
					d.kumaPolicy(name+"_"+protocol, protocol, c).Binds = []string{bind}
				}
			}
		}
	}
}

// targetOf returns what a target selects. The result consists of its kind and its name or
// labels, such as MeshService/app=orders. fields lists the fields that contain labels.
func targetOf(target *value, fields ...string) string {
	var by []string
	for _, field := range fields {
		labels := target.get(field)
		for _, key := range labels.keys() {
			by = append(by, key+"="+labels.get(key).text())
		}
	}
	if name := target.get("name").text(); name != "" {
		by = slices.Insert(by, 0, name)
	}
	return strings.TrimSuffix(target.get("kind").text()+"/"+strings.Join(by, ","), "/")
}

// kumaRetryOn contains the default conditions of each protocol: see
// meshretry/plugin/xds/configurer.go.
var kumaRetryOn = map[string]conditions{
	"http": {"gateway-error": nil, "connect-failure": nil, "refused-stream": nil},
	"grpc": {
		"cancelled": nil, "connect-failure": nil, "gateway-error": nil, "refused-stream": nil, "reset": nil,
		"resource-exhausted": nil, "unavailable": nil,
	},
}

// kumaPolicy converts the retries of one protocol.
func (d *decoder) kumaPolicy(name, protocol string, c *value) *Policy {
	p := d.policy(name, kumaWords, c)
	p.MaxAttempts = 2
	p.attempts(c.get("numRetries"), 1)
	p.unknown = append(p.unknown, "timeout") // a MeshTimeout sets it
	p.duration("attempt_timeout", c.get("perTryTimeout"), ofGo)
	b := c.get("backOff")
	p.envoyDelays(b.get("baseInterval"), b.get("maxInterval"), ofGo)
	c.get("rateLimitedBackOff").lose("headers of the response say when to retry: retry_after reads Retry-After only")
	c.get("hostSelection").lose("it selects other hosts for retries")
	c.skip("hostSelectionMaxAttempts")
	c.get("retriableResponseHeaders").lose("responses with these headers are retried")
	c.get("retriableRequestHeaders").lose("only requests with these headers are retried")
	on, written := conditions{}, false
	for _, item := range c.get("retryOn").items() {
		text := item.text()
		switch name, ok := kumaConditions[strings.ToLower(text)]; {
		case ok:
			on[name], written = item, true
			if name == "cancelled" {
				item.note("Kuma writes it as canceled, which Envoy does not know, so that it retries nothing: here it does")
			}
		case strings.HasPrefix(text, "HttpMethod"):
			item.note("only requests with this method are retried")
		default:
			on[text] = item
		}
	}
	if !written { // statuses and methods do not replace the default conditions
		for name := range kumaRetryOn[protocol] {
			on[name] = nil
		}
	}
	d.retryConditions(p, on)
	return p
}

// kumaConditions maps Kuma's conditions, in lower case, to Envoy's.
var kumaConditions = map[string]string{
	"5xx": "5xx", "gatewayerror": "gateway-error", "reset": "reset", "resetbeforerequest": "reset-before-request",
	"retriable4xx": "retriable-4xx", "connectfailure": "connect-failure", "envoyratelimited": "envoy-ratelimited",
	"refusedstream": "refused-stream", "http3postconnectfailure": "http3-post-connect-failure",
	"canceled": "cancelled", "deadlineexceeded": "deadline-exceeded", "internal": "internal",
	"resourceexhausted": "resource-exhausted", "unavailable": "unavailable",
}
