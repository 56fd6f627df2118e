package foreign

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
)

// batchKind is the kind for the retryStrategy of AWS Batch in job definitions, submitted jobs
// and CloudFormation templates. Source: AWS Batch User Guide, Automated job retries and Job
// timeouts.
var batchKind = Kind{
	Name: "batch", Title: "AWS Batch job definition",
	shape:     true,
	terraform: true,
	recognize: func(doc *syntax.Node) bool { return hasPart(doc, isBatch) },
	decode:    func(d *decoder, doc *value) { d.search("", doc, isBatch, d.batchJob) },
}

var batchWords = words{"max_attempts": "attempts", "attempt_timeout": "attemptDurationSeconds"}

// The limits of AWS Batch.
const (
	batchAttempts = 10
	batchExits    = 5
	batchTimeout  = time.Minute // minimum
)

// batchOwn lists the folded fields of a job or job definition that may occur together with
// retryStrategy.
var batchOwn = []string{
	"jobdefinitionname", "jobdefinition", "jobqueue", "containerproperties", "ecsproperties", "eksproperties",
	"nodeproperties",
}

// isBatch reports whether a map is a job with retries, or a CloudFormation resource that
// contains one.
func isBatch(n *syntax.Node) bool {
	if properties := n.Child("Properties"); properties != nil && at(n, "Type").Text == "AWS::Batch::JobDefinition" {
		return hasFolded(properties, "retrystrategy")
	}
	return slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
		return folded(e.Key) == "retrystrategy" && isBatchStrategy(e.Value) &&
			(hasFolded(n, batchOwn...) || hasFolded(e.Value, "evaluateonexit"))
	})
}

// isBatchStrategy reports whether a map has the fields of AWS Batch's retryStrategy. Other
// systems have a field with the same name.
func isBatchStrategy(n *syntax.Node) bool { return hasFolded(n, "attempts", "evaluateonexit") }

// batchJob converts a job, or the resource that contains it.
func (d *decoder) batchJob(name string, job *value) {
	if job.n.Child("Properties") != nil {
		job.skipOthers("Properties")
		job = job.get("Properties")
	}
	for _, key := range job.keys() {
		if !slices.Contains([]string{"retrystrategy", "timeout", "jobdefinitionname", "jobname"}, folded(key)) {
			job.skip(key)
		}
	}
	own := cmp.Or(fieldFolded(job, "jobDefinitionName"), fieldFolded(job, "jobName"))
	if text := own.text(); text != "" {
		name = text
	}
	r := fieldFolded(job, "retryStrategy")
	p := d.policy(cmp.Or(name, "default"), batchWords, r, job)
	// A retry waits in the queue, and the rules cannot know for how long.
	p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, retry.None, retry.None
	p.unknown = append(p.unknown, "initial_delay")
	p.MaxAttempts = 1
	attempts, exits := fieldFolded(r, "attempts"), fieldFolded(r, "evaluateOnExit")
	switch {
	case attempts == nil && exits != nil && !d.partial:
		exits.mistake("P102", "AWS Batch refuses evaluateOnExit without attempts: write attempts, from 1 to %d",
			batchAttempts)
	case attempts.isDeployed():
		p.MaxAttempts = batchAttempts
	case p.attempts(attempts, 0) && p.MaxAttempts > batchAttempts:
		attempts.mistake("P102", "AWS Batch refuses attempts %d: write 1 to %d", p.MaxAttempts, batchAttempts)
	}
	d.batchExits(exits)
	limit := fieldFolded(fieldFolded(job, "timeout"), "attemptDurationSeconds")
	if !limit.isDeployed() && p.duration("attempt_timeout", limit, in(time.Second)) && p.AttemptTimeout < batchTimeout {
		limit.mistake("P102", "AWS Batch refuses %s %s: write at least 60", limit.key, limit.n.Text)
	}
}

// batchExits reads evaluateOnExit. A failure that matches none of its conditions is retried.
func (d *decoder) batchExits(list *value) {
	if list == nil || list.done {
		return
	}
	items := []*value{list} // one block of Terraform
	if !list.n.IsMap() {
		items = list.items()
	}
	if len(items) > batchExits {
		list.mistake("P102", "AWS Batch refuses more than %d conditions of evaluateOnExit", batchExits)
	}
	exits := false
	for _, item := range items {
		switch action := fieldFolded(item, "action"); strings.ToUpper(action.text()) {
		case "EXIT":
			exits = true
		case "RETRY":
		default:
			cmp.Or(action, item).mistake("P102", "action is RETRY or EXIT, not %s", cmp.Or(action, item).n.Describe())
			exits = true
		}
		item.skip(item.keys()...)
	}
	if len(items) > 0 && !exits {
		list.lacks("P109", "%s has no effect without an EXIT, since what matches none is retried, too: "+
			"end it with {action: EXIT, onReason: \"*\"}", list.key)
	}
	list.lose("it selects the failures that are retried: here every error is")
}
