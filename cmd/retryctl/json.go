package main

import (
	"encoding/json"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// This file has the JSON forms of what the commands print. Times are in UTC, durations
// in seconds.

// runJSON is a run as JSON.
type runJSON struct {
	Run        string         `json:"run"`
	Status     storage.Status `json:"status"`
	Handler    string         `json:"handler,omitempty"`
	Priority   int            `json:"priority,omitempty"`
	Version    int            `json:"version,omitempty"`
	Parent     string         `json:"parent,omitempty"`
	Owner      string         `json:"owner,omitempty"`
	Fence      uint64         `json:"fence"`
	Created    time.Time      `json:"created,omitzero"`
	Claimed    time.Time      `json:"claimed,omitzero"`
	Ended      time.Time      `json:"ended,omitzero"`
	Deadline   time.Time      `json:"deadline,omitzero"`
	Due        time.Time      `json:"due,omitzero"`
	Recoveries int            `json:"recoveries,omitempty"`
	Error      string         `json:"error,omitempty"`
	Panic      string         `json:"panic,omitempty"`
	// What becomes of the run, unless it is exported.
	NoWorker bool       `json:"no_worker,omitempty"` // no worker has its handler
	Kept     bool       `json:"kept,omitempty"`      // until somebody has looked at its steps
	Input    *valueJSON `json:"input,omitempty"`
	Result   *valueJSON `json:"result,omitempty"`
}

func newRun(r admin.RunInfo) runJSON {
	return runJSON{
		Run: r.ID, Status: r.Status, Handler: r.Handler, Priority: r.Priority, Version: r.Version,
		Parent: r.Parent, Owner: r.Owner, Fence: r.Fence, Created: r.Created, Claimed: r.Claimed, Ended: r.Ended,
		Deadline: r.Deadline, Due: r.Due,
		Recoveries: r.Recoveries, Error: r.Error, Panic: r.Panic,
	}
}

// withOutlook adds what becomes of the run.
func (j runJSON) withOutlook(r admin.RunInfo, o admin.Outlook) runJSON {
	j.NoWorker, j.Kept = o.NoWorker(r), o.Kept(r)
	return j
}

// seconds is a duration in seconds.
type seconds time.Duration

// MarshalJSON implements [json.Marshaler].
func (d seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).Seconds()) }

// stepJSON is a step as JSON.
type stepJSON struct {
	Run         string            `json:"run"`
	Step        string            `json:"step"`
	Name        string            `json:"name"`
	Policy      string            `json:"policy,omitempty"`
	MaxAttempts int               `json:"max_attempts,omitempty"` // unless it is not known, or there is none
	Group       string            `json:"group,omitempty"`
	Unit        string            `json:"unit,omitempty"`
	Child       string            `json:"child,omitempty"` // a run
	Pause       admin.Pause       `json:"pause,omitempty"`
	Status      storage.Status    `json:"status"`
	Attempts    int               `json:"attempts"`
	Failures    int               `json:"failures,omitempty"`
	Lost        int               `json:"lost,omitempty"`
	Refusals    int               `json:"refusals,omitempty"`    // by an open breaker
	Interrupted int               `json:"interrupted,omitempty"` // in a row
	Retries     int               `json:"retries,omitempty"`
	Waited      seconds           `json:"waited,omitzero"`
	Next        time.Time         `json:"next,omitzero"`
	First       time.Time         `json:"first,omitzero"`
	Started     time.Time         `json:"started,omitzero"`
	Ended       time.Time         `json:"ended,omitzero"`
	Dead        time.Time         `json:"dead,omitzero"`
	Eligibility admin.Eligibility `json:"eligibility,omitempty"`
	Reason      retry.Reason      `json:"reason,omitempty"`
	Breaker     string            `json:"breaker,omitempty"`   // that has refused the next attempt
	OpenUntil   time.Time         `json:"open_until,omitzero"` // if it was open
	Class       retry.Class       `json:"class,omitempty"`
	Error       string            `json:"error,omitempty"`
	Correlation string            `json:"correlation,omitempty"`
	Key         string            `json:"key"`
	Result      *valueJSON        `json:"result,omitempty"`
}

func newStep(i admin.StepInfo) stepJSON {
	refusal := retry.Refusal{}
	if i.Refusal != nil {
		refusal = *i.Refusal
	}
	return stepJSON{
		Breaker: refusal.Breaker, OpenUntil: refusal.AdmitsAt,
		Run: i.Run, Step: i.Step, Name: i.Name, Policy: i.Policy, Group: i.Group, Unit: i.Unit, Child: i.Child,
		Pause: i.Pause, Status: i.Status, Attempts: i.Attempts,
		Failures: i.Failures, Lost: i.Lost, Refusals: i.Refusals, Interrupted: i.Interrupted, Retries: i.Retries,
		Waited: seconds(i.Waited), Next: i.NextAt, First: i.First, Started: i.Started, Ended: i.Ended, Dead: i.DeadLetter,
		Eligibility: i.Eligibility, Reason: i.Reason,
		Class: i.Class, Error: i.Error, Correlation: i.Correlation, Key: i.Key,
	}
}

