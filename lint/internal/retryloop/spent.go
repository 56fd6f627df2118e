package retryloop

import (
	"go/types"
	"iter"
	"maps"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// An Exhaustion is where a function returns no error, or may do so, when the attempts of a
// retry are spent, or its time.
type Exhaustion struct {
	Return *ssa.Return
	How    Hiding
	By     *ssa.Call // what has succeeded, where that is Replaced
}

// A Hiding says how the last error is lost.
type Hiding uint8

// An Unset error is a nil of the source, or of a variable that nothing has set: only the
// source tells which.
const (
	Swallowed Hiding = iota // nil is returned as after a success, unlike errors that are not retried
	Unset                   // nil is returned
	Replaced                // the error of another call is returned
	Living                  // that of a context is, which lives
)

// Exhausted returns how the function of a retry hides that it gives up, or nil.
func (r Retry) Exhausted() *Exhaustion {
	if r.operands == countingOperands || !returnsError(r.Call.Parent()) {
		return nil
	}
	for end := range r.runsOut {
		ret := plainReturn(end.out)
		if ret != nil && r.swallows(end.out, ret) {
			return &Exhaustion{Return: ret, How: Swallowed}
		}
		if ret != nil && !behind(end.out)[r.failed.loop.header] {
			return &Exhaustion{Return: ret, How: Unset}
		}
		ret, ok := terminator(end.out).(*ssa.Return)
		if !ok || r.succeeded.outside()[end.out] {
			continue
		}
		if by := r.replacedBy(returnedError(ret), end.out); by != nil {
			return &Exhaustion{Return: ret, How: Replaced, By: by}
		}
		if end.leavesAlive(endErrorOf(returnedError(ret))) {
			return &Exhaustion{Return: ret, How: Living}
		}
	}
	return nil
}

// A runOut is what ends a loop that has gone on for often or long enough: a counter, a clock,
// a timer, or a context with a time limit.
type runOut struct {
	out *ssa.BasicBlock // follows the loop
	ctx ssa.Value       // if it is a context
}

// leavesAlive reports whether a context may be alive when something else has run out. Of
// several contexts one alone may have a time limit.
func (end runOut) leavesAlive(ctx ssa.Value) bool {
	return ctx != nil && ctx != end.ctx && (end.ctx == nil || withoutLimit(end.ctx) == ctx)
}

// runsOut yields what ends the retry though no attempt has succeeded.
func (r Retry) runsOut(yield func(runOut) bool) {
	if out := r.onlyLimit(); out != nil && !yield(runOut{out: out}) {
		return
	}
	cycle := r.failed.cycle()
	for _, b := range slices.Concat(r.failed.loop.list, r.failed.loop.lastCases()) {
		if end := r.failed.loop.runsOut(b); end != nil && cycle[r.failed.loop.lastIn(b)] && !r.failed.loop.countsAt(b) &&
			!r.failed.loop.asksAnswer(terminator(b).(*ssa.If).Cond, r.Call, 8) && !yield(*end) {
			return
		}
	}
}

// runsOut returns how the loop ends because block b asks whether it has gone on for often or
// long enough, or nil.
func (l *loop) runsOut(b *ssa.BasicBlock) *runOut {
	branch, ok := terminator(b).(*ssa.If)
	if !ok || !l.mayLeave(branch) {
		return nil
	}
	if ctx, ended := endOf(branch); ctx != nil {
		if withoutLimit(ctx) == ctx || l.blocks[ended] {
			return nil
		}
		return &runOut{ended, ctx}
	}
	timed := false
	if sel, n := caseOf(branch.Cond); sel != nil {
		timer := timerOf(sel.States[n].Chan)
		timed = timer != nil && !l.blocks[timer.Block()] && !l.blocks[b.Succs[0]]
	}
	late := readsClock(branch.Cond, 1, map[ssa.Value]bool{}) && !l.asksAnswer(branch.Cond, nil, 8)
	if !timed && !late && !l.countsAt(b) {
		return nil
	}
	i := slices.IndexFunc(b.Succs, func(s *ssa.BasicBlock) bool { return !l.blocks[s] })
	return &runOut{out: b.Succs[i]}
}

// asksAnswer reports whether a condition is made of what a call has returned, or another one of
// the loop that may fail: what it compares with a clock is no limit. It looks depth operands
// deep.
func (l *loop) asksAnswer(cond ssa.Value, of *ssa.Call, depth int) bool {
	instr, ok := cond.(ssa.Instruction)
	if !ok || depth == 0 || !l.blocks[instr.Block()] {
		return false
	}
	if call, ok := cond.(*ssa.Call); ok && (call == of || mayFail(call)) {
		return true
	}
	return slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool {
		return *op != nil && l.asksAnswer(*op, of, depth-1)
	})
}

