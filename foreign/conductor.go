package foreign

import (
	"slices"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// conductorKind is the kind for task definitions of Conductor, alone or within a workflow.
// Sources: conductor-oss/conductor, TaskDef, and DeciderService for the delays.
var conductorKind = Kind{
	Name: "conductor", Title: "Conductor task definition",
	shape:     true,
	recognize: func(doc *syntax.Node) bool { return hasPart(doc, isConductor) },
	decode:    func(d *decoder, doc *value) { d.search("", doc, isConductor, d.conductorTask) },
}

var conductorWords = words{
	countsRetries: "retryCount", "initial_delay": "retryDelaySeconds",
	fixedBackoff:      "retryLogic: FIXED",
	"attempt_timeout": "responseTimeoutSeconds", "timeout": "totalTimeoutSeconds", "max_delay": "maxRetryDelaySeconds",
}

// isConductor reports whether a map is a task definition with retries. The schema of task
// definitions has the same keys, but their values are maps. Programs also count retries under
// the name retryCount, so that field alone is not enough: the map must also have a field that
// only task definitions have.
//
// The record of an executed task also has the fields of a definition, but it has a task ID as
// well.
func isConductor(n *syntax.Node) bool {
	has := func(key string) bool { return n.Get(key) != nil && !n.Get(key).Value.IsMap() }
	if has("taskId") {
		return false
	}
	return has("retryLogic") || has("retryDelaySeconds") ||
		has("retryCount") && slices.ContainsFunc(conductorOwn, has)
}

var conductorOwn = []string{
	"timeoutPolicy", "responseTimeoutSeconds", "totalTimeoutSeconds", "pollTimeoutSeconds", "ownerEmail", "inputKeys",
	"concurrentExecLimit", "rateLimitPerFrequency",
}

// conductorOther lists the fields of a task definition that are unrelated to retries.
var conductorOther = []string{
	"name", "description", "createdBy", "createTime", "createdAt", "updateTime", "updatedBy", "ownerEmail", "ownerApp",
	"inputKeys", "outputKeys", "inputTemplate", "inputSchema", "outputSchema", "enforceSchema", "accessPolicy",
	"pollTimeoutSeconds", "concurrentExecLimit", "rateLimitPerFrequency", "rateLimitFrequencyInSeconds",
	"isolationGroupId", "executionNameSpace", "baseType", "tags", "overwriteTags", "runtimeMetadata",
	"taskStatusListenerEnabled",
}

func (d *decoder) conductorTask(name string, v *value) {
	if name == "" {
		name = "default"
	}
	p := d.policy(name, conductorWords, v)
	v.skip(conductorOther...)
	p.MaxAttempts, p.InitialDelay, p.MaxDelay = 4, time.Minute, retry.None
	p.attempts(v.get("retryCount"), 1)
	p.duration("initial_delay", v.get("retryDelaySeconds"), in(time.Second))
	p.duration("max_delay", v.get("maxRetryDelaySeconds"), in(time.Second))
	scale := v.get("backoffScaleFactor")
	p.Backoff = retry.BackoffFixed
	if logic := v.get("retryLogic"); logic != nil {
		p.from("backoff", logic)
		if logic.isAtRunTime() {
			p.unknown = append(p.unknown, "backoff", "initial_delay")
		}
		switch logic.text() {
		case "FIXED":
		case "LINEAR_BACKOFF":
			factor := int64(1)
			if n, ok := scale.int(); ok && n < 1 {
				scale.mistake("P102", "Conductor refuses backoffScaleFactor %d: write at least 1", n)
			} else if ok {
				factor = int64(n)
			}
			p.Backoff, p.InitialDelay = retry.BackoffLinear, times(max(p.InitialDelay, 0), factor)
			p.Increment = p.InitialDelay
		case "EXPONENTIAL_BACKOFF":
			p.Backoff = retry.BackoffExponential
		default:
			logic.mistake("P102", "retryLogic is FIXED, LINEAR_BACKOFF or EXPONENTIAL_BACKOFF, not %s",
				syntax.Quote(logic.n.Text))
		}
	}
	scale.skip()
	if ms := v.get("backoffJitterMs"); ms != nil && ms.n.Text != "0" {
		ms.lose("up to this time is added to each delay: jitter is a share of the delay")
	} else {
		ms.skip()
	}
	p.conductorLimits(v)
	d.below(name, v, isConductor, d.conductorTask)
}

// conductorResponse is the limit of a task that does not set responseTimeoutSeconds.
const conductorResponse = time.Hour

// conductorLimits reads the time limits. 0 means no limit.
func (p *Policy) conductorLimits(v *value) {
	p.duration("timeout", v.get("totalTimeoutSeconds"), in(time.Second))
	response, every := v.get("responseTimeoutSeconds"), v.get("timeoutSeconds")
	whole, _ := every.duration(in(time.Second))
	if response != nil {
		p.duration("attempt_timeout", response, in(time.Second))
	} else if p.Timeout == 0 || p.Timeout > conductorResponse { // otherwise, the total limit ends the attempt
		p.AttemptTimeout = conductorResponse
		p.remarks = append(p.remarks, "P405") // the limit is a default
	}
	if v.key != "taskDefinition" { // part of a workflow: Conductor does not validate it
		p.conductorOrder(v, response, every, whole)
	}
	policy := v.get("timeoutPolicy")
	after := policy.text()
	if policy != nil && after != "" && !slices.Contains([]string{"RETRY", "TIME_OUT_WF", "ALERT_ONLY"}, after) {
		policy.mistake("P102", "timeoutPolicy is RETRY, TIME_OUT_WF or ALERT_ONLY, not %s", syntax.Quote(after))
	}
	switch {
	case every == nil || every.n.Text == "0":
		every.skip()
	case policy == nil:
		every.lose("it limits an attempt, and the workflow ends after it: here a timeout is retried")
	case after == "RETRY":
		every.lose("it limits an attempt that reports progress, which responseTimeoutSeconds does not end")
	default:
		every.skip()
		policy.lose("it says what happens after timeoutSeconds: here a timeout is retried")
	}
}

// conductorOrder reports limits with which Conductor refuses to register a task definition.
// Sources: TaskDef.java, and TaskTimeoutConstraint.java for their order.
func (p *Policy) conductorOrder(v, response, every *value, whole time.Duration) {
	total := v.get("totalTimeoutSeconds")
	switch {
	case response != nil && response.n.Text == "0":
		response.mistake("P102", "Conductor refuses responseTimeoutSeconds 0: write at least 1")
	case response == nil && 0 < whole && whole < conductorResponse:
		if !v.d.partial {
			every.mistake("P102", "Conductor refuses timeoutSeconds %s below responseTimeoutSeconds, which is %s if it is not "+
				"written: write it", duration.Format(whole), duration.Format(conductorResponse))
		}
	case response != nil && whole > 0 && p.AttemptTimeout > whole:
		response.mistake("P102", "Conductor refuses responseTimeoutSeconds %s above timeoutSeconds %s",
			duration.Format(p.AttemptTimeout), duration.Format(whole))
	}
	if total != nil && whole > 0 && p.Timeout > 0 && whole > p.Timeout {
		every.mistake("P102", "Conductor refuses timeoutSeconds %s above totalTimeoutSeconds %s",
			duration.Format(whole), duration.Format(p.Timeout))
	}
}
