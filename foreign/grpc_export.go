package foreign

import (
	"fmt"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// encodeGRPC writes a service config that clients accept.
func encodeGRPC(e *encoder) {
	var methods []any
	for _, p := range e.policies() {
		m := object{}.add("name", e.grpcNames(p))
		e.take(p, "timeout", "max_attempts")
		if p.Timeout > 0 {
			m = m.add("timeout", protobufText(p.Timeout))
		}
		if p.MaxAttempts == 1 {
			e.take(p, retryFields...)
		} else if r := e.grpcRetryPolicy(p); r != nil {
			m = m.add("retryPolicy", r)
		}
		methods = append(methods, m)
	}
	e.writeJSON(object{}.add("methodConfig", methods))
}

// retryFields lists the fields that have no effect on a policy with only one attempt.
var retryFields = []rules.Field{
	"backoff", "initial_delay", "max_delay", "jitter", "jitter_factor", "delay_budget",
	"max_elapsed", "retry_on", "abort_on", "retry_after", "per_error",
}

// grpcNames returns the methods that the bind comments of a policy name. The only policy of a
// file applies to every method.
func (e *encoder) grpcNames(p *policy.Policy) (names []any) {
	for _, bind := range e.binds[p.Name] {
		if e.bound[bind] {
			e.lose(p, "", "%s is in the config already: gRPC clients refuse it twice", bind)
			continue
		}
		e.bound[bind] = true
		service, method, _ := strings.Cut(bind, "/")
		switch {
		case bind == everyMethod:
			names = append(names, object{})
		case method == "" || method == "*":
			names = append(names, object{}.add("service", service))
		default:
			names = append(names, object{}.add("service", service).add("method", method))
		}
	}
	if names != nil {
		return names
	}
	if len(e.file.Policies) == 1 {
		return []any{object{}}
	}
	e.lose(p, "", "no method is known: replace service %s, or write # bind: package.Service/Method above the policy",
		p.Name)
	return []any{object{}.add("service", p.Name)}
}

// grpcRetryPolicy returns the retryPolicy, or nil if no code is retried.
func (e *encoder) grpcRetryPolicy(p *policy.Policy) object {
	const mostAttempts = 5
	s := p.Schedule.Effective()
	attempts := s.MaxAttempts
	switch {
	case attempts == retry.Unlimited:
		attempts = mostAttempts
		e.lose(p, "max_attempts", "gRPC needs a number of attempts, and clients make at most %d", mostAttempts)
	case attempts > mostAttempts:
		e.lose(p, "max_attempts", "gRPC clients make at most %d attempts, unless the program raises that limit",
			mostAttempts)
	}
	first, most, base := e.growth(p, s)
	e.take(p, "retry_on", "abort_on", "jitter")
	if s.Jitter != retry.JitterProportional || s.JitterFactor != grpcJitter {
		e.lose(p, "jitter", "gRPC clients vary each delay by 20 %%")
	}
	if first <= 0 {
		first = time.Millisecond
		e.lose(p, "initial_delay", "gRPC needs a delay: it is 1ms")
	}
	codes := e.retriedCodes(p)
	if codes == nil {
		e.lose(p, "retry_on", "no gRPC code is retried, so the config has no retryPolicy")
		return nil
	}
	return object{}.
		add("maxAttempts", attempts).
		add("initialBackoff", protobufText(first)).
		add("maxBackoff", protobufText(max(most, first))).
		add("backoffMultiplier", base).
		add("retryableStatusCodes", anys(codes))
}

// growth returns a schedule as exponential backoff: its first delay, its maximum delay and its
// base. If the schedule has no maximum delay, its last delay is used. Other strategies are
// losses, and become equal delays.
func (e *encoder) growth(p *policy.Policy, s retry.Schedule) (first, most time.Duration, base float64) {
	e.take(p, "backoff", "initial_delay", "max_delay")
	first, most, base = max(s.InitialDelay, 0), s.MaxDelay, s.Base
	switch s.Backoff {
	case retry.BackoffExponential:
	case retry.BackoffFixed:
		base = 1
	default:
		e.lose(p, "backoff", "%s has no %s backoff: the delays are equal", e.kind.Title, s.Backoff)
		base = 1
		_, first, _ = s.Bounds(1, 0)
	}
	if most <= 0 {
		most = longest(s, base)
	}
	return first, most, base
}

// longest returns the longest delay of a schedule without a maximum delay: the last delay, or a
// day if the number of attempts is unlimited.
func longest(s retry.Schedule, base float64) time.Duration {
	const day = 24 * time.Hour
	switch {
	case base == 1:
		return max(s.InitialDelay, 0)
	case s.MaxAttempts == retry.Unlimited:
		return day
	}
	_, last, _ := s.Bounds(max(s.MaxAttempts-1, 1), 0)
	return last
}

// protobufText formats a duration as the JSON form of google.protobuf.Duration, such as 0.1s.
func protobufText(d time.Duration) string {
	text := fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "s"
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
