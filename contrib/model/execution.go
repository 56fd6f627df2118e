package main

import "errors"

var (
	errFenced = errors.New("another engine has claimed the run")
	errEnded  = errors.New("the run was canceled or paused")
	errStore  = errors.New("the store has failed")
)

// An execution executes a run under a claim.
type execution struct {
	claim
	e       *engine
	run     int
	known   runRow // as the claim has stored it
	record  runRow // as its last transaction has left it
	waiting bool
	called  bool // attempt 1, which the claim has started
	now     *started
	held    *heldEnd
	seen    map[int]int // results that the function of the run has seen, by step
}

// A heldEnd is a success that the function of the run has seen, and that the next update of
// the run records.
type heldEnd struct {
	started
	decide      func(t *tx, r *runRow) error
	acknowledge func()
}

// A started attempt is one whose start is recorded, or whose function has returned.
type started struct {
	step, number, token int
}

// advance does the next thing, unless it waits for an update.
func (x *execution) advance() {
	switch {
	case x.waiting:
	case x.now != nil:
		x.call()
	case x.e.w.rand.IntN(100) == 0 && !x.e.w.quiet: // it reads the store, which fails
		x.e.leave(x)
	case x.held != nil && x.e.w.rand.IntN(4) == 0: // it has waited for long enough
		x.update(nil, func(*tx, *runRow) error { return nil }, func() {})
	case x.record.folded && x.fence > 1:
		x.update(nil, x.unfold, func() {})
	case x.record.folded && !x.called:
		x.called = true
		x.now = &started{step: 0, number: 1}
	case x.e.w.bug == "nostart" && x.record.job && x.fence == 1 && !x.called:
		x.called = true
		x.now = &started{step: 0, number: 1}
	default:
		x.next()
	}
}

// unfold writes the row of the step, with attempt 1 of an earlier execution, before this
// one goes on.
func (x *execution) unfold(_ *tx, r *runRow) error {
	defer func() { x.record = r.clone() }()
	switch {
	case !x.owns(r):
		return errFenced
	case r.folded: // or the reply was lost
		if r.unfold(); x.e.w.bug == "forget" {
			r.steps[0].attempts = nil
		}
	}
	return nil
}

// next starts an attempt of the first step that has not ended, or ends the run.
func (x *execution) next() {
	for i := range x.record.steps {
		if x.held != nil && x.held.step == i {
			continue
		}
		if x.record.steps[i].status == open {
			x.start(i)
			return
		}
		if x.record.steps[i].status != succeeded {
			break
		}
	}
	x.update(nil, x.finishRun, func() { x.e.leave(x) })
}

// update puts an update into the queue, which records the held end before. The execution
// ends if it is refused.
func (x *execution) update(known *runRow, decide func(t *tx, r *runRow) error, then func()) {
	x.waiting = true
	h, late := x.held, x.e.w.bug == "late"
	var refused error
	both := decide
	if x.held = nil; h != nil && !late {
		both = func(t *tx, r *runRow) (err error) {
			refused, err = x.both(h, decide, t, r)
			return err
		}
	}
	x.e.enqueue(&item{run: x.run, known: known, decide: both, done: func(err error) {
		x.waiting = false
		if err == nil && h != nil && !late {
			h.acknowledge()
			x.e.w.counts.Held++
		}
		if err != nil || refused != nil {
			x.e.leave(x)
			return
		}
		if h != nil && late {
			x.e.enqueue(&item{run: x.run, decide: h.decide, done: func(error) {}})
		}
		then()
	}})
}

// both records a held end and decides after that. A decision that is refused leaves the end.
func (x *execution) both(
	h *heldEnd, decide func(t *tx, r *runRow) error, t *tx, r *runRow,
) (refused, err error) {
	before := r.clone()
	if err := h.decide(t, r); err != nil {
		return nil, err
	}
	if x.e.w.bug == "blind" {
		*r = before
	}
	recorded := r.clone()
	if refused = decide(t, r); refused != nil {
		*r = recorded
	}
	return refused, nil
}

// owns reports whether the run is owned under this claim.
func (x *execution) owns(r *runRow) bool { return r.claim == x.claim }