// countsAt reports whether block b compares a counter.
func (l *loop) countsAt(b *ssa.BasicBlock) bool {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return false
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	return ok && (l.counted(cmp.X) || l.counted(cmp.Y))
}

// swallows reports whether ret, which follows block out, returns nil where the last attempt
// has failed as where one has succeeded, although the function returns the errors that it
// does not retry. Nobody is told.
func (r Retry) swallows(out *ssa.BasicBlock, ret *ssa.Return) bool {
	l := r.failed.loop
	after := behind(out)
	if r.recognised || r.tells() || after[l.header] || r.isKnownIn(after) || l.isAskedIn(after) {
		return false
	}
	succeeded := r.succeeded.outside()
	return (succeeded[ret.Block()] || r.isSuccess(ret, returnsOf(succeeded))) && l.returnsErrors(after)
}

// isSuccess reports whether a return gives back what one of those behind a success does, or
// empty values, where a success has others: but for a false, these say nothing, unless what
// was tried again is only that there was nothing.
func (r Retry) isSuccess(ret *ssa.Return, returns []*ssa.Return) bool {
	return isAmong(ret, returns) ||
		onlyConstants(ret) && !r.saysNo(ret) && !r.goesOnOnlyFor(asksForAbsence) &&
			slices.ContainsFunc(returns, func(other *ssa.Return) bool {
				return isNil(returnedError(other)) && len(ret.Results) == 2
			})
}

// absent names errors that say that there is no such thing.
var absent = regexp.MustCompile(`(?i)not_?(found|exist)|no_?(such|row|document|key)|missing`)

// asksForAbsence reports whether a condition asks whether an error says that there is no such
// thing.
func asksForAbsence(cond ssa.Value) bool {
	if one := sentinelOf(cond); one != nil {
		return absent.MatchString(one.Name())
	}
	asked, ok := cond.(*ssa.Call)
	return ok && absent.MatchString(nameOf(asked))
}

// replacedBy returns the call whose error is returned in block out when the last attempt has
// failed: one that the failure was followed by, and which may have succeeded.
func (r Retry) replacedBy(err ssa.Value, out *ssa.BasicBlock) (by *ssa.Call) {
	for last, at := range r.failed.lastErrors(err, out) {
		by = callOf(last)
		if by == nil || by == r.Call || !r.failed.blocks[by.Block()] || isAnswered(last, at, true) || isNoAttempt(by) ||
			slices.ContainsFunc(by.Common().Args, isErrorValue) {
			return nil
		}
	}
	return by
}

// lastErrors yields what an error that is returned in block out, which follows the loop, is
// after a round that the way has ended, and the blocks that such a round ends with.
func (w way) lastErrors(err ssa.Value, out *ssa.BasicBlock) iter.Seq2[ssa.Value, *ssa.BasicBlock] {
	return func(yield func(ssa.Value, *ssa.BasicBlock) bool) {
		for i, limit := range out.Preds {
			if !w.loop.blocks[limit] {
				continue
			}
			last := err
			if joined, ok := err.(*ssa.Phi); ok && joined.Block() == out {
				last = joined.Edges[i]
			}
			first, ok := last.(*ssa.Phi)
			if !ok || first.Block() != w.loop.header {
				if w.blocks[limit] && !yield(w.chosen(last), limit) {
					return
				}
				continue
			}
			for j, pred := range w.loop.header.Preds {
				if w.enters(pred) && !yield(w.chosen(first.Edges[j]), pred) {
					return
				}
			}
		}
	}
}

func isErrorValue(v ssa.Value) bool { return isError(v.Type()) }

// callOf returns the call that v is a result of, or nil.
func callOf(v ssa.Value) *ssa.Call {
	if x, ok := v.(*ssa.Extract); ok {
		v = x.Tuple
	}
	call, _ := v.(*ssa.Call)
	return call
}

func returnsError(fn *ssa.Function) bool {
	results := fn.Signature.Results()
	return results.Len() > 0 && isError(results.At(results.Len()-1).Type())
}

// onlyLimit returns what follows when the attempts are spent, if one comparison alone
// says so. Another that is the same, or that comes first, hides none.
func (r Retry) onlyLimit() (out *ssa.BasicBlock) {
	var first *ssa.BinOp
	for branch := range r.limits {
		cmp := branch.Cond.(*ssa.BinOp)
		if first != nil && !(cmp.Op == first.Op && cmp.X == first.X && isSameConst(cmp.Y, first.Y)) {
			return nil
		}
		if first != nil && first.Block().Dominates(cmp.Block()) {
			continue
		}
		first, out = cmp, nil
		for _, s := range branch.Block().Succs {
			if !r.failed.loop.blocks[s] {
				out = s
			}
		}
		if out == nil {
			return nil
		}
	}
	return out
}

