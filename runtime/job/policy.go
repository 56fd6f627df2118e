package job

import "time"

// A GroupPolicy defines when work that fans out over units ends. It is plain
// data.
type GroupPolicy struct {
	// Name of the group in events.
	Name string
	// Units is their number, if it is known beforehand. Only the rules for
	// policies read it.
	Units int
	// Timeout limits the work of the whole group. Zero means no limit.
	Timeout time.Duration
	// Budget counts the retries of all units. Nil means no limit.
	Budget *BudgetPolicy
	// BestEffort lets the group end before every unit has reported. Nil means
	// that it waits for all of them.
	BestEffort *BestEffort
}

// MaxDeadline is the longest deadline of best effort.
const MaxDeadline = time.Hour

// Defaults of the fields of [BestEffort].
const (
	defaultMinSuccess = 1
	defaultDeadline   = 5 * time.Minute
	defaultCheckEvery = 5 * time.Second
)

// A BestEffort defines how many successes are enough. A field that is not above
// zero means its default.
type BestEffort struct {
	// MinSuccess is the number of units that must succeed. The default is 1; a
	// number above that of the units means all of them.
	MinSuccess int
	// Deadline ends the group with the results until then. It counts from the
	// beginning of the run. The default is 5 minutes, the most [MaxDeadline].
	Deadline time.Duration
	// Late defines what happens to results after MinSuccess is reached.
	Late Late
	// CheckEvery is the longest time between two looks at the deadline. The
	// default is 5 seconds.
	CheckEvery time.Duration
}

// Effective returns b with every default written out, and the deadline clamped.
func (b BestEffort) Effective() BestEffort {
	b.MinSuccess = positiveOr(b.MinSuccess, defaultMinSuccess)
	b.Deadline = min(positiveOr(b.Deadline, defaultDeadline), MaxDeadline)
	b.CheckEvery = positiveOr(b.CheckEvery, defaultCheckEvery)
	return b
}

// A Late defines what happens to results that arrive after enough units have
// succeeded.
type Late uint8

const (
	LateLog    Late = iota // the other units are canceled, their results observed and dropped; the default
	LateUpdate             // a provisional result is released once; later results become part of the final one
)

var lateNames = [...]string{LateLog: "log_only", LateUpdate: "update_result"}

// String returns the name in a policy file.
func (l Late) String() string {
	if int(l) < len(lateNames) {
		return lateNames[l]
	}
	return "unknown"
}

func positiveOr[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}
