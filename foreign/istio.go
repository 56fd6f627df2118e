package foreign

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// istioKind is the kind for the HTTPRetry of Istio's VirtualService. Sources: istio/api,
// networking/v1/virtual_service.proto, and pilot/pkg/networking/core/route/retry, which
// converts it for Envoy.
var istioKind = Kind{
	Name: "istio", Title: "Istio VirtualService",
	recognize: func(doc *syntax.Node) bool {
		return isResource(doc, "networking.istio.io", "VirtualService", "DestinationRule") || isIstioPart(doc)
	},
	decode: decodeIstio,
	encode: encodeIstio,
}

var istioWords = words{
	countsRetries: "attempts", "initial_delay": "backoff", "retry_on": "retryOn", "attempt_timeout": "perTryTimeout",
	"timeout": "timeout", "max_delay": fixed + "10 times backoff",
}

// istioRetryOn contains the conditions of a route that does not set retryOn. Before 1.24, 503
// was one of them. Since then, defaultPolicy in retry.go only includes it without
// EXCLUDE_UNSAFE_503_FROM_DEFAULT_RETRY.
var istioRetryOn = conditions{"connect-failure": nil, "refused-stream": nil, "unavailable": nil, "cancelled": nil}

// isIstioPart reports whether a map is a route, or contains routes, but does not have the kind
// of the resource, as in documentation.
func isIstioPart(doc *syntax.Node) bool {
	isRoute := func(n *syntax.Node) bool { return at(at(n, "retries"), "attempts").Text != "" }
	return doc.Get("kind") == nil && (isRoute(doc) || slices.ContainsFunc(at(doc, "http").Items, isRoute))
}

func decodeIstio(d *decoder, doc *value) {
	if isIstioPart(doc.n) {
		d.istioPart(doc)
		return
	}
	kind := doc.get("kind").text()
	name := resource(doc)
	spec := doc.get("spec")
	if kind == "DestinationRule" {
		istioDestination(spec)
		return
	}
	spec.skip("gateways", "exportTo", "tls", "tcp")
	var hosts []string
	for _, host := range spec.get("hosts").items() {
		hosts = append(hosts, host.text())
	}
	for _, route := range spec.get("http").items() {
		route.skipOthers("name", "retries", "timeout")
		routeName := name
		if own := route.get("name").text(); own != "" {
			routeName = own
		}
		if route.get("retries") == nil {
			route.skip("timeout") // the retries of the mesh apply
			continue
		}
		d.istioRoute(routeName, route).Binds = slices.Clone(hosts)
	}
}

// istioPart converts a route, or the routes of a VirtualService that does not have its kind.
func (d *decoder) istioPart(doc *value) {
	routes := doc.get("http").items()
	if routes == nil {
		routes = []*value{doc}
	}
	for _, route := range routes {
		route.skipOthers("name", "retries", "timeout")
		if route.get("retries") != nil {
			d.istioRoute(cmp.Or(route.get("name").text(), "default"), route).Binds = []string{"*"}
		} else {
			route.skip("name", "timeout")
		}
	}
}

func (d *decoder) istioRoute(name string, route *value) *Policy {
	r := route.get("retries")
	p := d.policy(name, istioWords, r, route)
	p.MaxAttempts = 1
	if attempts := r.get("attempts"); attempts == nil || attempts.n.Text == "0" {
		for _, other := range []string{"retryOn", "perTryTimeout", "retryRemoteLocalities"} {
			if r.has(other) && (attempts != nil || !d.partial) {
				d.problem(r.get(other).n.Span, "P102", rules.Error,
					fmt.Sprintf("Istio refuses %s without a positive number of attempts: write attempts: 1 or more, or remove it",
						other))
			}
		}
	}
	p.attempts(r.get("attempts"), 1)
	p.duration("attempt_timeout", r.get("perTryTimeout"), ofGo)
	p.envoyDelays(r.get("backoff"), nil, ofGo)
	p.duration("timeout", route.get("timeout"), ofGo)
	d.envoyRetryOn(p, r.get("retryOn"), nil, istioRetryOn)
	r.get("retryRemoteLocalities").lose("retries may go to other localities")
	r.get("retryIgnorePreviousHosts").lose("it selects other hosts for retries")
	return p
}

// istioDestination reads a DestinationRule, which limits and ejects hosts.
func istioDestination(spec *value) {
	spec.skip("host", "exportTo", "workloadSelector")
	for _, subset := range spec.get("subsets").items() {
		subset.skip("name", "labels")
		istioTraffic(subset.get("trafficPolicy"))
	}
	istioTraffic(spec.get("trafficPolicy"))
}

func istioTraffic(t *value) {
	t.skipOthers("connectionPool", "outlierDetection", "portLevelSettings", "retryBudget")
	t.get("outlierDetection").lose("it ejects single hosts: a breaker stops all calls of a policy")
	t.get("retryBudget").lose("it limits retries to a share of the active requests: a budget with a ratio is similar")
	pool := t.get("connectionPool")
	pool.skipOthers("http")
	http := pool.get("http")
	http.skipOthers("maxRetries")
	http.get("maxRetries").lose("it limits the retries that wait or run at a time")
	for _, port := range t.get("portLevelSettings").items() {
		port.skip("port")
		istioTraffic(port)
	}
}
