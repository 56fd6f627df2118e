package retryloop

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Skips returns the remote calls of loops that go on after a success, of which a
// failure leads back to the same call at once. A loop may wait between one round and
// the next where it succeeds, which the way of the failure misses.
func Skips(fn *ssa.Function, n Network) (found []*ssa.Call) {
	for _, l := range loops(fn) {
		if l.items() {
			continue
		}
		for _, b := range l.list {
			if l.innermost[b] != l {
				continue
			}
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok && (l.skips(call, n) || l.acceptsAtOnce(call)) {
					found = append(found, call)
				}
			}
		}
	}
	return found
}

// sender names what a program that makes load does again and again.
var sender = regexp.MustCompile(`(?i)^(send|write|publish|produce|push|put|post|exec|do$|run|call|ping)`)

// beginsWith reports whether the loop makes a call first of all in each round, and begins
// the next after a success and a failure alike, unless somebody stops it.
func (l *loop) beginsWith(call *ssa.Call, failed, succeeded way) bool {
	if sender.MatchString(nameOf(call)) {
		return false
	}
	onlyStops := func(b *ssa.BasicBlock) bool {
		branch, ok := terminator(b).(*ssa.If)
		return ok && (!l.mayLeave(branch) || contextAsked(branch.Cond) != nil || whenStopped(b) != nil) ||
			!ok && len(b.Succs) > 0
	}
	for b := range succeeded.blocks {
		if !onlyStops(b) {
			return false
		}
	}
	for b := range failed.cycle() {
		if !onlyStops(b) {
			return false
		}
	}
	for b := range l.between(l.header, call.Block()) {
		for _, instr := range b.Instrs {
			before, ok := instr.(*ssa.Call)
			if ok && before != call && !isBuiltin(before) && !isRebuilt(before) && !isMade(before) && !isTold(before) &&
				!isPartOf(before) && !isGotten(before) && !asksContext(before) {
				return false
			}
		}
	}
	return succeeded.returns()
}

func (l *loop) skips(call *ssa.Call, n Network) bool {
	if isNoAttempt(call) || isRebuilt(call) || isMade(call) || isAccept(call) || isTaker(call) ||
		waiter.MatchString(nameOf(call)) || !n.isRemote(call) || sleepsWithin(call.Common().StaticCallee(), 3) {
		return false
	}
	errs := errorsOf(call)
	for _, b := range l.list {
		branch, failing, succeeding := l.branchOn(b, errs)
		if branch == nil {
			continue
		}
		failed, succeeded := l.way(b, failing), l.way(b, succeeding)
		same, counted := failed.repeats(call)
		r := Retry{Call: call, failed: failed, succeeded: succeeded}
		if !failed.returnsTo(call) || !same || counted || progresses(call, failed) ||
			!succeeded.waitsUnlessItFails() && !l.beginsWith(call, failed, succeeded) &&
				!(succeeded.isContested(call) && r.insists()) {
			continue
		}
		_, isRetry := l.retry(call)
		return !isRetry && !r.Waits() && !r.corrects() && !r.movesOn() && !r.timesOut() && !failed.alters(call)
	}
	return false
}

// isContested reports whether the way, behind a success of a call, comes back to the header
// only where another call, which may fail as well, answers that it has not done what the
// loop is for: somebody else was faster. Else it leaves the loop. What is made on the answer
// itself is made on another connection each time.
func (w way) isContested(call *ssa.Call) bool {
	back := w.returning()
	return slices.ContainsFunc(w.loop.list, func(b *ssa.BasicBlock) bool {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !back[b] || isErrorAnswer(branch.Cond) {
			return false
		}
		done := asked(branch.Cond)
		return done != nil && w.blocks[done.Block()] && mayFail(done) && !isResultOf(done, call, 8) &&
			slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool {
				return len(w.loop.wayWithout(edge{b, s}, w.from, w.to).returning()) == 0
			})
	})
}

// asked returns the call that a condition asks an answer of, or a part of it, or nil.
func asked(cond ssa.Value) *ssa.Call {
	if cmp, ok := cond.(*ssa.BinOp); ok {
		cond = cmp.X
	}
	return callOf(root(cond))
}

// acceptsAtOnce reports whether the loop takes the next connection again at once after an
// error that is only temporary: that of a system which has no room for it yet, and
// says so until it has. A deadline of the listener is a wait.
func (l *loop) acceptsAtOnce(call *ssa.Call) bool {
	if !isAccept(call) || l.setsDeadline() {
		return false
	}
	errs := errorsOf(call)
	for _, b := range l.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !asksIfTemporary(branch.Cond, errs) {
			continue
		}
		failed := l.way(b, b.Succs[0])
		r := Retry{Call: call, failed: failed}
		if failed.returns() && !r.Waits() {
			return true
		}
	}
	return false
}

func (l *loop) setsDeadline() bool {
	return l.anyInstr(func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		return ok && strings.HasPrefix(nameOf(call), "Set") && strings.HasSuffix(nameOf(call), "Deadline")
	})
}

// asksIfTemporary reports whether a condition asks one of some errors, or a function
// for it, whether it is temporary.
func asksIfTemporary(cond ssa.Value, errs map[ssa.Value]bool) bool {
	asked, ok := cond.(*ssa.Call)
	if !ok || !strings.Contains(nameOf(asked), "Temporary") {
		return false
	}
	if of := receiverOf(asked); of != nil {
		if x, ok := of.(*ssa.Extract); ok {
			of = x.Tuple
		}
		if asserted, ok := of.(*ssa.TypeAssert); ok {
			of = asserted.X
		}
		return errs[of]
	}
	return isGivenOne(asked, errs)
}