func isSameConst(a, b ssa.Value) bool {
	n, ok := whole(a)
	m, also := whole(b)
	return ok && also && n == m
}

// tells reports whether a failure tells anybody before the next attempt, or keeps for
// others what it was.
func (r Retry) tells() bool {
	cycle := r.failed.cycle()
	for b := range r.failed.blocks {
		if cycle[b] && slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			call, ok := instr.(*ssa.Call)
			return keeps(instr) ||
				ok && !isBuiltin(call) && !isTimedWait(call) && !isLogged(call) &&
					(call.Common().Signature().Results().Len() == 0 || r.hears(call))
		}) {
			return true
		}
	}
	return false
}

// hears reports whether a call is given the error, or a text of it, and nothing that it
// returns is used.
func (r Retry) hears(call *ssa.Call) bool {
	if len(*call.Referrers()) > 0 ||
		isTold(call) && !isNamed(call.Common().StaticCallee(), "fmt", "Fprint", "Fprintf", "Fprintln") {
		return false
	}
	errs := errorsOf(r.Call)
	of := func(v ssa.Value) bool { return r.failed.loop.concerns(v, errs) }
	return slices.ContainsFunc(call.Common().Args, func(arg ssa.Value) bool {
		list, ok := arg.(*ssa.Slice)
		return of(arg) || ok && slices.ContainsFunc(contents(list.X), of)
	})
}

// isKnownIn reports whether some blocks use the error of the last attempt, or others may.
func (r Retry) isKnownIn(blocks map[*ssa.BasicBlock]bool) bool {
	for err := range errorsOf(r.Call) {
		for _, ref := range *err.Referrers() {
			if store, ok := ref.(*ssa.Store); ok && r.failed.loop.blocks[store.Block()] {
				uses := store.Addr.Referrers()
				if uses == nil || slices.ContainsFunc(*uses, func(use ssa.Instruction) bool { return blocks[use.Block()] }) {
					return true
				}
			}
			if _, debug := ref.(*ssa.DebugRef); !debug && blocks[ref.Block()] && !isOnlyTold(ref, 4) {
				return true
			}
		}
	}
	return false
}

// isAskedIn reports whether some blocks behind the loop ask for anything that it set:
// how it ended.
func (l *loop) isAskedIn(blocks map[*ssa.BasicBlock]bool) bool {
	var isSet func(v ssa.Value, depth int) bool
	isSet = func(v ssa.Value, depth int) bool {
		instr, ok := v.(ssa.Instruction)
		if !ok || depth == 0 {
			return false
		}
		_, joined := v.(*ssa.Phi)
		return joined || l.blocks[instr.Block()] || slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool {
			return *op != nil && isSet(*op, depth-1)
		})
	}
	for b := range blocks {
		if branch, ok := terminator(b).(*ssa.If); ok && isSet(branch.Cond, 8) {
			return true
		}
	}
	return false
}

// outside returns the blocks that can follow when the way has left the loop.
func (w way) outside() map[*ssa.BasicBlock]bool {
	if !w.loop.blocks[w.to] {
		return behind(w.to)
	}
	found := map[*ssa.BasicBlock]bool{}
	for b := range w.blocks {
		for _, s := range b.Succs {
			if !w.loop.blocks[s] {
				maps.Copy(found, behind(s))
			}
		}
	}
	return found
}

func returnsOf(blocks map[*ssa.BasicBlock]bool) (returns []*ssa.Return) {
	for b := range blocks {
		if ret, ok := terminator(b).(*ssa.Return); ok {
			returns = append(returns, ret)
		}
	}
	slices.SortFunc(returns, func(a, b *ssa.Return) int { return a.Block().Index - b.Block().Index })
	return returns
}

// isAmong reports whether one of several returns gives back the same constants as
// ret does.
func isAmong(ret *ssa.Return, returns []*ssa.Return) bool {
	return slices.ContainsFunc(returns, func(other *ssa.Return) bool {
		for i := range ret.Results {
			c, ok := returned(ret, i).(*ssa.Const)
			o, also := returned(other, i).(*ssa.Const)
			if !ok || !also || !types.Identical(c.Type(), o.Type()) || c.String() != o.String() {
				return false
			}
		}
		return true
	})
}
