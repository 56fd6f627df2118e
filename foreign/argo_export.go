package foreign

import (
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
)

// encodeArgo writes a WorkflowTemplate with one template for each policy.
func encodeArgo(e *encoder) {
	var templates []any
	for _, p := range e.policies() {
		t := object{}.add("name", strings.ReplaceAll(p.Name, "_", "-"))
		e.take(p, "attempt_timeout")
		if p.AttemptTimeout > 0 {
			t = t.add("activeDeadlineSeconds", e.seconds(p, "attempt_timeout", p.AttemptTimeout))
		}
		templates = append(templates, t.
			add("retryStrategy", e.argoStrategy(p)).
			add("container", object{}.add("image", "replace.this/image")))
	}
	e.writeYAML(object{}.
		add("apiVersion", "argoproj.io/v1alpha1").
		add("kind", "WorkflowTemplate").
		add("metadata", object{}.add("name", "retry")).
		add("spec", object{}.add("templates", templates)))
}

// argoStrategy returns the retryStrategy of a policy.
func (e *encoder) argoStrategy(p *policy.Policy) object {
	s := p.Schedule.Effective()
	e.take(p, "max_attempts", "timeout")
	r := object{}.add("retryPolicy", "Always")
	if s.MaxAttempts != retry.Unlimited {
		r = r.add("limit", strconv.Itoa(s.MaxAttempts-1))
	}
	if s.MaxAttempts == 1 {
		e.take(p, retryFields...)
		return r
	}
	first, most, base := e.growth(p, s)
	b := object{}.add("duration", goText(first))
	if base != 1 {
		b = b.add("factor", number(base))
	}
	if s.MaxDelay > 0 && most > first {
		b = b.add("cap", goText(most))
	}
	if s.Jitter != retry.JitterNone {
		e.lose(p, "jitter", "Argo does not vary delays")
	}
	switch { // the time since the first attempt, after which no attempt begins
	case p.Timeout > 0:
		b = b.add("maxDuration", goText(p.Timeout))
	case p.MaxElapsed > 0:
		e.take(p, "max_elapsed")
		b = b.add("maxDuration", goText(p.MaxElapsed))
	case p.DelayBudget > 0:
		e.lose(p, "delay_budget", "maxDuration includes the time of attempts")
		b = b.add("maxDuration", goText(p.DelayBudget))
	}
	if len(p.RetryOn) > 0 {
		e.lose(p, "retry_on", "Argo selects failures by the state of their pods only")
	}
	if len(p.AbortOn) > 0 {
		e.lose(p, "abort_on", "Argo selects failures by the state of their pods only")
	}
	return r.add("backoff", b)
}
