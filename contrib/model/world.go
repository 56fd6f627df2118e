package main

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// A world is one history: a store, three processes, what is on its way between them, and
// a ledger outside of the store, of what was called and acknowledged.
type world struct {
	rand    *rand.Rand
	bug     string
	store   store
	engines [3]*engine
	network []func() // statements whose senders do not wait for them any more
	owners  int      // the last owner
	tokens  int      // the last token
	quiet   bool     // there are no more faults

	calls        map[key]int
	starts       map[key]bool
	acknowledged map[[2]int]int // results, by run and step
	notified     map[int]bool

	counts  counts
	trace   io.Writer // of what happens, or nil
	problem string
}

// A key identifies an attempt.
type key struct{ run, step, attempt int }

// Counts are what histories have covered.
type counts struct {
	Calls, Folded, GivenBack, Lost, Uncalled, Swapped, Shared, LostReplies, Held int
	Succeeded, Failed, Canceled, InDoubt                                         int
}

func (c *counts) fields() []*int {
	return []*int{
		&c.Calls, &c.Folded, &c.GivenBack, &c.Lost, &c.Uncalled, &c.Swapped, &c.Shared, &c.LostReplies, &c.Held,
		&c.Succeeded, &c.Failed, &c.Canceled, &c.InDoubt,
	}
}

func (c *counts) add(o *counts) {
	for i, field := range o.fields() {
		*c.fields()[i] += *field
	}
}

func (c *counts) String() string {
	return fmt.Sprintf(`%d calls, %d attempts lost, %d recorded and not called, %d given back
%d runs of one row to the end, %d ends in one statement, %d updates shared a transaction, %d replies lost after a commit
%d held ends recorded with another decision
runs: %d succeeded, %d failed, %d canceled, %d in doubt
`, c.Calls, c.Lost, c.Uncalled, c.GivenBack, c.Folded, c.Swapped, c.Shared, c.LostReplies, c.Held,
		c.Succeeded, c.Failed, c.Canceled, c.InDoubt)
}

const runsOfWorld = 4

func newWorld(seed uint64, bug string) *world {
	w := &world{
		rand: rand.New(rand.NewPCG(seed, 35)), bug: bug,
		calls: map[key]int{}, starts: map[key]bool{}, acknowledged: map[[2]int]int{}, notified: map[int]bool{},
	}
	w.store = store{leases: map[int]int{}, limit: 2 + w.rand.IntN(12), runs: make([]runRow, runsOfWorld)}
	for i := range w.store.runs {
		r := &w.store.runs[i]
		r.version, r.status, r.job, r.repeats = 1, open, w.rand.IntN(3) > 0, w.rand.IntN(4) > 0
		r.steps, r.holds = make([]step, 2), r.repeats && w.rand.IntN(2) == 0
		if r.job {
			r.steps = r.steps[:1]
		}
		for j := range r.steps {
			r.steps[j].status = open
		}
	}
	for i := range w.engines {
		w.boot(i)
	}
	return w
}

// boot starts a process in the place of one that dies.
func (w *world) boot(i int) {
	w.owners++
	w.print("a process starts as owner %d", w.owners)
	w.engines[i] = &engine{w: w, owner: w.owners, executed: map[int]claim{}}
	w.engines[i].renew()
}

func (w *world) token() int {
	w.tokens++
	return w.tokens
}

// live lets the history happen: for some time with faults, and then until all runs
// have ended.
func (w *world) live() {
	trouble := 50 + w.rand.IntN(400)
	for tick := 0; w.problem == ""; tick++ {
		w.quiet = tick > trouble
		if w.quiet && w.over() {
			break
		}
		if tick > trouble+5000 {
			w.fail("the history does not end: %+v", w.store)
			return
		}
		if w.rand.IntN(3) == 0 {
			w.store.now++
		}
		i := w.rand.IntN(len(w.engines))
		if !w.quiet {
			w.disturb(i)
		}
		e := w.engines[i]
		if e.stopped = e.stopped && !w.quiet && w.rand.IntN(25) > 0; !e.stopped {
			e.act()
		}
		if n := len(w.network); n > 0 && (w.quiet || w.rand.IntN(20) == 0) {
			statement := w.network[0]
			w.network = w.network[1:]
			if w.rand.IntN(3) > 0 { // or it is lost
				statement()
			}
		}
	}
	if w.problem == "" {
		w.checkEnd()
	}
}

// disturb does what may happen to a process, a run or the clock.
func (w *world) disturb(engine int) {
	switch w.rand.IntN(150) {
	case 0:
		w.boot(engine)
	case 1, 2:
		w.engines[engine].stopped = true
	case 3:
		if w.rand.IntN(3) == 0 {
			w.store.now += 40 * (1 - 2*w.rand.IntN(2)) // the clock is set
		}
	case 4:
		w.operate(w.rand.IntN(runsOfWorld), w.rand.IntN(4))
	case 5:
		i := w.rand.IntN(runsOfWorld)
		t := w.begin()
		if r := t.run(i); !r.over() {
			r.awaited = true
		}
		t.commit()
	}
}

// operate does what an operator does to a run.
func (w *world) operate(i, what int) {
	t := w.begin()
	r := t.run(i)
	switch {
	case r.over():
	case what == 0:
		r.status, r.hold = canceled, false
	case r.status == open:
		r.status, r.hold = paused, true
	case r.hold:
		r.status, r.hold = open, false
	}
	t.commit()
}

// over reports whether all runs have ended. It resumes those that an operator has paused.
func (w *world) over() bool {
	over := len(w.network) == 0
	for i := range w.store.runs {
		r := &w.store.runs[i]
		if r.hold {
			w.operate(i, 1)
		}
		over = over && (r.over() || r.status == paused)
	}
	for _, e := range w.engines {
		over = over && len(e.executions) == 0
	}
	return over
}

// A fault is what happens to a transaction.
type fault int

const (
	none       fault = iota
	rejected         // nothing is written
	lostBefore       // nothing is written, and the caller does not know
	lostAfter        // all is written, and the caller does not know
)

func (w *world) fault() fault {
	if n := w.rand.IntN(40); !w.quiet && n <= int(lostAfter) {
		return fault(n)
	}
	return none
}

// print adds a line to the trace.
func (w *world) print(format string, args ...any) {
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%4d  "+format+"\n", append([]any{w.store.now}, args...)...)
	}
}
