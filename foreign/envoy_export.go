package foreign

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
)

// encodeEnvoy writes a route configuration with a virtual host for each policy.
func encodeEnvoy(e *encoder) {
	var hosts []any
	for _, p := range e.policies() {
		action := object{}.add("cluster", p.Name)
		e.take(p, "timeout")
		if p.Timeout > 0 {
			action = action.add("timeout", protobufText(p.Timeout))
		} else {
			action = action.add("timeout", "0s")
		}
		action = action.add("retry_policy", e.envoyRetry(p))
		hosts = append(hosts, object{}.
			add("name", p.Name).
			add("domains", []any{p.Name}).
			add("routes", []any{object{}.
				add("match", object{}.add("prefix", "/")).
				add("route", action)}))
	}
	e.writeYAML(object{}.add("name", "retry").add("virtual_hosts", hosts))
}

// envoyRetry returns the retry_policy of a policy.
func (e *encoder) envoyRetry(p *policy.Policy) object {
	e.take(p, "attempt_timeout")
	var on []string
	var statuses []int
	if p.MaxAttempts != 1 {
		on, statuses = e.envoyConditions(p)
	}
	if len(on)+len(statuses) == 0 {
		e.take(p, "max_attempts")
		e.take(p, retryFields...)
		r := object{}.add("retry_on", "connect-failure").add("num_retries", 0)
		if p.AttemptTimeout > 0 {
			r = r.add("per_try_timeout", protobufText(p.AttemptTimeout))
		}
		return r
	}
	r := object{}
	if len(statuses) > 0 {
		on = append(on, "retriable-status-codes")
	}
	r = r.add("retry_on", strings.Join(on, ",")).add("num_retries", e.envoyRetries(p))
	if p.AttemptTimeout > 0 {
		r = r.add("per_try_timeout", protobufText(p.AttemptTimeout))
	}
	if len(statuses) > 0 {
		r = r.add("retriable_status_codes", anys(statuses))
	}
	s := p.Schedule.Effective()
	first, most, base := e.growth(p, s)
	first = max(first, 1_000_000) // Envoy refuses 0
	if base != 2 && s.MaxAttempts > 2 {
		e.lose(p, "backoff", "delays of Envoy double")
	}
	e.fullJitter(p, s)
	return r.add("retry_back_off", object{}.
		add("base_interval", protobufText(first)).
		add("max_interval", protobufText(max(most, first))))
}

// fullJitter takes the jitter of a policy for a system that only has full jitter.
func (e *encoder) fullJitter(p *policy.Policy, s retry.Schedule) {
	e.take(p, "jitter")
	if s.Jitter != retry.JitterFull {
		e.lose(p, "jitter", "%s has full jitter only", e.kind.Title)
	}
}

// envoyRetries returns the number of retries of a policy.
func (e *encoder) envoyRetries(p *policy.Policy) int {
	const most = 1000
	attempts := p.Schedule.Effective().MaxAttempts
	e.take(p, "max_attempts")
	if attempts == retry.Unlimited {
		e.lose(p, "max_attempts", "%s needs a number of retries: it is %d", e.kind.Title, most)
		return most
	}
	return attempts - 1
}

// envoyConditions returns the conditions, and the other statuses, with which Envoy retries what
// a policy retries. If there are none, retry_on is a loss.
func (e *encoder) envoyConditions(p *policy.Policy) (on []string, statuses []int) {
	e.take(p, "retry_on", "abort_on")
	rest := e.retriedStatuses(p)
	covered := func(from, to int) bool {
		for status := from; status <= to; status++ {
			if !slices.Contains(rest, status) {
				return false
			}
		}
		rest = slices.DeleteFunc(rest, func(status int) bool { return from <= status && status <= to })
		return true
	}
	network, timeout := e.retries(p, retry.ClassNetwork), e.retries(p, retry.ClassTimeout)
	switch {
	case network && timeout && covered(500, 599):
		on = append(on, "5xx")
	case network && timeout && covered(502, 504):
		on = append(on, "gateway-error")
	case network && timeout:
		on = append(on, "reset", "connect-failure", "refused-stream")
	case network:
		on = append(on, "connect-failure", "refused-stream", "reset-before-request")
	case timeout:
		e.lose(p, "retry_on", "%s does not retry timeouts without other resets", e.kind.Title)
	}
	if covered(409, 409) {
		on = append(on, "retriable-4xx")
	}
	var lost []string
	for _, code := range e.retriedCodes(p) {
		name := strings.ToLower(strings.ReplaceAll(code, "_", "-"))
		if isCondition(name) {
			on = append(on, name)
		} else {
			lost = append(lost, code)
		}
	}
	if lost != nil && e.namesCodes(p) {
		e.lose(p, "retry_on", "%s does not retry the gRPC codes %s", e.kind.Title, strings.Join(lost, ", "))
	}
	if len(on)+len(rest) == 0 {
		e.lose(p, "retry_on", "%s has no condition for these errors, so nothing is retried", e.kind.Title)
	}
	return on, rest
}

