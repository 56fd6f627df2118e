package foreign

import (
	"slices"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// argoKind is the kind for the retryStrategy of Argo Workflows. Sources:
// argoproj/argo-workflows, docs/retries.md, and workflow/controller/operator.go for the delays.
var argoKind = Kind{
	Name: "argo", Title: "Argo workflow",
	recognize: func(doc *syntax.Node) bool {
		return isResource(doc, "argoproj.io", "Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow") ||
			doc.Get("kind") == nil && (isArgoPart(doc) || isArgoPart(at(doc, "spec")))
	},
	decode: decodeArgo,
	encode: encodeArgo,
}

var argoWords = words{
	countsRetries: "limit", "initial_delay": "duration", "max_delay": "cap", "base": "factor", fixedBackoff: "factor: 1",
	"timeout": "maxDuration", "attempt_timeout": "activeDeadlineSeconds",
}

// isArgoPart reports whether a map has a retryStrategy, or templates with one. Documentation
// often shows such parts of workflows.
func isArgoPart(n *syntax.Node) bool {
	return isArgoRetry(n) || slices.ContainsFunc(at(n, "templates").Items, isArgoRetry)
}

// isArgoRetry reports whether a map has a retryStrategy. AWS Batch has a field with the
// same name.
func isArgoRetry(n *syntax.Node) bool {
	r := at(n, "retryStrategy")
	return r.IsMap() && !isBatchStrategy(r)
}

func decodeArgo(d *decoder, doc *value) {
	switch {
	case isArgoRetry(doc.n): // a template
		d.argoTemplates("default", doc)
		return
	case isArgoPart(doc.n):
		doc.skipOthers("templates")
		for _, t := range doc.get("templates").items() {
			d.argoTemplates("", t)
		}
		return
	}
	resource(doc)
	spec := doc.get("spec")
	if w := spec.get("workflowSpec"); w != nil { // of a CronWorkflow
		spec.skipOthers("workflowSpec")
		spec = w
	}
	spec.skipOthers("retryStrategy", "templates", "templateDefaults", "activeDeadlineSeconds")
	spec.get("activeDeadlineSeconds").lose("it limits the whole workflow, of which a policy is one template")
	d.argoTemplate("workflow", nil, spec.get("retryStrategy"))
	if t := spec.get("templateDefaults"); t != nil {
		d.argoTemplates("default", t)
	}
	for _, t := range spec.get("templates").items() {
		d.argoTemplates("", t)
	}
}

// skipOthers marks all fields of a map, except the given ones, as unrelated to retries.
func (v *value) skipOthers(keys ...string) {
	for _, key := range v.keys() {
		if !slices.Contains(keys, key) {
			v.skip(key)
		}
	}
}

// argoTemplates converts a template, and the templates that are written within its steps and
// tasks. name is used if the template has no name.
func (d *decoder) argoTemplates(name string, t *value) {
	t.skipOthers("name", "retryStrategy", "activeDeadlineSeconds", "timeout", "steps", "dag")
	if own := t.get("name").text(); own != "" {
		name = own
	}
	d.argoTemplate(name, t, t.get("retryStrategy"))
	for _, group := range t.get("steps").items() {
		for _, step := range group.items() {
			d.argoInline(step)
		}
	}
	dag := t.get("dag")
	dag.skipOthers("tasks")
	for _, task := range dag.get("tasks").items() {
		d.argoInline(task)
	}
}

// argoInline converts the template that is written within a step or task.
func (d *decoder) argoInline(step *value) {
	step.skipOthers("inline", "name")
	name := step.get("name").text()
	if t := step.get("inline"); t != nil {
		d.argoTemplates(name, t)
	}
}

// argoTemplate converts a retryStrategy and the limits of its template. Either may be nil.
func (d *decoder) argoTemplate(name string, t, r *value) {
	if r == nil {
		t.skip("activeDeadlineSeconds", "timeout")
		return
	}
	p := d.policy(name, argoWords, r, t)
	p.duration("attempt_timeout", t.get("activeDeadlineSeconds"), in(time.Second))
	t.get("timeout").lose("it limits a node, the time in which its pod is pending included")
	p.MaxAttempts = retry.Unlimited
	p.attempts(r.get("limit"), 1)
	d.argoBackoff(p, r.get("backoff"))
	if v := r.get("retryPolicy"); v != nil {
		switch v.text() {
		case "Always":
		case "OnFailure", "OnError", "OnTransientError":
			v.lose("it selects failures of pods: here every error is retried")
		default:
			v.mistake("P102", "retryPolicy is Always, OnFailure, OnError or OnTransientError, not %s", syntax.Quote(v.n.Text))
		}
	}
	r.get("expression").lose("it selects the failures that are retried: here every error is")
	r.get("affinity").lose("attempts run on other nodes than the earlier ones")
}

// argoBackoff reads the delays. Without backoff, a retry begins as soon as its pod has started,
// and the rules cannot know when that is.
func (d *decoder) argoBackoff(p *Policy, b *value) {
	p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, retry.None, retry.None
	if b == nil {
		p.unknown = append(p.unknown, "initial_delay")
		return
	}
	if b.get("duration") == nil && !d.partial {
		b.mistake("P102", "backoff has no duration: Argo fails the step at its first retry")
	}
	p.duration("initial_delay", b.get("duration"), argoDuration)
	if v := b.get("factor"); v != nil && v.n.Text != "0" {
		p.Backoff = retry.BackoffExponential
		p.base(v)
	} else {
		v.skip()
	}
	p.duration("max_delay", b.get("cap"), argoDuration)
	p.duration("timeout", b.get("maxDuration"), argoDuration)
}

// argoDuration parses durations with units. A number without a unit is in seconds.
func argoDuration(text string) (time.Duration, error) {
	return either(ofGo, in(time.Second))(text)
}
