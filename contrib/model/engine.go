package main

import "slices"

const (
	slots       = 2 // runs that an engine executes at a time
	leaseLength = 10
	maxFailures = 3 // of a step
	maxLost     = 3
	maxRepeats  = 2 // of a batch whose reply was lost
)

// An engine is a process.
type engine struct {
	w          *world
	owner      int // a new one for each start of the process
	stopped    bool
	executions []*execution
	executed   map[int]claim // the last claim of each run that it has executed
	claimed    []claimed     // whose reply is on its way
	queue      []*item
	repeats    int  // of the batch, which is the whole queue
	alone      bool // after the store has rejected a batch
}

// A claimed run is in the reply to a claim.
type claimed struct {
	run    int
	record runRow // as it is stored
}

// act does one thing that the process may do now.
func (e *engine) act() {
	due := e.w.store.leases[e.owner]-e.w.store.now < leaseLength/2
	switch n := e.w.rand.IntN(10); {
	case n == 0, due && (e.w.quiet || n < 8): // or the renewal has failed
		e.renew()
	case n <= 2 && len(e.claimed) > 0:
		e.execute()
	case n == 3:
		e.claim()
	case n <= 6 && len(e.queue) > 0:
		e.send()
	case len(e.executions) > 0:
		e.executions[e.w.rand.IntN(len(e.executions))].advance()
	}
}

func (e *engine) execution(run int) *execution {
	i := slices.IndexFunc(e.executions, func(x *execution) bool { return x.run == run })
	if i < 0 {
		return nil
	}
	return e.executions[i]
}

func (e *engine) leave(x *execution) {
	e.executions = slices.DeleteFunc(e.executions, func(y *execution) bool { return x == y })
}

// renew extends the lease, and compares what the engine owns with what it executes. It
// also deletes the leases of others that have ended and own nothing.
func (e *engine) renew() {
	w := e.w
	w.store.leases[e.owner] = w.store.now + leaseLength
	t := w.begin()
	for owner := range w.store.leases {
		owns := func(r runRow) bool { return r.owner == owner }
		if owner != e.owner && t.leaseOver(owner) && !slices.ContainsFunc(w.store.runs, owns) {
			delete(w.store.leases, owner)
		}
	}
	if w.bug != "noreconcile" && (len(e.claimed) == 0 || w.bug == "race") {
		e.reconcile()
	}
}

// reconcile releases the runs that the engine owns and does not execute: the reply to
// the claim was lost, or the end could not be recorded.
func (e *engine) reconcile() {
	for i := range e.w.store.runs {
		if e.w.store.runs[i].owner != e.owner || e.execution(i) != nil {
			continue
		}
		t := e.w.begin()
		r := t.run(i)
		called := e.executed[i] == r.claim
		if r.folded && r.fence == 1 && (!called || e.w.bug == "release") {
			r.folded = false
			e.w.giveBack(i)
		}
		r.owner = 0
		t.commit()
	}
}

// claim claims runs: new ones in one statement, or others with locks.
func (e *engine) claim() {
	free := slots - len(e.executions)
	if free <= 0 || len(e.claimed) > 0 {
		return
	}
	w := e.w
	statement := func() []claimed { return w.claimOthers(e.owner, free) }
	if w.rand.IntN(2) == 0 {
		statement = func() []claimed { return w.claimNew(e.owner, free) }
		if !w.quiet && w.rand.IntN(8) == 0 { // late: the engine does not wait so long
			w.network = append(w.network, func() { statement() })
			return
		}
	}
	got := statement()
	if !w.quiet && w.rand.IntN(12) == 0 { // the reply is lost
		return
	}
	e.claimed = got
}

// claimNew claims new runs of one row. They belong to the owner although the process may
// not wait for the statement any more, or may be dead.
func (w *world) claimNew(owner, limit int) (got []claimed) {
	if _, ok := w.store.leases[owner]; !ok && w.bug != "noself" {
		return nil
	}
	t := w.begin()
	for i := range w.store.runs {
		r := t.run(i)
		if len(got) == limit || !r.job || r.status != open || r.fence > 0 || r.owner != 0 {
			continue
		}
		r.claim = claim{1, owner}
		if w.bug != "nostart" {
			r.folded, r.first = true, r.claim
			w.start(i, 0, 1)
		}
		got = append(got, claimed{run: i})
	}
	t.commit()
	return w.stored(got)
}

// claimOthers claims runs that have no owner, or a dead one.
func (w *world) claimOthers(owner, limit int) (got []claimed) {
	if _, ok := w.store.leases[owner]; !ok {
		return nil
	}
	t := w.begin()
	for i := range w.store.runs {
		r := t.run(i)
		dead := false
		if _, known := w.store.leases[r.owner]; known { // owners are found by their leases
			dead = r.owner != owner && t.leaseOver(r.owner)
		}
		switch {
		case len(got) == limit || r.status != open || r.owner == 0 && r.job && r.fence == 0:
			continue
		case r.owner != 0 && !dead:
			continue
		}
		r.claim = claim{r.fence + 1, owner}
		got = append(got, claimed{run: i})
	}
	t.commit()
	return w.stored(got)
}