// retries reports whether a policy retries an error of a class.
func (e *encoder) retries(p *policy.Policy, c retry.Class) bool {
	has := func(list []retry.Class) bool {
		return slices.ContainsFunc(list, func(o retry.Class) bool {
			return o == c || o == retry.ClassAny || o == retry.ClassTransient
		})
	}
	return (len(p.RetryOn) == 0 || has(p.RetryOn)) && !has(p.AbortOn)
}

// namesCodes reports whether retry_on contains a class with gRPC codes.
func (e *encoder) namesCodes(p *policy.Policy) bool {
	return slices.ContainsFunc(e.file.Errors, func(c policy.ErrorClass) bool {
		return len(c.GRPC) > 0 && slices.Contains(p.RetryOn, retry.Class(c.Name))
	})
}

// encodeIstio writes a VirtualService for each policy.
func encodeIstio(e *encoder) {
	for _, p := range e.policies() {
		name := strings.ReplaceAll(p.Name, "_", "-")
		hosts := e.istioHosts(p)
		destination := hosts[0]
		if strings.HasPrefix(destination, "*") {
			e.lose(p, "", "requests go to a service, and %s is none: replace the destination %s", destination, name)
			destination = name
		}
		route := object{}.add("name", p.Name)
		e.take(p, "timeout")
		if p.Timeout > 0 {
			route = route.add("timeout", goText(p.Timeout))
		}
		route = route.add("retries", e.istioRetries(p)).add("route", []any{
			object{}.add("destination", object{}.add("host", destination))})
		e.writeYAML(object{}.
			add("apiVersion", "networking.istio.io/v1").
			add("kind", "VirtualService").
			add("metadata", object{}.add("name", name)).
			add("spec", object{}.add("hosts", anys(hosts)).add("http", []any{route})))
	}
}

// istioHost matches the hosts that Istio accepts: istio/istio,
// pkg/config/validation/agent/validation.go, ValidateWildcardDomain.
var istioHost = regexp.MustCompile(`^(?:\*|(?:\*[.-]?)?[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?` +
	`(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*\.?)$`)

// istioHosts returns the hosts that the bind comments of a policy name. If they name none, it
// returns the name of the policy.
func (e *encoder) istioHosts(p *policy.Policy) (hosts []string) {
	for _, bind := range e.binds[p.Name] {
		if istioHost.MatchString(bind) {
			hosts = append(hosts, bind)
		} else {
			e.lose(p, "", "%s is no host", bind)
		}
	}
	if hosts == nil {
		hosts = []string{strings.ReplaceAll(p.Name, "_", "-")}
		e.lose(p, "", "no host is known: replace %s, or write # bind: HOST above the policy", hosts[0])
	}
	return hosts
}

func (e *encoder) istioRetries(p *policy.Policy) object {
	e.take(p, "attempt_timeout")
	var on []string
	var statuses []int
	if p.MaxAttempts != 1 {
		on, statuses = e.envoyConditions(p)
	}
	if len(on)+len(statuses) == 0 { // an empty retryOn means the conditions of the mesh
		r := object{}.add("attempts", 0)
		e.take(p, "max_attempts")
		e.take(p, retryFields...)
		if p.AttemptTimeout > 0 {
			e.lose(p, "attempt_timeout", "Istio refuses perTryTimeout without retries")
		}
		return r
	}
	r := object{}.add("attempts", e.envoyRetries(p))
	if p.AttemptTimeout > 0 {
		r = r.add("perTryTimeout", goText(p.AttemptTimeout))
	}
	for _, status := range statuses {
		on = append(on, strconv.Itoa(status))
	}
	s := p.Schedule.Effective()
	first, most, base := e.growth(p, s)
	if base != 2 && s.MaxAttempts > 2 {
		e.lose(p, "backoff", "delays of Istio double")
	} else if s.MaxAttempts > 2 && most != times(first, envoyCapFactor) {
		e.lose(p, "max_delay", "the longest delay of Istio is %d times the first", envoyCapFactor)
	}
	e.fullJitter(p, s)
	return r.add("retryOn", strings.Join(on, ",")).add("backoff", goText(first))
}
