package record

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Run is the part of a run that stores do not interpret. Most runs have an empty body, which is
// neither written nor decoded.
type Run struct {
	// These values are in their own fields of the record: see columns.
	Claimed  time.Time `json:"-"` // the claim by the last owner
	Ended    time.Time `json:"-"`
	Deadline time.Time `json:"-"`
	Input    *Payload  `json:"-"` // the input of the function that a worker calls
	Result   *Payload  `json:"-"`

	Version   int           `json:"version,omitempty"`
	Unlimited bool          `json:"unlimited,omitempty"` // the timeout of its handler does not apply
	Start     time.Time     `json:"start,omitzero"`      // the start of its timeout, if that is later than its creation
	Retention time.Duration `json:"keep,omitempty"`      // retention period of its results; 0: the default
	// FailedRetention is the retention period of a run that ends without success.
	FailedRetention time.Duration `json:"keep_failed,omitempty"`
	Parent          string        `json:"parent,omitempty"`
	Unit            *Member       `json:"unit,omitempty"`  // the unit that the run executes, in a group of the parent
	Woken           bool          `json:"woken,omitempty"` // a unit has ended, or a signal has arrived, while this run was being executed
	// Correlation is the id of the span in which the run was created, or "".
	Correlation string `json:"correlation,omitempty"`
	// Awaiting is the latest fence under which an execution, in the process that has called
	// Run, has waited for other runs.
	Awaiting uint64 `json:"awaiting,omitempty"`
	// Policies contains the settings of the policies under which steps were executed, by the
	// name of the policy. A name has several settings if its policy file was changed.
	Policies map[string][]retry.Settings `json:"policies,omitempty"`
	// Awaits lists the runs whose ends a parked run waits for.
	Awaits []string `json:"awaits,omitempty"`
	// Awaiters lists the runs that are parked until this run has ended.
	Awaiters []string `json:"awaiters,omitempty"`
	// Recoveries is the number of crashes, since the last record of a step, that the run may
	// have caused: see crash.go of package durable.
	Recoveries int `json:"recoveries,omitempty"`
	Recovered  int `json:"recovered,omitempty"` // the number of all crashes
	// Panic is the text of the panic in the last crash that the run may have caused. It is ""
	// if that crash was not a panic, and after a success.
	Panic string `json:"panic,omitempty"`
	// Spared lists the latest fences whose executions were ended by a shutdown or by another
	// run.
	Spared []uint64 `json:"spared,omitempty"`
	Budget bool     `json:"budget,omitempty"` // a record limits its retries
	// LacksBudget reports that a budget is to limit the retries, beginning with the first
	// execution.
	LacksBudget bool `json:"lacks_budget,omitempty"`
	Imports     int  `json:"imports,omitempty"` // the number of transactions that have imported steps
	Job         *Job `json:"job,omitempty"`     // the step of the run that has no record of its own
	// Abandoned reports that the run has succeeded without some of the steps or units that it
	// had started.
	Abandoned bool `json:"abandoned,omitempty"`
	// Tail reports that the end of the run requires changes to more steps than one transaction
	// has changed: see tail.go of package namespace.
	Tail  bool   `json:"tail,omitempty"`
	Error string `json:"error,omitempty"` // the error of a failed run
	Hold  *Hold  `json:"hold,omitempty"`  // the reason why an operator has paused it
	// CanceledWith is the run that an operator has canceled, and with it this run, which is its
	// child.
	CanceledWith string `json:"canceled_with,omitempty"`
	Operated     string `json:"operated,omitempty"` // the token of the last operation
}

// load sets the fields that are not in the body from the record.
func (b *Run) load(r *storage.Record) {
	b.Claimed, b.Ended, b.Deadline = r.Claimed, r.Ended, r.Deadline
	b.Input, b.Result = payloadOf(r.Input), payloadOf(r.Result)
}

// store is the reverse of load.
func (b *Run) store(r *storage.Record) {
	r.Claimed, r.Ended, r.Deadline = b.Claimed, b.Ended, b.Deadline
	r.Input, r.Result = b.Input.Column(), b.Result.Column()
}

