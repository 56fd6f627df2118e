package foreign

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// encodeDapr writes a Resiliency resource.
func encodeDapr(e *encoder) {
	var retries, timeouts, breakers object
	targets := daprTargetTree{}
	for _, p := range e.policies() {
		use := object{}
		if p.AttemptTimeout > 0 {
			e.take(p, "attempt_timeout")
			timeouts = timeouts.add(p.Name, goText(p.AttemptTimeout))
			use = use.add("timeout", p.Name)
		}
		if p.MaxAttempts == 1 {
			e.take(p, "max_attempts")
			e.take(p, retryFields...)
		} else {
			retries = retries.add(p.Name, e.daprRetry(p))
			use = use.add("retry", p.Name)
		}
		if b := e.breakerOf(p); b != nil {
			e.take(p, "breaker")
			use = use.add("circuitBreaker", b.Name)
			if !breakers.has(b.Name) {
				breakers = breakers.add(b.Name, e.daprBreaker(p, b))
			}
		}
		known := false
		for _, bind := range e.binds[p.Name] {
			known = targets.add(strings.Split(bind, "/"), use) || known
		}
		if !known {
			e.lose(p, "", "no target is known: write # bind: apps/NAME above the policy, or a target in the resource")
		}
	}
	policies := object{}
	if timeouts != nil {
		policies = policies.add("timeouts", timeouts)
	}
	if retries != nil {
		policies = policies.add("retries", retries)
	}
	if breakers != nil {
		policies = policies.add("circuitBreakers", breakers)
	}
	spec := object{}.add("policies", policies)
	if t := targets.object(); len(t) > 0 {
		spec = spec.add("targets", t)
	}
	e.writeYAML(object{}.
		add("apiVersion", "dapr.io/v1alpha1").
		add("kind", "Resiliency").
		add("metadata", object{}.add("name", "retry")).
		add("spec", spec))
}

// daprRetry returns the retry policy for a policy. It is exponential if the policy has the
// numbers that Dapr uses for exponential retries. Otherwise, it is constant.
func (e *encoder) daprRetry(p *policy.Policy) object {
	s := p.Schedule.Effective()
	e.take(p, "max_attempts", "initial_delay", "backoff", "max_delay", "jitter")
	r := object{}
	grows := s.Backoff != retry.BackoffFixed && s.MaxAttempts > 2
	switch {
	case s.Backoff == retry.BackoffExponential && (grows || s.Jitter != retry.JitterNone):
		r = r.add("policy", "exponential").add("maxInterval", goText(max(daprCap(p), daprInitial)))
		if daprCap(p) < daprInitial {
			e.lose(p, "max_delay", "exponential delays of Dapr are no shorter than 500ms")
		}
		if s.InitialDelay != daprInitial {
			e.lose(p, "initial_delay", "exponential delays of Dapr begin with 500ms")
		}
		if s.Base != daprMultiplier {
			e.lose(p, "backoff", "exponential delays of Dapr grow by 1.5")
		}
		if s.Jitter != retry.JitterProportional || s.JitterFactor != daprJitter {
			e.lose(p, "jitter", "Dapr varies exponential delays by 50 %%")
		}
		e.take(p, "max_elapsed")
		if p.MaxElapsed != daprMaxElapsed {
			e.lose(p, "max_elapsed", "Dapr ends exponential retries after 15m")
		}
	default:
		r = r.add("policy", "constant").add("duration", goText(max(s.InitialDelay, 0)))
		if grows {
			e.lose(p, "backoff", "Dapr has no %s backoff: the delays are equal", s.Backoff)
		}
		if s.Jitter != retry.JitterNone {
			e.lose(p, "jitter", "Dapr does not vary constant delays")
		}
	}
	if s.MaxAttempts == retry.Unlimited {
		r = r.add("maxRetries", -1)
	} else {
		r = r.add("maxRetries", s.MaxAttempts-1)
	}
	return e.daprMatching(p, r)
}

// daprCap returns the maximum delay that the policy sets, or else its longest delay.
func daprCap(p *policy.Policy) time.Duration {
	if most := p.Schedule.Effective().MaxDelay; most > 0 {
		return most
	}
	return longest(p.Schedule.Effective(), daprMultiplier)
}

// daprMatching adds the statuses that are retried.
func (e *encoder) daprMatching(p *policy.Policy, r object) object {
	e.take(p, "retry_on", "abort_on")
	if len(p.RetryOn) == 0 && len(p.AbortOn) == 0 {
		return r
	}
	matching := object{}
	if text := ranges(e.retriedStatuses(p)); text != "" {
		matching = matching.add("httpStatusCodes", text)
	}
	if text := ranges(e.retriedNumbers(p)); text != "" {
		matching = matching.add("gRPCStatusCodes", text)
	}
	if len(matching) == 0 {
		e.lose(p, "retry_on", "Dapr selects errors by their statuses only")
		return r
	}
	return r.add("matching", matching)
}

// ranges formats sorted numbers as Dapr does: 429,500-599.
func ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.Itoa(list[i])
		if j > i {
			part += "-" + strconv.Itoa(list[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func (e *encoder) daprBreaker(p *policy.Policy, b *policy.Breaker) object {
	o := object{}
	if b.Failures > 0 {
		o = o.add("trip", fmt.Sprintf("consecutiveFailures >= %d", b.Failures))
	}
	o = o.add("timeout", goText(b.OpenFor))
	if b.HalfOpenCalls > 1 {
		o = o.add("maxRequests", b.HalfOpenCalls)
	}
	if b.FailureRate > 0 || b.SlowRate > 0 || b.EscalateAfter > 0 || len(b.Count) > 0 || b.Successes != b.HalfOpenCalls ||
		b.MaxOpenFor > 0 {
		e.lose(p, "breaker", "of breaker %s, Dapr gets failures, open_for and half_open_calls only", b.Name)
	}
	return o
}

// breakerOf returns the breaker of a policy, or nil.
func (e *encoder) breakerOf(p *policy.Policy) *policy.Breaker {
	for i := range e.file.Breakers {
		if b := &e.file.Breakers[i]; p.Breaker != "" && b.Name == p.Breaker {
			return b
		}
	}
	return nil
}

// goText formats a duration as time.ParseDuration reads it: without days.
func goText(d time.Duration) string {
	if text := duration.Format(d); !strings.ContainsAny(text, "dw") {
		return text
	}
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

// daprTargetTree collects targets by section and name, in the order in which they
// are added.
type daprTargetTree struct{ apps, actors, components object }

// add adds a target that a bind comment names, such as apps/NAME, and reports whether the
// comment names one. Other comments are not for Dapr.
func (t *daprTargetTree) add(path []string, use object) bool {
	switch {
	case len(path) == 2 && path[0] == "apps":
		t.apps = t.apps.add(path[1], use)
	case len(path) == 2 && path[0] == "actors":
		if use.has("circuitBreaker") {
			use = append(use[:len(use):len(use)], member{"circuitBreakerScope", "both"})
		}
		t.actors = t.actors.add(path[1], use)
	case len(path) == 3 && path[0] == "components":
		for i := range t.components {
			if t.components[i].key == path[1] {
				t.components[i].value = t.components[i].value.(object).add(path[2], use)
				return true
			}
		}
		t.components = t.components.add(path[1], object{}.add(path[2], use))
	default:
		return false
	}
	return true
}

func (t *daprTargetTree) object() object {
	o := object{}
	for _, section := range []member{{"apps", t.apps}, {"actors", t.actors}, {"components", t.components}} {
		if list := section.value.(object); len(list) > 0 {
			o = o.add(section.key, list)
		}
	}
	return o
}
