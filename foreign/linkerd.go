package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// linkerdKind is the kind for the retries of Linkerd: annotations of Services, HTTPRoutes and
// GRPCRoutes, and the older ServiceProfile. Source: linkerd.io, reference: retries, timeouts.
var linkerdKind = Kind{
	Name: "linkerd", Title: "Linkerd configuration",
	recognize: func(doc *syntax.Node) bool {
		return isResource(doc, "linkerd.io", "ServiceProfile") || hasLinkerd(doc) || isLinkerdPart(doc)
	},
	decode: decodeLinkerd,
}

var linkerdWords = words{
	countsRetries: "retry.linkerd.io/limit", "retry_on": "retry.linkerd.io/http",
	"attempt_timeout": "retry.linkerd.io/timeout", "timeout": "timeout.linkerd.io/request",
}

// hasLinkerd reports whether a resource has annotations for Linkerd's retries.
func hasLinkerd(doc *syntax.Node) bool {
	annotations := doc.Child("metadata")
	if annotations != nil {
		annotations = annotations.Child("annotations")
	}
	if annotations == nil {
		return false
	}
	for _, e := range annotations.Entries {
		if strings.HasPrefix(e.Key, "retry.linkerd.io/") {
			return true
		}
	}
	return false
}

// isLinkerdPart reports whether a map is a ServiceProfile that does not have its kind, as in
// documentation.
func isLinkerdPart(doc *syntax.Node) bool {
	return doc.Get("kind") == nil && slices.ContainsFunc(at(at(doc, "spec"), "routes").Items, func(r *syntax.Node) bool {
		return r.Get("isRetryable") != nil
	})
}

func decodeLinkerd(d *decoder, doc *value) {
	meta := doc.get("metadata")
	name := meta.get("name").text()
	kind := doc.get("kind").text()
	doc.skipOthers("metadata", "spec", "kind")
	if kind == "ServiceProfile" || isLinkerdPart(doc.n) {
		meta.skip()
		d.linkerdProfile(doc.get("spec"))
		return
	}
	doc.get("spec").skip()
	meta.skipOthers("name", "annotations")
	a := meta.get("annotations")
	for _, key := range a.keys() {
		if !strings.HasPrefix(key, "retry.linkerd.io/") && !strings.HasPrefix(key, "timeout.linkerd.io/") {
			a.skip(key)
		}
	}
	if unread := a.get(linkerdUnread[kind]); unread != nil {
		unread.warn("P109", "%s has no effect at kind %s", unread.key, kind)
		unread.skip()
	}
	d.linkerdAnnotations(name, a).Binds = []string{kind + "/" + name}
}

// The delays of retries by annotations. They are exponential, and jitter at most doubles them.
// Sources: policy-controller/grpc/src/outbound/http.rs, and linkerd/exp-backoff of the proxy.
const (
	linkerdBase = 25 * time.Millisecond
	linkerdCap  = 250 * time.Millisecond
)

// linkerdAnnotations converts the annotations of a resource.
func (d *decoder) linkerdAnnotations(name string, a *value) *Policy {
	p := d.policy(name, linkerdWords, a)
	p.MaxAttempts = 2
	if limit := a.get("retry.linkerd.io/limit"); limit != nil && limit.n.Text != "0" { // 0 is the default
		p.attempts(limit, 1)
	} else {
		limit.skip()
	}
	p.InitialDelay, p.MaxDelay, p.Jitter, p.JitterFactor = linkerdBase, linkerdCap, retry.JitterAdditive, 1
	p.duration("attempt_timeout", a.get("retry.linkerd.io/timeout"), linkerdDuration)
	p.duration("timeout", a.get("timeout.linkerd.io/request"), linkerdDuration)
	a.get("timeout.linkerd.io/response").lose("it limits the time to the end of a response, after its request has ended")
	a.get("timeout.linkerd.io/idle").lose("a call ends after this time without data")
	d.linkerdConditions(a.get("retry.linkerd.io/http"), func(v *value, condition string) bool {
		from, to, ok := statusRange(condition)
		if ok {
			p.retryOn(d.http(from, to), v)
		}
		return ok
	})
	d.linkerdConditions(a.get("retry.linkerd.io/grpc"), func(v *value, condition string) bool {
		ok := slices.Contains(linkerdGRPC, condition)
		if ok {
			p.retryOn(d.grpc(strings.ToUpper(strings.ReplaceAll(condition, "-", "_"))), v)
		}
		return ok
	})
	switch {
	case p.AttemptTimeout > 0:
		p.retryOn(retry.ClassTimeout, a.get("retry.linkerd.io/timeout"))
	case len(p.RetryOn) == 0:
		p.MaxAttempts = 1
		p.root().lacks("P108", "there is no condition and no retry.linkerd.io/timeout, so no response is retried: write one")
	}
	return p
}

