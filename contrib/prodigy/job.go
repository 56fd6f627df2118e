package prodigy

import (
	"fmt"
	"math"
	"time"
)

// job reads the state of a MapReduce job. Its commands are the items of work,
// which it counts in up to two places.
func (d *decoder) job(root *node) {
	o := d.object(root)
	d.checkVersion(o.get("checkpoint_format_version"))
	d.c.Workflow = d.string(o.get("job_id"))
	d.c.Taken = d.time(o.get("updated_at"))
	for _, n := range d.entries(o.get("item_retry_counts")) {
		d.add(Command{ID: n.key, Attempts: d.count(n)})
	}
	for _, n := range d.entries(o.get("failed_agents")) {
		d.failure(n)
	}
	for _, n := range d.entries(o.get("agent_results")) {
		d.result(n)
	}
	// These describe the job, and what is derived from the parts above.
	o.get("config", "started_at", "work_items", "completed_agents", "pending_items", "checkpoint_version",
		"parent_worktree", "total_items", "successful_count", "failed_count", "is_complete", "agent_template",
		"reduce_commands", "setup_completed")
	o.rest(noRetryState)
}

// failure reads a FailureRecord.
func (d *decoder) failure(n *node) {
	o := d.object(n)
	c := Command{
		ID: d.string(o.need("item_id")), Attempts: d.count(o.need("attempts")),
		LastAttempt: d.time(o.get("last_attempt")),
	}
	if text := d.string(o.get("last_error")); c.Attempts > 0 {
		c.History = []Attempt{{Number: c.Attempts, Started: c.LastAttempt, Error: text}}
	}
	o.rest(noRetryState)
	d.add(c)
}

// result reads an AgentResult. Failed ones are in failed_agents, too.
func (d *decoder) result(n *node) {
	o := d.object(n)
	c := Command{ID: d.string(o.need("item_id"))}
	status, text, duration := o.need("status"), d.string(o.get("output")), d.duration(o.get("duration"))
	if status == nil || status.kind != '"' || lowerCase(status.text) != "success" {
		return
	}
	c.Succeeded, c.Output, c.Result = true, text, output(text)
	c.Attempts = d.commands[c.ID].Attempts + 1
	c.History = []Attempt{{Number: c.Attempts, Duration: duration, Success: true}}
	d.add(c)
}

// deadLetter reads a DeadLetteredItem: a file of the dead letter queue of a job.
func (d *decoder) deadLetter(n *node) {
	o := d.object(n)
	c := Command{ID: d.string(o.need("item_id")), Attempts: d.count(o.need("failure_count")), DeadLetter: true}
	c.LastAttempt = d.time(o.get("last_attempt"))
	d.c.Taken = later(d.c.Taken, c.LastAttempt)
	history := o.get("failure_history")
	for _, n := range d.list(history) {
		c.History = append(c.History, d.failureDetail(n))
	}
	sortHistory(c.History)
	d.reconcile(history, &c)
	if review := o.get("manual_review_required"); d.flag(review) {
		d.note(review, "is true: look at the item before it is requeued")
	}
	if eligible := o.get("reprocess_eligible"); eligible != nil && !d.flag(eligible) {
		d.note(eligible, "is false: requeue the item only after its cause is removed")
	}
	// These describe the item.
	o.get("item_data", "first_attempt", "error_signature")
	o.rest(noRetryState)
	d.add(c)
}

// failureDetail reads a FailureDetail.
func (d *decoder) failureDetail(n *node) Attempt {
	o := d.object(n)
	a := Attempt{
		Number: d.count(o.need("attempt_number")), Started: d.time(o.get("timestamp")),
		Error: d.string(o.get("error_message")),
	}
	if ms := o.get("duration_ms"); ms != nil {
		a.Duration = time.Duration(min(max(d.whole(ms), 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	if kind := o.get("error_type"); kind != nil {
		a.Error = errorText(d.errorType(kind), a.Error)
	}
	// These describe the failure.
	o.get("error_context", "stack_trace", "agent_id", "step_failed", "json_log_location")
	o.rest(unknownKey)
	return a
}

// errorType reads an ErrorType: its name, or an object with its name and what
// belongs to it, as {"CommandFailed": {"exit_code": 2}}.
func (d *decoder) errorType(n *node) string {
	if n.kind != '{' {
		return d.string(n)
	}
	if len(n.members) != 1 {
		d.note(n, "has no single error type: not imported")
		return ""
	}
	kind := n.members[0]
	if code := kind.find("exit_code"); code != nil {
		return fmt.Sprintf("%s, exit code %d", kind.key, d.whole(code))
	}
	return kind.key
}

// errorText returns the text of a failed attempt with the type of its error.
func errorText(kind, text string) string {
	switch {
	case kind == "":
		return text
	case text == "":
		return kind
	}
	return kind + ": " + text
}
