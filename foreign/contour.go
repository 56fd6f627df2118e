package foreign

import (
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
)

// contourKind is the kind for the retryPolicy of Contour's HTTPProxy. Source:
// projectcontour/contour, apis/projectcontour/v1/httpproxy.go. Envoy computes the delays.
var contourKind = Kind{
	Name: "contour", Title: "Contour HTTPProxy",
	recognize: func(doc *syntax.Node) bool { return isResource(doc, "projectcontour.io", "HTTPProxy") },
	decode:    decodeContour,
}

var contourWords = words{
	countsRetries: "count", "retry_on": "retryOn", "attempt_timeout": "perTryTimeout", "timeout": "timeoutPolicy.response",
	"initial_delay": fixed + "the first delay", "max_delay": fixed + "the longest delay",
}

func decodeContour(d *decoder, doc *value) {
	name := resource(doc)
	spec := doc.get("spec")
	spec.skipOthers("routes")
	for _, route := range spec.get("routes").items() {
		route.skipOthers("retryPolicy", "timeoutPolicy")
		if r := route.get("retryPolicy"); r != nil {
			d.contourRoute(name, r, route)
		} else {
			route.skip("timeoutPolicy")
		}
	}
}

// contourRoute converts the retryPolicy of a route.
func (d *decoder) contourRoute(name string, r, route *value) {
	p := d.policy(name, contourWords, r, route)
	p.MaxAttempts = 2
	if n, ok := r.get("count").int(); ok {
		switch {
		case n < -1:
			r.get("count").mistake("P102", "Contour refuses count %d: -1 is no retry, 0 the default of 1", n)
		case n != 0:
			p.MaxAttempts = max(n, 0) + 1
			p.from("max_attempts", r.get("count"))
		}
	}
	p.duration("attempt_timeout", r.get("perTryTimeout"), contourDuration)
	p.envoyDelays(nil, nil, ofGo)
	on := r.get("retryOn")
	c := conditions{}
	for _, item := range on.items() {
		c[item.text()] = item
	}
	if len(c) == 0 {
		c["5xx"] = on
	}
	d.envoyStatuses(p, c, on, r.get("retriableStatusCodes"))
	limits := route.get("timeoutPolicy")
	p.Timeout = envoyTimeout
	response := limits.get("response")
	p.duration("timeout", response, contourDuration)
	if p.Timeout == 0 && !isForever(response.n.Text) { // 0s is the default
		p.Timeout = envoyTimeout
	}
	limits.get("idle").lose("a call ends after this time without data")
	limits.skip("idleConnection")
}

// contourDuration parses durations with units; infinity means no limit.
func contourDuration(text string) (time.Duration, error) {
	if isForever(text) {
		return 0, nil
	}
	return ofGo(text)
}

func isForever(text string) bool { return text == "infinity" || text == "infinite" }