// linkerdGRPC lists the codes that Linkerd retries.
var linkerdGRPC = []string{"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"}

// linkerdUnread contains, for each kind of route, the conditions that Linkerd does not read.
var linkerdUnread = map[string]string{"HTTPRoute": "retry.linkerd.io/grpc", "GRPCRoute": "retry.linkerd.io/http"}

// linkerdConditions reads conditions that are separated by commas, in any case, unless v is
// skipped. If add does not know a condition, Linkerd refuses a route that contains it, and
// retries nothing for a Service that contains it.
func (d *decoder) linkerdConditions(v *value, add func(v *value, condition string) bool) {
	if v != nil && v.done {
		return
	}
	text, written := v.scalar("text")
	for part := range strings.SplitSeq(text, ",") {
		if written && !add(v, strings.ToLower(part)) {
			v.mistake("P102", "%s is no condition of %s: Linkerd retries nothing", syntax.Quote(part), v.key)
		}
	}
}

// statusRange parses a status, a range such as 500-504, or the name of a range. Unlike Envoy's
// conditions, these names do not include failed connections and timeouts.
func statusRange(text string) (from, to int, ok bool) {
	switch text {
	case "5xx":
		return 500, 599, true
	case "gateway-error":
		return 502, 504, true
	}
	low, high, isRange := strings.Cut(text, "-")
	from, err := strconv.Atoi(low)
	if !isRange {
		high = low
	}
	to, err2 := strconv.Atoi(high)
	return from, to, err == nil && err2 == nil && 100 <= from && from <= to && to < 600
}

// linkerdDuration parses a whole number with a unit. Zero needs no unit.
func linkerdDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "0" {
		return 0, nil
	}
	if number := strings.TrimRight(text, "mshd"); number == text || strings.Trim(number, "0123456789") != "" {
		return 0, fmt.Errorf("%s is no duration of Linkerd: write a whole number with ms, s, m, h or d", syntax.Quote(text))
	}
	return withUnit(text)
}

// linkerdTimeout is the default timeout of a route of a ServiceProfile.
const linkerdTimeout = 10 * time.Second

// linkerdProfile converts the routes of a ServiceProfile. Retries end at the timeout, or when
// the retry budget is empty.
func (d *decoder) linkerdProfile(spec *value) {
	spec.skip("dstOverrides", "opaquePorts")
	spec.get("retryBudget").lose("retries are at most a share of the requests: a budget with a ratio is similar")
	for _, route := range spec.get("routes").items() {
		route.skip("condition")
		if !route.get("isRetryable").bool() {
			route.skip("name", "timeout", "responseClasses")
			continue
		}
		p := d.policy(route.get("name").text(), words{"timeout": "timeout"}, route)
		p.MaxAttempts, p.Timeout = retry.Unlimited, linkerdTimeout
		p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, retry.None, retry.None
		p.duration("timeout", route.get("timeout"), ofGo)
		p.retryOn(d.http(500, 599), nil)
		route.get("responseClasses").lose("they define which responses are failures: here statuses from 500 are")
		p.unknown = append(p.unknown, "initial_delay") // the budget limits the rate
	}
}