// stored adds the records to what was claimed.
func (w *world) stored(got []claimed) []claimed {
	for i := range got {
		got[i].record = w.store.runs[got[i].run].clone()
	}
	return got
}

// execute starts executions of the runs in the reply to a claim.
func (e *engine) execute() {
	for _, c := range e.claimed {
		if e.execution(c.run) != nil {
			continue // it has not left an earlier claim: the next renewal releases this one
		}
		e.executions = append(e.executions, &execution{
			e: e, run: c.run, claim: c.record.claim, known: c.record, record: c.record,
		})
		e.executed[c.run] = c.record.claim
	}
	e.claimed = nil
}

// An item is an update in the queue. A known record is replaced without locks, if that is
// all that decide does.
type item struct {
	run    int
	known  *runRow
	decide func(t *tx, r *runRow) error // called again after a reply was lost
	done   func(error)
}

func (e *engine) enqueue(it *item) { e.queue = append(e.queue, it) }

// send sends the queue as a batch: what is known in one statement, and the rest in one
// transaction.
func (e *engine) send() {
	w := e.w
	if !w.quiet && w.rand.IntN(80) == 0 { // the store fails for longer than callers wait
		e.finish(e.queue, errStore)
		return
	}
	n := len(e.queue)
	if e.alone {
		n = 1
	}
	batch := slices.Clone(e.queue[:n])
	if batch = e.swap(batch); len(batch) == 0 {
		e.repeats, e.alone = 0, false
		return
	}
	switch w.fault() {
	case rejected:
		if e.alone = len(batch) > 1; !e.alone {
			e.finish(batch, errStore)
		}
		return
	case lostBefore:
		e.lost(batch)
		return
	}
	errs := make([]error, len(batch))
	t := w.begin()
	for i, it := range batch {
		errs[i] = t.apply(it)
	}
	t.commit()
	if w.fault() == lostAfter {
		w.counts.LostReplies++
		e.lost(batch)
		return
	}
	e.repeats, e.alone = 0, false
	w.counts.Shared += len(batch) - 1
	for i, it := range batch {
		e.finish([]*item{it}, errs[i])
	}
}

// lost keeps a batch whose reply was lost, to repeat it, or ends it after some repeats.
func (e *engine) lost(batch []*item) {
	if e.repeats++; e.repeats > maxRepeats {
		e.repeats = 0
		e.finish(batch, errStore)
	}
}

// finish removes items from the queue and returns their errors to their callers.
func (e *engine) finish(items []*item, err error) {
	for _, it := range slices.Clone(items) {
		e.queue = slices.DeleteFunc(e.queue, func(o *item) bool { return it == o })
		it.done(err)
	}
}

// apply lets an item decide. It leaves no writes if it refuses.
func (t *tx) apply(it *item) error {
	own := &tx{w: t.w, now: t.now, runs: map[int]*runRow{}, budget: t.budget}
	if t.w.bug == "stale" {
		own.budget = t.w.store.budget
	}
	r := t.run(it.run).clone()
	if err := it.decide(own, &r); err != nil {
		return err
	}
	*t.runs[it.run], t.budget = r, own.budget
	return nil
}

// swap replaces the known records of a batch in one statement, and returns the items that
// have not ended.
func (e *engine) swap(batch []*item) (rest []*item) {
	w := e.w
	var swapping []*item
	var records []runRow
	for _, it := range batch {
		if it.known == nil {
			rest = append(rest, it)
			continue
		}
		own := w.begin()
		r := it.known.clone()
		before := r.clone()
		it.known = nil // one try
		if it.decide(own, &r) != nil || own.budget != w.store.budget || r.awaited && w.bug != "silent" {
			rest = append(rest, it)
			continue
		}
		r.version = before.version + 1
		swapping, records = append(swapping, it), append(records, r)
	}
	if len(swapping) == 0 {
		return rest
	}
	statement := func() (replaced []bool) {
		for i, it := range swapping {
			replaced = append(replaced, w.swapOne(it.run, &records[i]))
		}
		return replaced
	}
	switch f := w.fault(); {
	case f == rejected:
		return batch
	case f == lostBefore: // and perhaps on its way
		w.network = append(w.network, func() { statement() })
		return batch
	case f == lostAfter:
		statement()
		return batch
	}
	for i, ok := range statement() {
		if ok {
			w.counts.Swapped++
			e.finish([]*item{swapping[i]}, nil)
		} else {
			rest = append(rest, swapping[i])
		}
	}
	return rest
}

// swapOne replaces a run whose version is one less. Nobody is notified.
func (w *world) swapOne(i int, r *runRow) bool {
	old := &w.store.runs[i]
	if old.version+1 != r.version && w.bug != "noversion" || old.fence != r.fence || old.owner == 0 {
		return false
	}
	c := r.clone()
	w.write(i, &c, false)
	return true
}
