package foreign

import (
	"slices"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// A setting is a key of a policy file and its value.
type setting struct {
	field rules.Field
	value *syntax.Node
}

// settings is a list of settings, in the order of a policy file.
type settings []setting

func (list *settings) add(field rules.Field, value *syntax.Node) {
	*list = append(*list, setting{field, value})
}

// count adds a whole number that is not zero.
func (list *settings) count(field rules.Field, n int) {
	if n != 0 {
		list.add(field, syntax.Int(n))
	}
}

// number adds a number that is not zero.
func (list *settings) number(field rules.Field, f float64) {
	if f != 0 {
		list.add(field, syntax.Number(f))
	}
}

// duration adds a duration above zero.
func (list *settings) duration(field rules.Field, d time.Duration) {
	if d > 0 {
		list.add(field, durationNode(d))
	}
}

func breakerSettings(b *circuit) (list settings) {
	list.count("failures", b.Failures)
	list.number("failure_rate", b.FailureRate)
	list.number("slow_rate", b.SlowRate)
	list.duration("slow_call", b.SlowCall)
	list.count("min_calls", b.MinCalls)
	list.duration("window", b.Window)
	list.count("window_calls", b.WindowCalls)
	switch {
	case b.OpenFor != 0 && b.MaxOpenFor != 0:
		list.add("open_for", syntax.FlowMap(
			syntax.Entry{Key: "initial", Value: durationNode(b.OpenFor)},
			syntax.Entry{Key: "max", Value: durationNode(b.MaxOpenFor)},
		))
	default:
		list.duration("open_for", b.OpenFor)
	}
	list.count("half_open_calls", b.HalfOpenCalls)
	list.count("successes", b.Successes)
	return list
}

// policySettings returns the settings of a policy that are not the defaults.
func policySettings(p *Policy) settings {
	list := scheduleSettings(&p.Schedule)
	list.duration("delay_budget", p.DelayBudget)
	list.duration("max_elapsed", p.MaxElapsed)
	list.duration("attempt_timeout", p.AttemptTimeout)
	list.duration("timeout", p.Timeout)
	if p.Scope != "" {
		list.add("scope", syntax.Text(p.Scope))
	}
	if len(p.RetryOn) > 0 {
		list.add("retry_on", textList(p.RetryOn))
	} else if p.MaxAttempts != 1 {
		list.add("unknown", syntax.Text("retry")) // other systems retry every error
	}
	if len(p.AbortOn) > 0 {
		list.add("abort_on", textList(p.AbortOn))
	}
	if p.breaker != nil {
		list.add("breaker", syntax.Text(p.breaker.Name))
	}
	if p.Escalate {
		list.add("on_exhausted", syntax.Text("escalate"))
	}
	if len(p.PerError) > 0 {
		list.add("per_error", p.perError())
	}
	return list
}

// scheduleSettings returns the settings of a schedule that are not the defaults.
func scheduleSettings(s *retry.Schedule) (list settings) {
	if s.MaxAttempts == retry.Unlimited {
		list.add("max_attempts", syntax.Text("unlimited"))
	} else {
		list.count("max_attempts", s.MaxAttempts)
	}
	if strategy := backoffNode(s); strategy != nil {
		list.add("backoff", strategy)
	}
	switch {
	case s.InitialDelay < 0:
		list.add("initial_delay", syntax.Text("0s"))
	default:
		list.duration("initial_delay", s.InitialDelay)
	}
	switch {
	case s.MaxDelay < 0:
		list.add("max_delay", syntax.Text("none"))
	default:
		list.duration("max_delay", s.MaxDelay)
	}
	switch {
	case s.Jitter == retry.JitterProportional && s.JitterFactor != 0:
		list.number("jitter", s.JitterFactor)
	case s.JitterFactor != 0:
		list.add("jitter", syntax.FlowMap(
			syntax.Entry{Key: "mode", Value: syntax.Text(s.Jitter.String())},
			syntax.Entry{Key: "factor", Value: syntax.Number(s.JitterFactor)},
		))
	case s.Jitter != retry.JitterNone:
		list.add("jitter", syntax.Text(s.Jitter.String()))
	}
	if r := s.RetryAfter; r.Max < 0 {
		list.add("retry_after", syntax.Text("ignore"))
	} else if r != (retry.RetryAfter{}) {
		list.add("retry_after", retryAfterNode(r))
	}
	return list
}

// overrideSettings returns the settings of a schedule in per_error. Such a schedule inherits
// the settings of its policy, so settings that the schedule does not contain itself are set to
// their defaults.
func overrideSettings(base, own *retry.Schedule) settings {
	if own.MaxAttempts == 1 {
		return settings{{"max_attempts", syntax.Int(1)}}
	}
	list := scheduleSettings(own)
	defaults := map[rules.Field]*syntax.Node{
		"max_attempts": syntax.Int(3), "backoff": syntax.Text("exponential"), "initial_delay": syntax.Text("1s"),
		"max_delay": syntax.Text("30s"), "jitter": syntax.Bool(false), "retry_after": syntax.FlowMap(),
	}
	for _, inherited := range scheduleSettings(base) {
		if !slices.ContainsFunc(list, func(s setting) bool { return s.field == inherited.field }) {
			list.add(inherited.field, defaults[inherited.field])
		}
	}
	return list
}

// backoffNode returns the strategy with its settings, or nil if the strategy is the default.
func backoffNode(s *retry.Schedule) *syntax.Node {
	strategy := func(key string, value *syntax.Node) *syntax.Node {
		of := syntax.FlowMap(syntax.Entry{Key: key, Value: value})
		return syntax.FlowMap(syntax.Entry{Key: s.Backoff.String(), Value: of})
	}
	switch {
	case s.Backoff == retry.BackoffExponential && s.Base != 0 && s.Base != 2:
		return strategy("base", syntax.Number(s.Base))
	case s.Backoff == retry.BackoffExponential:
		return nil
	case s.Backoff == retry.BackoffLinear:
		return strategy("increment", durationNode(s.Increment))
	case s.Backoff == retry.BackoffCustom:
		delays := make([]*syntax.Node, len(s.Delays))
		for i, d := range s.Delays {
			delays[i] = durationNode(d)
		}
		return strategy("delays", syntax.List(delays...))
	}
	return syntax.Text(s.Backoff.String())
}

func retryAfterNode(r retry.RetryAfter) *syntax.Node {
	var list []syntax.Entry
	if r.Max > 0 {
		list = append(list, syntax.Entry{Key: "max", Value: durationNode(r.Max)})
	}
	if r.Default > 0 {
		list = append(list, syntax.Entry{Key: "default", Value: durationNode(r.Default)})
	}
	if r.FailOver {
		list = append(list, syntax.Entry{Key: "over", Value: syntax.Text("fail")})
	}
	return syntax.FlowMap(list...)
}

// durationNode returns a duration in the format of retrygen fmt, such as 1h10s.
func durationNode(d time.Duration) *syntax.Node {
	return syntax.Text(duration.Canonical(duration.Format(d)))
}
