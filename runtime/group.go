package retry

import "time"

// Defaults of the fields of [BestEffort].
const (
	DefaultMinSuccess         = 1
	DefaultBestEffortDeadline = 300 * time.Second
	MaxBestEffortDeadline     = 3600 * time.Second
	DefaultCheckEvery         = 5 * time.Second
)

// A GroupPolicy says how work that fans out over units ends. It is plain data.
type GroupPolicy struct {
	// Name of the group in errors and events.
	Name string
	// Units is how many there are, if that is known beforehand.
	Units int
	// Timeout limits the work of the whole group. Zero means no limit.
	Timeout time.Duration
	// Budget counts the retries of all units. Nil means no limit.
	Budget *JobBudgetPolicy
	// BestEffort lets the group end before every unit has. Nil means that it
	// waits for all of them.
	BestEffort *BestEffort
}

// A BestEffort says when enough units have succeeded. The zero value of every
// field means its default.
type BestEffort struct {
	// MinSuccess is how many units must succeed. Zero means 1.
	MinSuccess int
	// Deadline ends the group, whatever has succeeded until then. Zero means 5
	// minutes; more than an hour is clamped to an hour.
	Deadline time.Duration
	// Late says what becomes of the results of the other units.
	Late Late
	// CheckEvery is how often the deadline is looked at. Zero means 5s.
	CheckEvery time.Duration
}

// A Late says what becomes of results behind the one that was enough.
type Late uint8

// The ways with late results.
const (
	LogOnly      Late = iota // the other units are canceled, their results logged; the default
	UpdateResult             // a provisional result is released once, later ones fold into the final one
)

var lateNames = [...]string{"log_only", "update_result"}

// String returns the name in a policy file.
func (l Late) String() string {
	if int(l) < len(lateNames) {
		return lateNames[l]
	}
	return "unknown"
}

// Effective returns b with every default written out.
func (b BestEffort) Effective() BestEffort {
	b.MinSuccess = orDefault(b.MinSuccess, DefaultMinSuccess)
	b.Deadline = min(orDefault(b.Deadline, DefaultBestEffortDeadline), MaxBestEffortDeadline)
	b.CheckEvery = orDefault(b.CheckEvery, DefaultCheckEvery)
	return b
}
