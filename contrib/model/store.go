package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A status is the state of a run or a step.
type status string

const (
	open      status = "open"
	succeeded status = "succeeded"
	failed    status = "failed"
	inDoubt   status = "in doubt" // of a step whose lost attempt must not be repeated
	paused    status = "paused"   // of a run: by an operator, or with a step in doubt
	canceled  status = "canceled"
)

// A claim identifies the ownership of a run.
type claim struct{ fence, owner int }

// An attempt is recorded with its start.
type attempt struct {
	by      claim
	token   int    // of the start, by which a repeat finds it
	outcome string // "", succeeded, failed or lost
	result  int
}

// A step is a row.
type step struct {
	status   status
	attempts []attempt
	failures int
	lost     int
	granted  int // retries
	nextAt   int
	last     int // token of the last end
}

// A runRow is the row of a run. While folded, it stands for the row of its only step, too:
// attempt 1 has started with the first claim, or has succeeded, if the run has.
type runRow struct {
	version int
	claim          // the owner is 0 if there is none
	job     bool   // its function is its only step
	repeats bool   // lost attempts may be repeated
	holds   bool   // successes wait for the next update
	steps   []step // rows; not yet written, while their attempts are empty
	status  status
	hold    bool // paused by an operator
	folded  bool
	first   claim // that has started attempt 1
	result  int
	ended   int // the fence under which its last execution has ended
	awaited bool
}

func (r *runRow) clone() runRow {
	c := *r
	c.steps = slices.Clone(r.steps)
	for i := range c.steps {
		c.steps[i].attempts = slices.Clone(c.steps[i].attempts)
	}
	return c
}

// String returns what a trace shows of a run.
func (r *runRow) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, version %d, fence %d, owner %d", r.status, r.version, r.fence, r.owner)
	if r.folded {
		b.WriteString(", of one row")
	}
	for i, s := range r.steps {
		if len(s.attempts) > 0 {
			fmt.Fprintf(&b, "; step %d %s:", i, s.status)
		}
		for _, a := range s.attempts {
			fmt.Fprintf(&b, " %s", cmp.Or(a.outcome, "executing"))
		}
	}
	return b.String()
}

func (r *runRow) over() bool {
	return r.status == succeeded || r.status == failed || r.status == canceled
}

// unfold writes the row of the step.
func (r *runRow) unfold() {
	r.steps[0].attempts = []attempt{{by: r.first}}
	r.folded = false
}

// A store has the records.
type store struct {
	now    int
	leases map[int]int // until when, by owner
	runs   []runRow
	budget int // retries that were granted
	limit  int
}

// A tx is a transaction: it sees the records, and writes them at its end.
type tx struct {
	w      *world
	now    int
	runs   map[int]*runRow // copies of those that were selected
	budget int
}

func (w *world) begin() *tx {
	return &tx{w: w, now: w.store.now, runs: map[int]*runRow{}, budget: w.store.budget}
}

// run returns a run, which the transaction may change.
func (t *tx) run(i int) *runRow {
	if t.runs[i] == nil {
		r := t.w.store.runs[i].clone()
		t.runs[i] = &r
	}
	return t.runs[i]
}

// leaseOver reports whether others may claim the runs of an owner. A clock that was set
// back does not make a lease outlive its length.
func (t *tx) leaseOver(owner int) bool {
	leases := t.w.store.leases
	if leases[owner] > t.now+leaseLength {
		leases[owner] = t.now + leaseLength
	}
	return leases[owner] < t.now
}

// grant decides whether a failed or lost attempt is repeated.
func (t *tx) grant(s *step) {
	if t.budget >= t.w.store.limit {
		s.status = failed
		return
	}
	t.budget++
	s.granted++
	s.nextAt = t.now + 2
}

// lose records that the open attempt of an earlier claim is lost.
func (t *tx) lose(r *runRow, s *step) {
	s.attempts[len(s.attempts)-1].outcome = "lost"
	s.lost++
	switch {
	case !r.repeats:
		s.status = inDoubt
	case s.lost >= maxLost:
		s.status = failed
	default:
		t.grant(s)
	}
}

// end records the outcome of the last attempt.
func (t *tx) end(s *step, outcome string, result int) {
	a := &s.attempts[len(s.attempts)-1]
	a.outcome = outcome
	if outcome == "succeeded" {
		s.status, a.result = succeeded, result
		return
	}
	if s.failures++; s.failures >= maxFailures {
		s.status = failed
		return
	}
	t.grant(s)
}

// commit writes what the transaction has changed.
func (t *tx) commit() {
	for i, r := range t.runs {
		t.w.write(i, r, true)
	}
	t.w.store.budget = t.budget
	t.w.checkBudget()
}

// write replaces a run, if it was changed, and notifies those that wait for its end.
func (w *world) write(i int, r *runRow, notify bool) {
	old := &w.store.runs[i]
	if r.equal(old) {
		return
	}
	r.version = old.version + 1
	w.print("run %d: %s", i, r)
	w.checkWrite(i, old, r)
	if notify && r.awaited && r.over() && !old.over() {
		w.notified[i] = true
	}
	w.store.runs[i] = *r
}

// equal reports whether r and o differ at most in their version.
func (r *runRow) equal(o *runRow) bool {
	return r.claim == o.claim && r.status == o.status && r.hold == o.hold && r.folded == o.folded &&
		r.result == o.result && r.ended == o.ended && r.awaited == o.awaited &&
		slices.EqualFunc(r.steps, o.steps, func(a, b step) bool { return a.equal(&b) })
}

func (s *step) equal(o *step) bool {
	return s.status == o.status && s.failures == o.failures && s.lost == o.lost && s.granted == o.granted &&
		s.nextAt == o.nextAt && s.last == o.last && slices.Equal(s.attempts, o.attempts)
}
