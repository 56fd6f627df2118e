package foreign

import (
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// encodeASL writes a state machine with one task for each policy.
func encodeASL(e *encoder) {
	states := object{}
	list := e.policies()
	for i, p := range list {
		s := object{}.add("Type", "Task").add("Resource", "arn:aws:states:::lambda:invoke")
		e.take(p, "attempt_timeout")
		if p.AttemptTimeout > 0 {
			s = s.add("TimeoutSeconds", e.seconds(p, "attempt_timeout", p.AttemptTimeout))
		}
		if r := e.aslRetry(p); len(r) > 0 {
			s = s.add("Retry", r)
		}
		if i+1 < len(list) {
			s = s.add("Next", list[i+1].Name)
		} else {
			s = s.add("End", true)
		}
		states = states.add(p.Name, s)
	}
	start := ""
	if len(list) > 0 {
		start = list[0].Name
	}
	e.writeJSON(object{}.
		add("Comment", "One task for each policy: replace Resource and the order of the states.").
		add("StartAt", start).
		add("States", states))
}

// aslRetry returns the retriers of a policy: first those for errors that are not retried, then
// those for classes with their own schedules, and then the one for all other errors.
func (e *encoder) aslRetry(p *policy.Policy) (retriers []any) {
	e.take(p, "max_attempts", "backoff", "initial_delay", "max_delay", "jitter", "retry_on", "abort_on")
	if never := e.aslErrors(p, "abort_on", p.AbortOn); len(never) > 0 && p.MaxAttempts != 1 {
		retriers = append(retriers, object{}.add("ErrorEquals", never).add("MaxAttempts", 0))
	}
	own := map[retry.Class]bool{}
	for _, o := range p.PerError {
		own[o.Class] = true
		e.take(p, rules.PerError(o.Class), "per_error")
		if o.RetryAfter != p.RetryAfter {
			e.lose(p, rules.PerError(o.Class), "%s has no retry_after", e.kind.Title)
		}
		if o.Escalate != p.Escalate {
			e.lose(p, rules.PerError(o.Class), "%s has no on_exhausted", e.kind.Title)
		}
		if names := e.aslErrors(p, rules.PerError(o.Class), []retry.Class{o.Class}); len(names) > 0 {
			retriers = append(retriers, e.aslRetrier(p, o.Schedule.Effective(), names))
		}
	}
	rest := slices.DeleteFunc(slices.Clone(p.RetryOn), func(c retry.Class) bool { return own[c] })
	if len(p.RetryOn) == 0 {
		rest = []retry.Class{retry.ClassAny}
	}
	names := e.aslErrors(p, "retry_on", rest)
	if len(names) == 0 || p.MaxAttempts == 1 && len(retriers) == 0 {
		return retriers
	}
	return append(retriers, e.aslRetrier(p, p.Schedule.Effective(), names))
}

// aslErrors returns the error names for classes. A class without an error name is a loss.
func (e *encoder) aslErrors(p *policy.Policy, field rules.Field, classes []retry.Class) (names []any) {
	for _, c := range classes {
		switch name := e.errorName(c); {
		case c == retry.ClassAny:
			names = append(names, "States.ALL")
		case c == retry.ClassTimeout:
			names = append(names, "States.Timeout")
		case name != "":
			names = append(names, name)
		default:
			e.lose(p, field, "%s selects errors by name, and class %s is no name", e.kind.Title, c)
		}
	}
	return names
}

// errorName returns the name if the pattern of a class matches exactly one name, or else "".
func (e *encoder) errorName(c retry.Class) string {
	for _, defined := range e.file.Errors {
		if defined.Name == string(c) && defined.Pattern != nil {
			return aslName(defined.Pattern.String())
		}
	}
	return ""
}

func (e *encoder) aslRetrier(p *policy.Policy, s retry.Schedule, names []any) object {
	const most = 99_999_999
	retries := s.MaxAttempts - 1
	if s.MaxAttempts == retry.Unlimited {
		retries = most
		e.lose(p, "max_attempts", "Step Functions needs a number: it is %d", most)
	}
	r := object{}.add("ErrorEquals", names).add("MaxAttempts", retries)
	if retries == 0 {
		return r
	}
	first, longest, base := e.growth(p, s)
	r = r.add("IntervalSeconds", max(e.seconds(p, "initial_delay", first), 1)).add("BackoffRate", base)
	if s.MaxDelay > 0 && longest > first {
		r = r.add("MaxDelaySeconds", e.seconds(p, "max_delay", longest))
	}
	switch s.Jitter {
	case retry.JitterNone:
	case retry.JitterFull:
		r = r.add("JitterStrategy", "FULL")
	default:
		r = r.add("JitterStrategy", "FULL")
		e.lose(p, "jitter", "Step Functions has full jitter only")
	}
	return r
}

// seconds returns a duration in whole seconds, rounded up. The difference is a loss.
func (e *encoder) seconds(p *policy.Policy, field rules.Field, d time.Duration) int {
	n := int((d + time.Second - 1) / time.Second)
	if time.Duration(n)*time.Second != d {
		e.lose(p, field, "%s counts whole seconds: it is %ds", e.kind.Title, max(n, 1))
	}
	return n
}