// SameRun reports whether two records of a run have the same [Run].
func SameRun(a, b *storage.Record) bool {
	return a.Claimed.Equal(b.Claimed) && a.Ended.Equal(b.Ended) && a.Deadline.Equal(b.Deadline) &&
		bytes.Equal(a.Body, b.Body) && bytes.Equal(a.Result, b.Result) && bytes.Equal(a.Input, b.Input)
}

// A Hold describes why a run is paused: see admin.Client.Pause.
type Hold struct {
	By   events.Operator `json:"by,omitzero"`
	Root string          `json:"root"`         // the run that the operator has named: this run or an ancestor
	Due  time.Time       `json:"due,omitzero"` // the due time of the run when it was paused
}

// A Member is a unit of a group, as far as its steps know it.
type Member struct {
	Run    string `json:"run"` // the run of the group
	Group  string `json:"group"`
	Step   string `json:"step"` // the id of the unit's record
	Unit   string `json:"unit"`
	Name   string `json:"name"` // the name of the group's policy
	JobID  string `json:"job_id,omitempty"`
	Budget bool   `json:"budget,omitempty"` // the group limits the retries of its units
}

// Spare records that the execution under a fence was ended by a shutdown or by another run. Its
// attempts are then interrupted, not lost.
func (b *Run) Spare(fence uint64) {
	b.Spared = append(slices.Clip(b.Spared), fence)
	b.Spared = b.Spared[max(len(b.Spared)-MaxRecoveries, 0):]
}

// RetentionAfter returns how long the results of a run are kept after it has ended with
// the given status.
func (b *Run) RetentionAfter(status storage.Status) time.Duration {
	if status == storage.StatusSucceeded {
		return cmp.Or(b.Retention, DefaultRetention)
	}
	return cmp.Or(b.FailedRetention, DefaultFailedRetention)
}

// End ends a run at the given time, at which the retention of its results begins.
func (b *Run) End(r *storage.Record, status storage.Status, now time.Time) {
	r.Status, r.Due, b.Ended = status, now.Add(b.RetentionAfter(status)), now
}

// ChildPrefix is the prefix of the ids of the steps that record the children of a run. No id of
// a call begins with it, because the escapes in ids are hexadecimal.
const ChildPrefix = "%start/"

// Month returns the bucket of a run that was created at the given time.
func Month(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }

// Limit sets the deadline of a run whose timeout begins at start. A timeout of 0 sets no
// deadline.
func (b *Run) Limit(timeout time.Duration, start time.Time) {
	if timeout > 0 {
		b.Deadline = start.Add(timeout)
	}
}

// Earlier reports whether a is before b. The zero time is later than all others.
func Earlier(a, b time.Time) bool { return !a.IsZero() && (b.IsZero() || a.Before(b)) }

// WrongTail describes what is wrong with the tail of a run, or returns "".
func WrongTail(r storage.Record, b *Run) string {
	switch {
	case b.Tail && r.Status != storage.StatusSucceeded && r.Status != storage.StatusExpired:
		return "it has steps to abandon or to delete, although it is " + r.Status.String()
	case b.Tail && r.Due.IsZero():
		return "it has steps to abandon or to delete, but is never due: no engine does it"
	}
	return ""
}

// HasTail reports whether the run has a tail, which explains an unfinished step.
func HasTail(run storage.Record) bool {
	b, err := Decode[Run](run)
	return err == nil && b.Tail
}

// Incarnation is the body of the record with the accepted incarnation.
type Incarnation struct {
	Incarnation string    `json:"incarnation"`
	Accepted    time.Time `json:"accepted"`
}

// Accept returns the record of an accepted incarnation.
func Accept(now time.Time, r storage.Record, incarnation string) (storage.Writes, error) {
	r.Bucket = Month(now)
	err := Encode(&r, &Incarnation{Incarnation: incarnation, Accepted: now})
	return storage.Writes{Put: []storage.Record{r}}, err
}

// DueNow makes a run due immediately.
func DueNow(r *storage.Record, now time.Time) {
	if r.Due.IsZero() || r.Due.After(now) {
		r.Due = now
	}
}

// The default retention periods of a run's results.
const (
	DefaultRetention       = 30 * 24 * time.Hour
	DefaultFailedRetention = 90 * 24 * time.Hour
)

// MaxRecoveries is the number of crashes after which a run is paused, if no record of a step is
// written in between.
const MaxRecoveries = 10
