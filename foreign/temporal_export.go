package foreign

import (
	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
)

// encodeTemporal writes the options of activities. The activities have the names of the
// policies.
func encodeTemporal(e *encoder) {
	activities := object{}
	for _, p := range e.policies() {
		o := object{}
		e.take(p, "attempt_timeout", "timeout")
		if p.AttemptTimeout > 0 {
			o = o.add("startToCloseTimeout", protobufText(p.AttemptTimeout))
		}
		if p.Timeout > 0 {
			o = o.add("scheduleToCloseTimeout", protobufText(p.Timeout))
		}
		activities = activities.add(p.Name, o.add("retryPolicy", e.temporalPolicy(p)))
	}
	e.writeJSON(activities)
}

func (e *encoder) temporalPolicy(p *policy.Policy) object {
	s := p.Schedule.Effective()
	e.take(p, "max_attempts", "abort_on")
	attempts := s.MaxAttempts
	if attempts == retry.Unlimited {
		attempts = 0
	}
	r := object{}.add("maximumAttempts", attempts)
	if attempts == 1 {
		e.take(p, retryFields...)
		return r
	}
	first, most, base := e.growth(p, s)
	r = r.add("initialInterval", protobufText(first)).add("backoffCoefficient", base).
		add("maximumInterval", protobufText(max(most, first)))
	if s.Jitter != retry.JitterNone {
		e.lose(p, "jitter", "Temporal does not vary delays")
	}
	var names []any
	for _, c := range p.AbortOn {
		if name := e.errorName(c); name != "" {
			names = append(names, name)
		} else {
			e.lose(p, "abort_on", "Temporal selects errors by their type, and class %s is no type", c)
		}
	}
	if names != nil {
		r = r.add("nonRetryableErrorTypes", names)
	}
	return r
}
