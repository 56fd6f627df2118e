package main

import (
	"fmt"
	"slices"
)

// This file has the promises: what calls, writes and the end of a history must not show.

// start notes in the ledger that the start of an attempt is recorded.
func (w *world) start(run, step, attempt int) { w.starts[key{run, step, attempt}] = true }

// giveBack notes that the start of attempt 1 is not recorded any more.
func (w *world) giveBack(run int) {
	w.counts.GivenBack++
	w.starts[key{run, 0, 1}] = false
}

// call notes in the ledger that a function is called.
func (w *world) call(x *execution, step, attempt int) {
	k := key{x.run, step, attempt}
	w.counts.Calls++
	w.calls[k]++
	w.print("owner %d calls %+v", x.owner, k)
	r := &w.store.runs[x.run]
	switch {
	case w.calls[k] > 1:
		w.fail("%+v is called %d times", k, w.calls[k])
	case !w.starts[k]:
		w.fail("%+v is called without a recorded start", k)
	case x.owns(r) && r.steps[step].status != open:
		w.fail("%+v is called after its step has ended", k)
	}
	w.checkSeen(x, r, fmt.Sprintf("%+v is called", k))
}

// checkSeen checks that the results are recorded that the function of a run has seen before
// it does something that stays.
func (w *world) checkSeen(x *execution, r *runRow, what string) {
	for i, result := range x.seen {
		if s := &r.steps[i]; s.status != succeeded || s.attempts[len(s.attempts)-1].result != result {
			w.fail("%s with the result %d of step %d of run %d, which is %+v", what, result, i, x.run, s)
		}
	}
}

// fail notes the first promise that is broken.
func (w *world) fail(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf(format, args...)
	}
}

// checkWrite checks what a transaction makes of a run.
func (w *world) checkWrite(i int, old, r *runRow) {
	switch {
	case old.over() && (r.status != old.status || r.result != old.result):
		w.fail("run %d has ended as %s, and is %s", i, old.status, r.status)
	case r.fence < old.fence:
		w.fail("the fence of run %d falls", i)
	case old.awaited && !r.awaited:
		w.fail("run %d forgets that somebody waits for it", i)
	case r.folded && (r.fence == 0 || r.status == failed):
		w.fail("run %d of one row is %s with fence %d", i, r.status, r.fence)
	case r.folded && slices.ContainsFunc(r.steps, func(s step) bool { return len(s.attempts) > 0 }):
		w.fail("run %d has a row of its step, and stands for it", i)
	}
	for j := range r.steps {
		w.checkStep(i, j, old, &old.steps[j], &r.steps[j])
	}
}

func (w *world) checkStep(i, j int, run *runRow, old, s *step) {
	if len(s.attempts) > len(old.attempts)+1 || len(s.attempts) < len(old.attempts) {
		w.fail("step %d of run %d has %d attempts after %d", j, i, len(s.attempts), len(old.attempts))
		return
	}
	if run.status != open && !run.folded && len(s.attempts) > len(old.attempts) {
		w.fail("an attempt of run %d starts, which is %s", i, run.status)
	}
	for n, a := range s.attempts {
		if n < len(old.attempts) && old.attempts[n].outcome != "" && a != old.attempts[n] {
			w.fail("attempt %d of step %d of run %d has ended as %+v, and is %+v", n+1, j, i, old.attempts[n], a)
		}
		if n < len(s.attempts)-1 && (a.outcome == "" || a.outcome == "succeeded") {
			w.fail("attempt %d of step %d of run %d follows %+v", n+2, j, i, a)
		}
	}
}

func (w *world) checkBudget() {
	if w.store.budget > w.store.limit {
		w.fail("%d retries are granted of %d", w.store.budget, w.store.limit)
	}
}

// checkEnd compares the store with the ledger.
func (w *world) checkEnd() {
	granted := 0
	for i := range w.store.runs {
		r := &w.store.runs[i]
		if r.awaited && r.over() && !w.notified[i] {
			w.fail("the end of run %d was not notified", i)
		}
		if r.folded && r.status == succeeded {
			w.counts.Folded++
		}
		for j := range r.steps {
			w.checkStepEnd(i, j, r)
			granted += r.steps[j].granted
		}
		w.countEnd(r)
	}
	if granted != w.store.budget {
		w.fail("the budget has counted %d retries, the steps have %d", w.store.budget, granted)
	}
}

func (w *world) checkStepEnd(i, j int, r *runRow) {
	s := &r.steps[j]
	attempts := len(s.attempts)
	result, ok := 0, s.status == succeeded
	if ok {
		result = s.attempts[attempts-1].result
	} else if r.folded {
		attempts, result, ok = 1, r.result, r.status == succeeded
	}
	if want, acknowledged := w.acknowledged[[2]int{i, j}]; acknowledged && (!ok || result != want) {
		w.fail("step %d of run %d has acknowledged the result %d, and is %+v", j, i, want, s)
	}
	if r.status == succeeded && !ok {
		w.fail("run %d has succeeded, and its step %d has not", i, j)
	}
	if (attempts-1 > s.granted || attempts < s.granted) && !r.folded {
		w.fail("step %d of run %d has %d attempts and %d grants", j, i, attempts, s.granted)
	}
	for k := range w.calls {
		if k.run == i && k.step == j && k.attempt > attempts {
			w.fail("%+v was called, %d attempts are recorded", k, attempts)
		}
	}
	for n := range attempts {
		if w.calls[key{i, j, n + 1}] == 0 {
			w.counts.Uncalled++
		}
		if !r.folded && s.attempts[n].outcome == "lost" {
			w.counts.Lost++
		}
	}
}

func (w *world) countEnd(r *runRow) {
	switch r.status {
	case succeeded:
		w.counts.Succeeded++
	case failed:
		w.counts.Failed++
	case canceled:
		w.counts.Canceled++
	default:
		w.counts.InDoubt++
	}
}
