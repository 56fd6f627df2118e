package foreign

import (
	"cmp"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// serverlessKind is the kind for the retries of the Serverless Workflow DSL 1.0. Source:
// serverlessworkflow/specification, dsl-reference.md. What the specification does not define is
// taken from its implementations: serverlessworkflow/sdk-java, impl/executors/retry, and
// serverlessworkflow/synapse, TryTaskExecutor.
var serverlessKind = Kind{
	Name: "serverless", Title: "Serverless Workflow",
	recognize: func(doc *syntax.Node) bool {
		d := doc.Child("document")
		return d != nil && d.Get("dsl") != nil
	},
	decode: decodeServerless,
}

var serverlessWords = words{
	countsRetries: "limit.attempt.count", "initial_delay": "delay",
	fullJitter:        "jitter",
	fixedBackoff:      "backoff: {constant: {}}",
	"attempt_timeout": "limit.attempt.duration", "timeout": "limit.duration",
}

func decodeServerless(d *decoder, doc *value) {
	doc.skip("document", "input", "output", "schedule", "evaluate", "metadata")
	doc.get("timeout").lose("it limits the whole workflow, of which a policy is one task")
	use := doc.get("use")
	use.skipOthers("retries")
	retries := use.get("retries")
	for _, name := range retries.keys() {
		if r := retries.get(name); r != nil {
			d.serverlessPolicy(name, r)
		}
	}
	d.below("", doc, isServerless, d.serverlessTry)
}

// isServerless reports whether a map is a try task with a retry.
func isServerless(n *syntax.Node) bool {
	c := n.Child("catch")
	return n.Get("try") != nil && c != nil && c.Written("retry") != nil
}

func (d *decoder) serverlessTry(name string, task *value) {
	c := task.get("catch")
	r := c.get("retry")
	if r.n.IsMap() {
		p := d.serverlessPolicy(name, r)
		p.roots = append(p.roots, task)
		c.get("errors").lose("errors are selected by their type and status")
		c.get("when").lose("an expression decides which errors are caught")
		c.get("exceptWhen").lose("an expression decides which errors are caught")
	} else {
		r.skip() // the name of a policy in the section use
	}
	d.below(name, c, isServerless, d.serverlessTry)
	d.below(name, task, isServerless, d.serverlessTry)
}

// serverlessPolicy converts a retry policy.
func (d *decoder) serverlessPolicy(name string, r *value) *Policy {
	p := d.policy(cmp.Or(name, "default"), serverlessWords, r)
	r.get("when").lose("an expression decides which errors are retried")
	r.get("exceptWhen").lose("an expression decides which errors are retried")
	p.Backoff, p.InitialDelay, p.MaxDelay, p.MaxAttempts = retry.BackoffFixed, retry.None, retry.None, retry.Unlimited
	limit := r.get("limit")
	p.attempts(limit.get("attempt").get("count"), 1)
	p.serverlessDuration("attempt_timeout", limit.get("attempt").get("duration"))
	p.serverlessDuration("timeout", limit.get("duration"))
	p.serverlessDuration("initial_delay", r.get("delay"))
	d.serverlessBackoff(p, r.get("backoff"))
	if j := r.get("jitter"); j != nil {
		p.serverlessJitter(j)
	}
	return p
}

func (d *decoder) serverlessBackoff(p *Policy, b *value) {
	if b == nil {
		return
	}
	p.from("backoff", b)
	switch {
	case b.has("exponential"):
		p.Backoff = retry.BackoffExponential
		if p.InitialDelay > 0 {
			p.InitialDelay = times(p.InitialDelay, 2) // sdk-java also doubles the delay before the first retry
		}
	case b.has("linear"):
		p.Backoff, p.Increment = retry.BackoffLinear, max(p.InitialDelay, 0)
		p.serverlessDuration("increment", b.get("linear").get("increment"))
	}
	b.skip("constant", "exponential", "linear")
}

// serverlessDuration reads a duration, which is a string in ISO 8601 format or a map of units.
func (p *Policy) serverlessDuration(field rules.Field, v *value) {
	if d, ok := serverlessTime(v); ok {
		p.setDuration(field, d, v)
	} else if v != nil {
		p.unread(field)
	}
}

func serverlessTime(v *value) (sum time.Duration, ok bool) {
	if v == nil || !v.n.IsMap() {
		return v.duration(iso8601)
	}
	for _, unit := range serverlessUnits {
		if d, written := v.get(unit.name).duration(in(unit.size)); written {
			sum, ok = sum+d, true
		}
	}
	return sum, ok
}

var serverlessUnits = []struct {
	name string
	size time.Duration
}{
	{"days", 24 * time.Hour}, {"hours", time.Hour}, {"minutes", time.Minute}, {"seconds", time.Second},
	{"milliseconds", time.Millisecond},
}

// serverlessJitter reads the range of the random time that is added to each delay.
func (p *Policy) serverlessJitter(j *value) {
	p.from("jitter", j)
	from, _ := serverlessTime(j.get("from"))
	to, ok := serverlessTime(j.get("to"))
	factor := float64(to-from) / float64(p.InitialDelay+from)
	switch {
	case ok && to <= from:
		j.mistake("P102", "jitter is a range from a smaller to a greater time")
	case !ok || p.InitialDelay <= 0 || p.Backoff != retry.BackoffFixed || factor > 1:
		j.lose("a time is added to each delay: additive jitter is a share of the delay, at most 1")
	default:
		p.Jitter, p.JitterFactor = retry.JitterAdditive, factor
		p.InitialDelay += from
	}
}