// start records the start of an attempt, or that the attempt of an earlier claim is lost.
func (x *execution) start(i int) {
	w := x.e.w
	token := w.token()
	var number int
	decide := func(t *tx, r *runRow) error {
		number = 0
		s := &r.steps[i]
		n := len(s.attempts)
		executing := n > 0 && s.attempts[n-1].outcome == ""
		own := executing && s.attempts[n-1].token == token
		defer func() { x.record = r.clone() }()
		switch {
		case !x.owns(r):
			return errFenced
		case own && w.bug != "norepeat": // the reply was lost
			number = n
		case r.status != open:
			return errEnded
		case s.status != open:
		case executing && !own:
			t.lose(r, s)
		case min(s.nextAt, t.now+2) > t.now: // a clock that was set back does not make a wait longer
		default:
			s.attempts = append(s.attempts, attempt{by: x.claim, token: token})
			number = len(s.attempts)
			w.start(x.run, i, number)
		}
		return nil
	}
	then := func() {
		if number > 0 {
			x.now = &started{i, number, token}
		}
	}
	if w.bug == "early" && len(x.record.steps[i].attempts) == 0 {
		w.call(x, i, 1)
		then = func() {}
	}
	x.update(nil, decide, then)
}

// call calls the function of an attempt, and records how it ends.
func (x *execution) call() {
	w, a := x.e.w, *x.now
	x.now = nil
	w.call(x, a.step, a.number)
	outcome, result := "failed", 0
	if w.rand.IntN(3) > 0 {
		outcome, result = "succeeded", w.token()
	}
	acknowledge := func() {
		if outcome == "succeeded" {
			w.acknowledged[[2]int{x.run, a.step}] = result
			x.see(a.step, result)
		}
	}
	if a.token == 0 { // the claim has started it
		x.endFolded(outcome, result, acknowledge)
		return
	}
	decide := x.ends(a, w.token(), outcome, result)
	if outcome == "succeeded" && w.store.runs[x.run].holds {
		x.see(a.step, result) // before it is acknowledged
		x.held = &heldEnd{a, decide, acknowledge}
		return
	}
	x.update(nil, decide, acknowledge)
}

// see notes the result of a step that the function of the run has seen.
func (x *execution) see(step, result int) {
	if x.seen == nil {
		x.seen = map[int]int{}
	}
	x.seen[step] = result
}

// ends decides about the end of an attempt. token identifies the decision.
func (x *execution) ends(a started, token int, outcome string, result int) func(t *tx, r *runRow) error {
	w := x.e.w
	return func(t *tx, r *runRow) error {
		s := &r.steps[a.step]
		started := s.attempts[a.number-1]
		defer func() { x.record = r.clone() }()
		switch {
		case s.last == token && w.bug != "norepeatend": // the reply was lost
			return nil
		case w.bug == "nofence" || w.bug == "norepeatend" && s.last == token:
		case !x.owns(r) || started.token != a.token || started.outcome != "":
			return errFenced // what an operator may read as evidence
		}
		s.last = token
		t.end(s, outcome, result)
		return nil
	}
}

// endFolded records the end of attempt 1 of a run of one row: that of the run, if it has
// succeeded.
func (x *execution) endFolded(outcome string, result int, acknowledge func()) {
	w := x.e.w
	token := w.token()
	leave := false
	decide := func(t *tx, r *runRow) error {
		defer func() { x.record = r.clone() }()
		leave = false
		switch s := &r.steps[0]; {
		case outcome == "succeeded" && r.status == succeeded && r.ended == x.fence, s.last == token: // the reply was lost
			leave = r.ended == x.fence
			return nil
		case w.bug == "nofence":
		case !x.owns(r) || !r.folded:
			return errFenced
		}
		if outcome == "succeeded" && r.status == open {
			r.status, r.result, r.owner, r.ended, leave = succeeded, result, 0, x.fence, true
			return nil
		}
		if r.status != open && w.bug == "drop" {
			r.folded, r.owner, r.ended, leave = false, 0, x.fence, true
			return nil
		}
		r.unfold()
		r.steps[0].last = token
		t.end(&r.steps[0], outcome, result)
		if r.status != open {
			r.owner, r.ended, leave = 0, x.fence, true
		}
		return nil
	}
	var known *runRow
	if outcome == "succeeded" {
		known = &x.known
	}
	x.update(known, decide, func() {
		acknowledge()
		if leave {
			x.e.leave(x)
		}
	})
}

// finishRun records the end of a run whose steps have rows.
func (x *execution) finishRun(_ *tx, r *runRow) error {
	switch {
	case r.ended == x.fence: // the reply was lost
		return nil
	case !x.owns(r):
		return errFenced
	}
	r.owner, r.ended = 0, x.fence
	if r.status != open {
		return nil
	}
	r.status = succeeded
	x.e.w.checkSeen(x, r, "the run ends")
	for i := range r.steps {
		switch r.steps[i].status {
		case failed:
			r.status = failed
		case inDoubt:
			r.status = paused
		case succeeded:
			r.result = r.steps[i].attempts[len(r.steps[i].attempts)-1].result
		}
		if r.status != succeeded {
			break
		}
	}
	return nil
}
