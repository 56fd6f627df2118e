package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// Defaults of the fields of [BestEffort].
const (
	defaultMinSuccess         = 1
	defaultBestEffortDeadline = 300 * time.Second
	MaxDeadline               = 3600 * time.Second
	defaultCheckEvery         = 5 * time.Second
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
	Budget *BudgetPolicy
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
	LateLog    Late = iota // the other units are canceled, their results logged; the default
	LateUpdate             // a provisional result is released once, later ones fold into the final one
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
	b.MinSuccess = positiveOr(b.MinSuccess, defaultMinSuccess)
	b.Deadline = min(positiveOr(b.Deadline, defaultBestEffortDeadline), MaxDeadline)
	b.CheckEvery = orDefault(b.CheckEvery, defaultCheckEvery)
	return b
}

// A Group is one job whose work fans out over units.
type Group struct {
	policy GroupPolicy
	jobID  string
	budget *Budget
	notify func(Event)
}

// NewGroup returns the group of one job. The error is that of [NewBudget].
func NewGroup(p GroupPolicy, jobID string) (*Group, error) {
	g := &Group{policy: p, jobID: jobID, notify: func(Event) {}}
	if p.Budget != nil {
		budget, err := NewBudget(*p.Budget, 0, 0)
		if err != nil {
			return nil, err
		}
		g.budget = budget
	}
	return g, nil
}

// Observe lets f be told of the group's events. f may be called by several
// goroutines at once. Observe is called before the group is used.
func (g *Group) Observe(f func(Event)) { g.notify = f }

// Budget returns the budget of the job, or nil if it has none.
func (g *Group) Budget() *Budget { return g.budget }

// Unit returns the budget of one unit, for [retry.Policy.BeginWith]. It is nil where
// the group has none.
func (g *Group) Unit(id string) retry.RetryBudget {
	if g.budget == nil {
		return nil
	}
	return &groupUnit{Unit{g.budget, id}, g}
}

// groupUnit is a Unit that tells its group what becomes of it.
type groupUnit struct {
	Unit
	group *Group
}

// Withdraw takes one retry of the unit, or returns why it cannot.
func (u *groupUnit) Withdraw() error {
	err := u.Unit.Withdraw()
	e := Event{Kind: RetryBudgetConsumed, JobID: u.group.jobID, Unit: u.id}
	if err != nil {
		e.Kind, e.Reason = RetryBudgetExhausted, err.Error()
	}
	u.group.notify(e)
	return err
}

// A Decision is what the results so far come to.
type Decision struct {
	Complete    bool // the group has ended, or has a provisional result
	Provisional bool // more results may follow
	Success     bool
	Reason      string  // all_dcs_reported, min_dcs_reached (c/m), deadline_expired (completed: c), waiting
	Ratio       float64 // of the units, how many have succeeded
}

// stands reports whether the decision holds though the context has ended: it is
// not made of units that only ended with it.
func (d Decision) stands() bool {
	return d.Complete && !d.Provisional && (d.Ratio == 1 || d.Reason != allReported)
}

const allReported = "all_dcs_reported"

// progress is what is known of a job's units: the pure part of a group.
type progress struct {
	effort    *BestEffort // nil: all units are waited for
	reported  map[string]bool
	completed int
	released  string // the reason of the provisional result, once it is out
}

// newProgress counts the units as not reported. minSuccess is at most their
// number.
func newProgress(effort *BestEffort, units []string) *progress {
	p := &progress{reported: map[string]bool{}}
	if effort != nil {
		e := effort.Effective()
		e.MinSuccess = min(e.MinSuccess, len(units))
		p.effort = &e
	}
	for _, u := range units {
		p.reported[u] = false
	}
	return p
}

// report counts the result of a unit; another result of the same unit takes
// its place, one of an unknown unit is ignored.
func (p *progress) report(results map[string]bool, unit string, ok bool) {
	if _, known := p.reported[unit]; !known {
		return
	}
	if was, again := results[unit]; again && was {
		p.completed--
	}
	p.reported[unit], results[unit] = true, ok
	if ok {
		p.completed++
	}
}

// decide judges the results at a time since the beginning.
func (p *progress) decide(now time.Duration) Decision {
	d := p.judge(now)
	if p.effort == nil || p.effort.Late != LateUpdate || d.Provisional {
		return d
	}
	enough := d.Complete && p.completed >= p.effort.MinSuccess && !p.all() && now < p.effort.Deadline
	switch {
	case enough && p.released == "":
		p.released, d.Provisional = d.Reason, true
	case enough || p.released != "" && !d.Complete:
		d.Complete, d.Success, d.Reason = false, true, p.released
	}
	return d
}

func (p *progress) all() bool {
	for _, reported := range p.reported {
		if !reported {
			return false
		}
	}
	return true
}

