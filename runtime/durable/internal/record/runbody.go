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

// Run is a run without the fields of its record that stores interpret. Most runs have
// nothing in their body, which is thus neither written nor decoded.
type Run struct {
	// These are in fields of their own of the record: see columns.
	Claimed  time.Time `json:"-"` // by its last owner
	Ended    time.Time `json:"-"`
	Deadline time.Time `json:"-"`
	Input    *Payload  `json:"-"` // of the function that a worker calls
	Result   *Payload  `json:"-"`

	Version   int           `json:"version,omitempty"`
	Unlimited bool          `json:"unlimited,omitempty"` // the timeout of its handler does not apply
	Start     time.Time     `json:"start,omitzero"`      // from which its timeout counts, if it follows its creation
	Retention time.Duration `json:"keep,omitempty"`      // of its results; 0: by default
	// FailedRetention is Retention for runs that end without success.
	FailedRetention time.Duration `json:"keep_failed,omitempty"`
	Parent          string        `json:"parent,omitempty"`
	Unit            *Member       `json:"unit,omitempty"`  // of a group of the parent, which the run is
	Woken           bool          `json:"woken,omitempty"` // by the end of such a run, while it was executed
	// Correlation is the id of the span in which it was created, or "".
	Correlation string `json:"correlation,omitempty"`
	// Awaiting is the latest fence whose execution, in the process that has called
	// Run, has waited for other runs.
	Awaiting uint64 `json:"awaiting,omitempty"`
	// Policies are the settings of the policies under which steps were executed, by
	// the names of the policies: several of one name after its policy file was changed.
	Policies map[string][]retry.Settings `json:"policies,omitempty"`
	// Awaits are the runs until whose end a parked run waits.
	Awaits []string `json:"awaits,omitempty"`
	// Awaiters are the runs that are parked until this one has ended.
	Awaiters []string `json:"awaiters,omitempty"`
	// Recoveries is the number of crashes since the last record of a step that the
	// run may have caused: see crash.go of package durable.
	Recoveries int `json:"recoveries,omitempty"`
	Recovered  int `json:"recovered,omitempty"` // all crashes
	// Panic is the text of the panic that was the last crash that the run may have caused.
	// It is "" if that crash was no panic, and after a success.
	Panic string `json:"panic,omitempty"`
	// Spared are the latest fences whose executions a shutdown or another run has
	// ended.
	Spared []uint64 `json:"spared,omitempty"`
	Budget bool     `json:"budget,omitempty"` // its retries are limited by a record
	// LacksBudget says that they are to be limited, from the first execution on.
	LacksBudget bool `json:"lacks_budget,omitempty"`
	Imports     int  `json:"imports,omitempty"` // transactions that have imported steps
	Job         *Job `json:"job,omitempty"`     // the step that the run is, and that has no record
	// Abandoned says that the run has succeeded without steps or units that it had begun.
	Abandoned bool `json:"abandoned,omitempty"`
	// Tail says that more steps follow the end of the run than one transaction has
	// changed: see tail.go of package namespace.
	Tail  bool   `json:"tail,omitempty"`
	Error string `json:"error,omitempty"` // of a failed run
	Hold  *Hold  `json:"hold,omitempty"`  // why an operator has paused it
	// CanceledWith is the run that an operator has canceled, with this one as its child.
	CanceledWith string `json:"canceled_with,omitempty"`
	Operated     string `json:"operated,omitempty"` // the token of the last operation
}

// load takes the fields of the record that are not in its body.
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

// A Hold is why a run is paused: see admin.Client.Pause.
type Hold struct {
	By   events.Operator `json:"by,omitzero"`
	Root string          `json:"root"`         // the run that was named: this one, or an ancestor
	Due  time.Time       `json:"due,omitzero"` // of the run when it was paused
}

// A Member is a unit of a group, as its steps know it.
type Member struct {
	Run    string `json:"run"` // of the group
	Group  string `json:"group"`
	Step   string `json:"step"` // the id of the unit's record
	Unit   string `json:"unit"`
	Name   string `json:"name"` // of the group's policy
	JobID  string `json:"job_id,omitempty"`
	Budget bool   `json:"budget,omitempty"` // the group limits the retries of its units
}

// Spare notes that the execution under a fence was ended by a shutdown or by another
// run: its attempts are not lost, but interrupted.
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

// End ends a run at a time, from which on its results are kept for a while.
func (b *Run) End(r *storage.Record, status storage.Status, now time.Time) {
	r.Status, r.Due, b.Ended = status, now.Add(b.RetentionAfter(status)), now
}

// ChildPrefix begins the ids of the steps that record the children of a run. No id of a
// call has it: their escapes are hexadecimal.
const ChildPrefix = "%start/"

// Month returns the bucket of a run that was created at the given time.
func Month(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }

// Limit sets the deadline of a run that starts at a time. A timeout of 0 sets none.
func (b *Run) Limit(timeout time.Duration, start time.Time) {
	if timeout > 0 {
		b.Deadline = start.Add(timeout)
	}
}

// Earlier reports whether a is before b, where zero is later than all times.
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

// HasTail reports whether the tail of a run explains an unfinished step.
func HasTail(run storage.Record) bool {
	b, err := Decode[Run](run)
	return err == nil && b.Tail
}

// Incarnation is the body of the record of the accepted incarnation.
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

// DueNow makes a run due at once.
func DueNow(r *storage.Record, now time.Time) {
	if r.Due.IsZero() || r.Due.After(now) {
		r.Due = now
	}
}

// How long the results of a run are kept by default.
const (
	DefaultRetention       = 30 * 24 * time.Hour
	DefaultFailedRetention = 90 * 24 * time.Hour
)

// MaxRecoveries is the number of crashes of a run, without a record of a step in
// between, after which it is paused.
const MaxRecoveries = 10
