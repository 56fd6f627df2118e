package job

import "time"

// A GroupPolicy defines when work that fans out over units ends. It is plain
// data.
type GroupPolicy struct {
	// Name is the name of the group in events.
	Name string
	// Units is the number of units if it is known in advance, or 0. Only the
	// checks of policy files use it.
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

// A BestEffort defines how many successes are enough. It is plain data. A number
// that is zero or negative means its default.
type BestEffort struct {
	// MinSuccess is the number of units that must succeed. The default is 1; a
	// number above that of the units means all of them.
	MinSuccess int
	// Deadline is the time from the start of the run after which the group ends
	// with the results so far. The default is 5 minutes, the maximum
	// [MaxDeadline].
	Deadline time.Duration
	// Late defines what happens to results after MinSuccess is reached.
	Late Late
	// CheckEvery is the longest time between two checks of the deadline. The
	// default is 5 seconds.
	CheckEvery time.Duration
}

// Effective returns a copy of b with every default set, and with Deadline clamped
// to [MaxDeadline].
func (b BestEffort) Effective() BestEffort {
	b.MinSuccess = positiveOr(b.MinSuccess, defaultMinSuccess)
	b.Deadline = min(positiveOr(b.Deadline, defaultDeadline), MaxDeadline)
	b.CheckEvery = positiveOr(b.CheckEvery, defaultCheckEvery)
	return b
}

// A Late defines what happens to results that arrive after enough units have
// succeeded.
type Late uint8

// What happens to late results.
const (
	LateLog    Late = iota // other units are canceled, late results are reported and dropped; the default
	LateUpdate             // Run passes on a provisional outcome once; late results are part of the final one
)

var lateNames = [...]string{LateLog: "log_only", LateUpdate: "update_result"}

// String returns the name in a policy file.
func (l Late) String() string {
	if int(l) < len(lateNames) {
		return lateNames[l]
	}
	return "unknown"
}

// positiveOr returns n, or otherwise if n is not positive.
func positiveOr[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}