// judge applies the rules of completion in their order.
func (p *progress) judge(now time.Duration) Decision {
	c, d := p.completed, Decision{}
	if len(p.reported) > 0 {
		d.Ratio = float64(c) / float64(len(p.reported))
	}
	late := p.effort != nil && now >= p.effort.Deadline
	switch {
	case p.all():
		d.Complete, d.Success, d.Reason = true, c > 0, allReported
	case p.effort == nil:
		d.Reason = "waiting_for_all_dcs"
	case late && p.released != "":
		d.Complete, d.Success, d.Reason = true, c > 0, fmt.Sprintf("deadline_expired (completed: %d)", c)
	case c >= p.effort.MinSuccess:
		d.Complete, d.Success, d.Reason = true, true, fmt.Sprintf("min_dcs_reached (%d/%d)", c, p.effort.MinSuccess)
	case late:
		d.Complete, d.Success, d.Reason = true, c > 0, fmt.Sprintf("deadline_expired (completed: %d)", c)
	default:
		d.Reason = "waiting"
	}
	return d
}

// An Outcome is the result of a group.
type Outcome[T any] struct {
	Decision
	Results map[string]T     // of the units that have succeeded
	Errors  map[string]error // of those that have failed
}

// errGoexit is the error of a unit that ended its goroutine.
var errGoexit = errors.New("the unit called runtime.Goexit")

// run is a group under way.
type run[T any] struct {
	group     *Group
	begun     time.Time
	announced bool // that the group is complete

	mu       sync.Mutex
	progress *progress
	ok       map[string]bool
	outcome  Outcome[T]
	closed   bool
	changed  chan struct{} // holds one token when a result has come
}

// Run calls op for every unit, each in a goroutine of its own, and returns
// when the group's policy says that they are enough. Units that go on by then
// are canceled; what they still return is observed and goes nowhere. With
// [LateUpdate], provisional is called once with what is enough, and Run
// returns the final result. The error is the cause with which ctx, or the
// timeout of the group, ended it; results so far come with it.
func Run[T any](ctx context.Context, g *Group, units []string, op func(ctx context.Context, unit string) (T, error), provisional func(Outcome[T])) (Outcome[T], error) {
	if g.policy.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, g.policy.Timeout, retry.ErrTimeout)
		defer cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run[T]{group: g, begun: time.Now(), ok: map[string]bool{}, changed: make(chan struct{}, 1)}
	r.progress = newProgress(g.policy.BestEffort, units)
	r.outcome = Outcome[T]{Results: map[string]T{}, Errors: map[string]error{}}
	// Each once, and collected before the first can report.
	for _, unit := range slices.Collect(maps.Keys(r.progress.reported)) {
		go func() {
			var value T
			err := errGoexit
			defer func() { r.report(unit, value, err) }()
			value, err = op(ctx, unit)
		}()
	}
	for {
		outcome, ended, err := r.look(ctx)
		if outcome.Complete {
			r.announce(outcome.Decision)
		}
		if ended {
			return outcome, err
		}
		if outcome.Complete && provisional != nil {
			provisional(outcome)
		}
		r.wait(ctx)
	}
}

// look judges the results so far. What it returns is all of one moment: with
// the decision that ends the run, later results are late.
func (r *run[T]) look(ctx context.Context) (outcome Outcome[T], ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.progress.decide(time.Since(r.begun))
	ended = d.Complete && !d.Provisional
	if ctx.Err() != nil && !d.stands() {
		ended, err = true, context.Cause(ctx)
	}
	r.closed = ended
	if !ended && !d.Complete {
		return Outcome[T]{Decision: d}, false, nil
	}
	return Outcome[T]{Decision: d, Results: maps.Clone(r.outcome.Results), Errors: maps.Clone(r.outcome.Errors)}, ended, err
}

// announce tells of a decision that completes the group, the first time as such.
func (r *run[T]) announce(d Decision) {
	kind := BestEffortCompletion
	if r.announced {
		kind = BestEffortRatio
	}
	r.announced = true
	r.group.notify(Event{Kind: kind, JobID: r.group.jobID, Reason: d.Reason, Ratio: d.Ratio})
}

// wait returns when a result has come, it is time to look at the deadline, or
// ctx has ended.
func (r *run[T]) wait(ctx context.Context) {
	var check <-chan time.Time
	if e := r.progress.effort; e != nil {
		left := max(e.Deadline-time.Since(r.begun), 0)
		timer := time.NewTimer(min(e.CheckEvery, left))
		defer timer.Stop()
		check = timer.C
	}
	select {
	case <-r.changed:
	case <-check:
	case <-ctx.Done():
	}
}

// report takes the result of a unit.
func (r *run[T]) report(unit string, value T, err error) {
	r.mu.Lock()
	closed := r.closed
	late := closed || r.progress.released != ""
	if !closed {
		r.progress.report(r.ok, unit, err == nil)
		if err == nil {
			r.outcome.Results[unit] = value
		} else {
			r.outcome.Errors[unit] = err
		}
	}
	r.mu.Unlock()
	if late {
		outcome := "updated"
		if closed {
			outcome = "logged"
		}
		r.group.notify(Event{Kind: LateDatacenterResult, JobID: r.group.jobID, Unit: unit, Reason: outcome, Err: err})
	}
	select {
	case r.changed <- struct{}{}:
	default: // one token is enough
	}
}