// withLimit adds the limit of the policy under which a step of a run was executed.
func (j stepJSON) withLimit(r *admin.RunInfo, i *admin.StepInfo) stepJSON {
	if most := r.Settings(i).MaxAttempts(); most != retry.Unlimited {
		j.MaxAttempts = most
	}
	return j
}

// newPolicies returns the settings of the policies of a run, by their names.
func newPolicies(r *admin.RunInfo) map[string][]map[string]string {
	policies := map[string][]map[string]string{}
	for name, list := range r.Policies {
		for _, settings := range list {
			if settings.Known() {
				policies[name] = append(policies[name], settings.All())
			}
		}
	}
	return policies
}

// attemptJSON is an entry of the history of a step as JSON.
type attemptJSON struct {
	Run         string            `json:"run"`
	Step        string            `json:"step"`
	Attempt     int               `json:"attempt"`
	Outcome     events.Outcome    `json:"outcome"`
	Late        bool              `json:"late,omitempty"`
	Started     time.Time         `json:"started,omitzero"`
	Duration    seconds           `json:"duration,omitzero"`
	Wait        seconds           `json:"wait,omitzero"`
	Reason      retry.Reason      `json:"reason,omitempty"`
	Class       retry.Class       `json:"class,omitempty"`
	Error       string            `json:"error,omitempty"`
	Owner       string            `json:"owner,omitempty"`
	Fence       uint64            `json:"fence,omitempty"`
	Correlation string            `json:"correlation,omitempty"`
	By          string            `json:"by,omitempty"`
	Why         string            `json:"why,omitempty"`
	Timeouts    []json.RawMessage `json:"timeouts,omitempty"`
}

func newAttempt(a admin.AttemptInfo) attemptJSON {
	j := attemptJSON{
		Run: a.Run, Step: a.Step, Attempt: a.Attempt, Outcome: a.Outcome, Late: a.Late, Started: a.Started,
		Duration: seconds(a.Duration), Wait: seconds(a.Wait), Reason: a.Reason, Class: a.Class, Error: a.Error,
		Owner: a.Owner, Fence: a.Fence, Correlation: a.Correlation, By: a.By.Name, Why: a.By.Reason,
	}
	for line := range strings.Lines(a.Timeouts) {
		j.Timeouts = append(j.Timeouts, json.RawMessage(line))
	}
	return j
}

// auditJSON is what an operator did to a run, a budget or a breaker as JSON.
type auditJSON struct {
	Kind   string       `json:"kind"`
	Run    string       `json:"run,omitempty"`
	Name   string       `json:"name,omitempty"`
	Action admin.Action `json:"action"`
	Detail string       `json:"detail,omitempty"`
	At     time.Time    `json:"at"`
	By     string       `json:"by,omitempty"`
	Why    string       `json:"why,omitempty"`
}

func newAudit(a admin.AuditEntry) auditJSON {
	return auditJSON{
		Kind: a.Kind.String(), Run: a.Run, Name: a.Name, Action: a.Action, Detail: a.Detail, At: a.At,
		By: a.By.Name, Why: a.By.Reason,
	}
}

// groupJSON is a group as JSON.
type groupJSON struct {
	Run       string     `json:"run"`
	Group     string     `json:"group"`
	Job       string     `json:"job,omitempty"`
	Began     time.Time  `json:"began,omitzero"`
	Ended     bool       `json:"ended"`
	TimedOut  bool       `json:"timed_out,omitempty"`
	Reason    job.Reason `json:"reason,omitzero"`
	Pending   int        `json:"pending"`
	Succeeded int        `json:"succeeded"`
	Failed    int        `json:"failed"`
	Retries   int        `json:"retries,omitempty"`
	Refused   int        `json:"refused,omitempty"`
}

func newGroup(g admin.GroupInfo) groupJSON {
	return groupJSON{
		Run: g.Run, Group: g.Group, Job: g.JobID, Began: g.Began, Ended: g.Ended, TimedOut: g.TimedOut,
		Reason: g.Decision.Reason, Pending: g.Progress.Pending, Succeeded: g.Progress.Succeeded,
		Failed: g.Progress.Failed, Retries: g.Retries, Refused: g.Refused,
	}
}

// whyJSON is why a run does not go on, as JSON.
type whyJSON struct {
	Cause admin.Cause `json:"cause"`
	Text  string      `json:"text"`
	Until time.Time   `json:"until,omitzero"`
	With  string      `json:"with,omitempty"` // the run that was paused or canceled, if it is another one
	// NoWorker reports that no worker has the handler of a run that waits.
	NoWorker bool `json:"no_worker,omitempty"`
}

// newWhy returns why a run does not go on, or nil if the status says it all.
func newWhy(why admin.Standing) *whyJSON {
	if why.Cause == admin.CauseEnded && why.Root == "" {
		return nil
	}
	return &whyJSON{why.Cause, why.String(), why.Until, why.Root, why.NoWorker}
}
