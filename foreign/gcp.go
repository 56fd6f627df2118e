package foreign

import (
	"slices"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// gcpKind is the kind for the retries of steps in Google Cloud Workflows. Source: its syntax
// reference, try/retry.
var gcpKind = Kind{
	Name: "gcp", Title: "Google Cloud workflow",
	shape:     true,
	recognize: func(doc *syntax.Node) bool { return hasPart(doc, isGCP) },
	decode:    func(d *decoder, doc *value) { d.search("", doc, isGCP, d.gcpStep) },
}

var gcpWords = words{
	countsRetries: "max_retries", "initial_delay": "initial_delay", "max_delay": "max_delay", "base": "multiplier",
	fixedBackoff: "multiplier: 1", "retry_on": "predicate",
}

// isGCP reports whether a map is a step with a retry, which is a map with the fields of one, or
// an expression. The schema of workflows has other maps under these keys.
func isGCP(n *syntax.Node) bool {
	r := n.Written("retry")
	if n.Get("try") == nil || r == nil {
		return false
	}
	return !r.Value.IsMap() || slices.ContainsFunc(gcpFields, func(field string) bool { return r.Value.Get(field) != nil })
}

var gcpFields = []string{"predicate", "max_retries", "backoff"}

func (d *decoder) gcpStep(name string, step *value) {
	r := step.get("retry")
	if !r.n.IsMap() {
		r.lose("the policy is a value of the program, or of a library")
	} else {
		d.gcpPolicy(name, r)
	}
	d.below(name, step, isGCP, d.gcpStep)
}

func (d *decoder) gcpPolicy(name string, r *value) {
	if name == "" {
		name = "default"
	}
	p := d.policy(name, gcpWords, r)
	r.get("predicate").lose("a subworkflow decides which errors are retried: here every error is")
	p.MaxAttempts = retry.Unlimited
	if !p.attempts(r.get("max_retries"), 1) {
		p.unknown = []rules.Field{"max_attempts"}
	}
	b := r.get("backoff")
	p.InitialDelay, p.MaxDelay = retry.None, retry.None
	p.duration("initial_delay", b.get("initial_delay"), in(time.Second))
	p.duration("max_delay", b.get("max_delay"), in(time.Second))
	p.base(b.get("multiplier"))
}
