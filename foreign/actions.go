package foreign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// actionsKind is the kind for the steps of GitHub workflows, and of composite actions, that an
// action retries: the inputs of nick-fields/retry (action.yml, src/index.ts) and
// Wandalen/wretry.action (action.yml).
var actionsKind = Kind{
	Name: "actions", Title: "GitHub workflow",
	recognize: func(doc *syntax.Node) bool {
		return at(doc, "jobs").IsMap() && hasPart(at(doc, "jobs"), isRetryStep) ||
			hasPart(at(at(doc, "runs"), "steps"), isRetryStep)
	},
	decode: decodeActions,
}

var nickFieldsWords = words{
	"max_attempts": "max_attempts", "initial_delay": "retry_wait_seconds", "attempt_timeout": "timeout_minutes",
	"timeout": "timeout-minutes", "retry_on": "retry_on",
}

var wretryWords = words{
	"max_attempts": "attempt_limit", "initial_delay": "attempt_delay", "timeout": "time_out",
}

// The actions that retry, without their versions.
var (
	nickFields = []string{"nick-fields/retry", "nick-invision/retry"}
	wretry     = []string{"Wandalen/wretry.action"}
)

// The defaults of nick-fields/retry.
const (
	nickFieldsAttempts = 3
	nickFieldsWait     = 10 * time.Second
)

// actionsJob is the time limit of a job that does not set timeout-minutes.
const actionsJob = 6 * time.Hour

// isRetryStep reports whether a map is a step that an action retries.
func isRetryStep(n *syntax.Node) bool {
	return at(n, "with").IsMap() && slices.Contains(slices.Concat(nickFields, wretry), actionOf(n))
}

// actionOf returns the action of a step without its version, or "".
func actionOf(step *syntax.Node) string {
	name, _, _ := strings.Cut(at(step, "uses").Text, "@")
	return name
}

func decodeActions(d *decoder, doc *value) {
	doc.skipOthers("jobs", "runs")
	jobs := doc.get("jobs")
	for _, name := range jobs.keys() {
		job := jobs.get(name)
		if job == nil || !job.n.IsMap() {
			job.skip()
			continue
		}
		job.skipOthers("timeout-minutes", "steps")
		d.retrySteps(name, job.get("steps"), job.get("timeout-minutes"), actionsJob)
		job.skip("timeout-minutes")
	}
	runs := doc.get("runs")
	runs.skipOthers("steps")
	d.retrySteps("step", runs.get("steps"), nil, 0)
}

// retrySteps converts those steps of a job that retry. limit is the time limit of the job, or
// nil if the job has the default.
func (d *decoder) retrySteps(job string, steps, limit *value, byDefault time.Duration) {
	for _, step := range steps.items() {
		if !isRetryStep(step.n) {
			step.skip()
			continue
		}
		name := cmp.Or(at(step.n, "id").Text, at(step.n, "name").Text, job)
		own := step.get("timeout-minutes")
		step.skipOthers("with", "timeout-minutes")
		if own == nil {
			own = limit
		}
		if slices.Contains(wretry, actionOf(step.n)) {
			d.wretryStep(name, step)
		} else {
			d.nickFieldsStep(name, step, own, byDefault)
		}
		step.skip("timeout-minutes")
	}
}

// nickFieldsStep converts a step of nick-fields/retry. limit is the time limit of the step or
// of its job, or nil if it is the default. A default of 0 means that there is no limit.
func (d *decoder) nickFieldsStep(name string, step, limit *value, byDefault time.Duration) {
	v := step.get("with")
	words, every, unit := nickFieldsWords, v.get("timeout_minutes"), time.Minute
	if seconds := v.get("timeout_seconds"); every == nil && seconds != nil {
		words = maps.Clone(words)
		words["attempt_timeout"] = "timeout_seconds"
		every, unit = seconds, time.Second
	}
	p := d.policy(name, words, v, step)
	v.skip("command", "shell", "polling_interval_seconds", "warning_on_retry", "on_retry_command", "continue_on_error",
		"new_command_on_retry", "timeout_seconds")
	p.Backoff, p.InitialDelay, p.MaxDelay = retry.BackoffFixed, nickFieldsWait, retry.None
	p.MaxAttempts = nickFieldsAttempts
	if attempts := v.get("max_attempts"); attempts != nil && !p.attempts(attempts, 0) {
		p.unknown = append(p.unknown, "max_attempts")
	}
	p.duration("initial_delay", v.get("retry_wait_seconds"), leading(time.Second))
	p.duration("attempt_timeout", every, leading(unit))
	p.setDuration("timeout", byDefault, nil)
	p.duration("timeout", limit, in(time.Minute))
	if code := v.get("retry_on_exit_code"); code != nil {
		code.lose("it selects the exit code that is retried: here every error is, except timeouts")
		p.abortOn(retry.ClassTimeout, code) // timeouts have no exit code
	}
	switch on := v.get("retry_on"); on.text() {
	case "", "any":
	case "success":
		on.lose("it repeats a command that succeeds")
	case "timeout":
		p.retryOn(retry.ClassTimeout, on)
	case "error":
		p.abortOn(retry.ClassTimeout, on)
	default:
		on.mistake("P102", "retry_on is any, timeout or error, not %s", syntax.Quote(on.n.Text))
	}
}

// leading returns the format of numbers that count the given unit, as JavaScript's parseInt
// reads them. Text after the digits is ignored, but it must be empty or repeat the unit.
func leading(unit time.Duration) durationFormat {
	return func(text string) (time.Duration, error) {
		text = strings.TrimSpace(text)
		digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
		read, err := in(unit)(cmp.Or(digits, text))
		if rest := text[len(digits):]; err != nil || rest == "" || rest[0] == '.' {
			return read, err
		}
		if meant, err := withUnit(text); err != nil || meant != read {
			return 0, fmt.Errorf("%s is read as %s: write a number of %s", syntax.Quote(text), digits, unitNames[unit])
		}
		return read, nil
	}
}

// wretryStep converts a step of Wandalen/wretry.action, whose durations are in milliseconds.
func (d *decoder) wretryStep(name string, step *value) {
	v := step.get("with")
	p := d.policy(name, wretryWords, v, step)
	v.skip("action", "command", "with", "current_path", "steps_context", "pre_retry_command")
	v.get("retry_condition").lose("it selects the failures that are retried: here every error is")
	p.Backoff, p.InitialDelay, p.MaxDelay, p.MaxAttempts = retry.BackoffFixed, retry.None, retry.None, 2
	p.attempts(v.get("attempt_limit"), 0)
	delay := v.get("attempt_delay")
	if p.duration("initial_delay", delay, in(time.Millisecond)) && p.InitialDelay > 0 && p.InitialDelay < time.Second {
		delay.warn("P204", "attempt_delay counts milliseconds: %v is hardly a pause", p.InitialDelay)
		p.unknown = append(p.unknown, rules.Field("initial_delay"))
	}
	p.duration("timeout", v.get("time_out"), in(time.Millisecond))
}
