package foreign

import (
	"slices"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// jobKind is the kind for the backoffLimit of Kubernetes Jobs. Sources: kubernetes/kubernetes,
// pkg/controller/job/job_controller.go for the limits, and backoff_utils.go for the delays.
var jobKind = Kind{
	Name: "job", Title: "Kubernetes Job",
	recognize: func(doc *syntax.Node) bool { return isJobSpec(jobSpec(doc)) },
	decode:    decodeJob,
}

var jobWords = words{
	countsRetries: "backoffLimit", "timeout": "activeDeadlineSeconds",
	"attempt_timeout": "the pod's deadline", "initial_delay": fixed + "the delay of the controller",
}

var indexWords = words{
	countsRetries: "backoffLimitPerIndex", "timeout": jobWords["timeout"],
	"attempt_timeout": jobWords["attempt_timeout"], "initial_delay": jobWords["initial_delay"],
}

// restartWords contains the words for a Job whose containers are restarted by the kubelet. The
// Job fails when the restart with the number backoffLimit begins, so backoffLimit is the number
// of attempts that can be completed.
var restartWords = words{
	"max_attempts": "backoffLimit", "timeout": jobWords["timeout"],
	"attempt_timeout": jobWords["attempt_timeout"],
}

// The delays of the Job controller, and the limit of a Job that does not set backoffLimit.
// According to the documentation, the maximum delay is six minutes, but the controller waits
// for up to ten.
const (
	jobDelay    = 10 * time.Second
	jobMaxDelay = 10 * time.Minute
	jobLimit    = 6
)

// jobSpec returns the spec of a Job or of the Jobs of a CronJob, or nil.
func jobSpec(doc *syntax.Node) *syntax.Node {
	switch {
	case isResource(doc, "batch", "Job"):
		return at(doc, "spec")
	case isResource(doc, "batch", "CronJob"):
		return at(at(at(doc, "spec"), "jobTemplate"), "spec")
	}
	return nil
}

// isJobSpec reports whether a Job limits its retries. If it only has the defaults, there is
// nothing to report.
func isJobSpec(spec *syntax.Node) bool {
	return spec != nil && slices.ContainsFunc([]string{"backoffLimit", "backoffLimitPerIndex", "activeDeadlineSeconds"},
		func(key string) bool { return spec.Written(key) != nil })
}

// jobOther lists the fields of a Job that are unrelated to retries.
var jobOther = []string{
	"completions", "parallelism", "completionMode", "selector", "manualSelector", "suspend",
	"ttlSecondsAfterFinished", "successPolicy", "podReplacementPolicy", "managedBy", "maxFailedIndexes",
}

func decodeJob(d *decoder, doc *value) {
	name := resource(doc)
	spec := doc.get("spec")
	if t := spec.get("jobTemplate"); t != nil {
		spec.skip("schedule", "timeZone", "startingDeadlineSeconds", "concurrencyPolicy", "suspend",
			"successfulJobsHistoryLimit", "failedJobsHistoryLimit")
		t.skip("metadata")
		spec = t.get("spec")
	}
	template := spec.get("template")
	template.skip("metadata")
	pod := template.get("spec")
	pod.skipOthers("restartPolicy", "activeDeadlineSeconds")
	if name == "" {
		name = "job"
	}
	several := isAbove(spec.get("parallelism"), 1) || isAbove(spec.get("completions"), 1)
	spec.skip(jobOther...)

	p := d.policy(name, jobWords, spec)
	p.InitialDelay, p.MaxDelay, p.Backoff = jobDelay, jobMaxDelay, retry.BackoffExponential
	p.duration("timeout", spec.get("activeDeadlineSeconds"), in(time.Second))
	p.duration("attempt_timeout", pod.get("activeDeadlineSeconds"), in(time.Second))
	d.jobLimit(p, spec, pod.get("restartPolicy"), several)
}

// isAbove reports whether a value is a number greater than n.
func isAbove(v *value, n int) bool {
	if v == nil || v.n.IsMap() || v.n.IsList() {
		return false
	}
	own, ok := v.int()
	return ok && own > n
}

// jobLimit reads how many attempts a Job makes.
func (d *decoder) jobLimit(p *Policy, spec, restart *value, several bool) {
	limit, perIndex := spec.get("backoffLimit"), spec.get("backoffLimitPerIndex")
	policy := restart.text()
	if policy == "Always" {
		restart.mistake("P102", "restartPolicy is Never or OnFailure: Kubernetes refuses the pods of a Job that are "+
			"restarted always")
	}
	if policy == "OnFailure" {
		for _, key := range []string{"backoffLimitPerIndex", "podFailurePolicy"} {
			spec.get(key).mistake("P102", "%s needs restartPolicy: Never: Kubernetes refuses it with OnFailure", key)
		}
		p.words = restartWords
		p.unknown = append(p.unknown, "initial_delay", "max_delay") // the kubelet decides
		p.restarts(limit)
		return
	}
	spec.get("podFailurePolicy").lose("it selects failures that end the Job, or that its limit does not count")
	if perIndex != nil { // each index makes its own attempts
		p.words = indexWords
		limit.lose("it limits the failures of all indexes together")
		p.attempts(perIndex, 1)
		return
	}
	if several {
		limit.note("it counts the failures of all pods: each may be retried as often")
		p.unknown = append(p.unknown, "initial_delay", "max_attempts")
	}
	p.MaxAttempts = jobLimit + 1
	if !p.attempts(limit, 1) {
		p.remarks = append(p.remarks, "P404", "P405") // as many attempts as fit
	}
}

// restarts reads the limit of a Job whose containers are restarted. The Job fails as soon as
// the restart with the number backoffLimit has begun.
func (p *Policy) restarts(limit *value) {
	p.MaxAttempts = jobLimit
	n, ok := limit.int()
	switch {
	case !ok:
		p.remarks = append(p.remarks, "P404", "P405")
		return
	case n < 0:
		limit.mistake("P102", "backoffLimit is %d: it must be at least 0", n)
		return
	case n == 1:
		limit.warn("P107", "with restartPolicy: OnFailure the Job fails as soon as restart 1 begins, so backoffLimit 1 "+
			"allows no retry: raise backoffLimit, or write restartPolicy: Never")
	case n > 1:
		limit.note("it counts restarts: the Job fails when the last one begins")
	}
	p.MaxAttempts = max(n, 1)
	p.from("max_attempts", limit)
}
