package foreign

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// cloudTasksKind is the kind for the retry configuration of Google Cloud Tasks queues, in the
// JSON and YAML of its API and in Terraform JSON. Source: the REST reference of Cloud Tasks,
// RetryConfig.
var cloudTasksKind = Kind{
	Name: "cloudtasks", Title: "Cloud Tasks queue",
	recognize: func(doc *syntax.Node) bool {
		return isTaskQueue(doc) || slices.ContainsFunc(at(doc, "queues").Items, isTaskQueue) ||
			len(at(at(doc, "resource"), "google_cloud_tasks_queue").Entries) > 0
	},
	decode: decodeCloudTasks,
}

// isTaskQueue reports whether a document is a queue, as the API returns it.
func isTaskQueue(doc *syntax.Node) bool {
	return at(doc, "retryConfig").IsMap() && strings.Contains(at(doc, "name").Text, "/queues/")
}

var cloudTasksWords = words{
	"max_attempts": "maxAttempts", "initial_delay": "minBackoff", "max_delay": "maxBackoff",
	"max_elapsed": "maxRetryDuration", doublings: "maxDoublings",
}

var terraformTasksWords = words{
	"max_attempts": "max_attempts", "initial_delay": "min_backoff", "max_delay": "max_backoff",
	"max_elapsed": "max_retry_duration", doublings: "max_doublings",
}

// doublings is the key of the field with the number of times that delays double before they
// grow by equal amounts.
const doublings rules.Field = "doublings"

// The defaults of queues, and the maximum time for which a queue keeps a task.
const (
	tasksAttempts  = 100
	tasksMin       = 100 * time.Millisecond
	tasksMax       = time.Hour
	tasksDoublings = 16
	tasksRetention = 31 * 24 * time.Hour

	// tasksListed is the maximum number of delays that a policy lists.
	tasksListed = 20
)

func decodeCloudTasks(d *decoder, doc *value) {
	if doc.has("resource") {
		queues := doc.get("resource").get("google_cloud_tasks_queue")
		for _, key := range queues.keys() {
			q := block(queues.get(key))
			d.taskQueue(key, q, block(q.get("retry_config")), terraformTasksWords)
			q.skipOthers("retry_config")
		}
		doc.get("resource").skipOthers("google_cloud_tasks_queue")
		doc.skipOthers("resource")
		return
	}
	queues := []*value{doc}
	if doc.has("queues") {
		queues = doc.get("queues").items()
		doc.skipOthers("queues")
	}
	for _, q := range queues {
		d.taskQueue(path.Base(q.get("name").text()), q, q.get("retryConfig"), cloudTasksWords)
		q.skipOthers("retryConfig")
	}
}

func (d *decoder) taskQueue(name string, q, v *value, words words) {
	if v == nil || isOpenValue(v) {
		v.skip()
		return
	}
	p := d.policy(name, words, v, q)
	p.MaxAttempts, p.InitialDelay, p.MaxDelay = tasksAttempts, tasksMin, tasksMax
	known := true // unless a value is known only at run time
	for _, field := range []rules.Field{"initial_delay", "max_delay"} {
		if delay := v.get(words[field]); delay != nil {
			known = p.duration(field, delay, protobuf) && known
		}
	}
	attempts, doubled, n := v.get(words["max_attempts"]), v.get(words[doublings]), tasksDoublings
	if attempts != nil && attempts.n.Text == "-1" {
		attempts.skip()
		p.MaxAttempts, p.MaxElapsed = retry.Unlimited, tasksRetention
	} else if attempts != nil {
		known = p.attempts(attempts, 0) && known
	}
	if times, ok := doubled.int(); ok && times >= 0 {
		n = times
	} else if doubled != nil {
		known = false
	}
	limit := v.get(words["max_elapsed"])
	if !known {
		p.unknown = append(p.unknown, "max_attempts", "initial_delay", "max_delay")
		p.duration("max_elapsed", limit, protobuf)
		return
	}
	p.taskLimits(n, attempts, limit)
	p.taskDelays(n, doubled)
}

// taskDelays reads how the delays grow. They double n times, and then grow by the last delay
// each time.
func (p *Policy) taskDelays(n int, v *value) {
	if n == 0 {
		p.Backoff, p.Increment = retry.BackoffLinear, max(p.InitialDelay, 0)
		return
	}
	var list []time.Duration
	for i := 1; len(list) <= tasksListed; i++ {
		delay := p.taskDelay(i, n)
		list = append(list, delay)
		if delay >= p.MaxDelay {
			break
		}
	}
	if len(list) <= n+1 { // the maximum delay comes first
		return
	}
	if len(list) > tasksListed {
		v.note("the delays grow by equal amounts after it: here they double until the longest one")
		p.unknown = append(p.unknown, "initial_delay")
		return
	}
	p.Backoff, p.Delays, p.InitialDelay = retry.BackoffCustom, list, 0
	p.unknown = append(p.unknown, "delays") // the maximum delay follows
	p.from("delays", v)
}

// taskDelay returns the delay before the retry with the given number, starting at 1, if delays
// double n times.
func (p *Policy) taskDelay(number, n int) time.Duration {
	delay, doubled := max(p.InitialDelay, 0), min(number-1, n)
	for range doubled {
		if delay >= p.MaxDelay {
			break
		}
		delay *= 2
	}
	if more := number - 1 - doubled; more > 0 && delay > 0 && delay < p.MaxDelay {
		delay *= time.Duration(min(1+more, int(p.MaxDelay/delay)+1))
	}
	return max(min(delay, p.MaxDelay), 0)
}

// taskLimits reads both limits. Cloud Tasks stops retrying only after both limits are reached,
// so only the later one has an effect.
func (p *Policy) taskLimits(n int, attempts, limit *value) {
	total, ok := limit.duration(protobuf)
	switch {
	case !ok || total == 0 || p.MaxDelay <= 0:
		return
	case p.MaxAttempts == retry.Unlimited:
		p.setDuration("max_elapsed", total, limit)
		return
	}
	const most = 100_000
	begun, passed := 1, time.Duration(0)
	for begun < most {
		passed += p.taskDelay(begun, n)
		if passed >= total {
			break
		}
		begun++
	}
	switch {
	case begun <= p.MaxAttempts:
		limit.warn("P109", "%s %s ends no retry: Cloud Tasks makes all %d attempts, even after it has passed: remove it",
			limit.key, duration.Format(total), p.MaxAttempts)
		return
	case attempts != nil:
		attempts.warn("P109", "%s %d ends no retry: Cloud Tasks stops when %s %s has passed, too, after up to %d attempts: "+
			"remove %[3]s", attempts.key, p.MaxAttempts, limit.key, duration.Format(total), begun)
	}
	p.MaxAttempts = retry.Unlimited
	p.setDuration("max_elapsed", total, limit)
}
