package retryloop

import (
	"go/token"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Poll asks for something, with waits between, until it has the answer that it is for.
type Poll struct {
	Call    *ssa.Call   // what it asks
	Expired *ssa.Return // gives back no error, or may do so, when it has asked for long enough
	How     Hiding      // Replaced: by the last question, which may have been answered
}

// ExpiredPolls returns the polls of fn that end as if they had been answered when a counter,
// a clock or a context ends them, although fn returns the errors of what they ask.
func ExpiredPolls(fn *ssa.Function) (found []Poll) {
	if !returnsError(fn) || !anyInstr(fn, isPause) {
		return nil
	}
	for _, l := range loops(fn) {
		asked := l.looksAt()
		if asked == nil || !l.anyInstr(isPause) || l.anyInstr(keeps) {
			continue
		}
		for _, b := range slices.Concat(l.list, l.lastCases()) {
			if ret, how := l.expiresAt(b, asked); ret != nil {
				found = append(found, Poll{asked, ret, how})
				break
			}
		}
	}
	return found
}

// expiresAt returns what gives back no error, or may do so, when the loop ends because block
// b asks whether it has asked for long enough.
func (l *loop) expiresAt(b *ssa.BasicBlock, asked *ssa.Call) (ret *ssa.Return, how Hiding) {
	end := l.runsOut(b)
	if end == nil {
		end = l.endsLooking(b)
	}
	if end == nil {
		return nil, 0
	}
	if ret := plainReturn(end.out); ret != nil && onlyConstants(ret) && l.answers(ret, b) &&
		l.returnsErrors(behind(end.out)) {
		return ret, Swallowed
	}
	ret, ok := terminator(end.out).(*ssa.Return)
	switch {
	case ok && l.isAnswerless(asked, ret):
		return ret, Replaced
	case ok && end.leavesAlive(endErrorOf(returnedError(ret))):
		return ret, Living
	}
	return nil, 0
}

// isAnswerless reports whether ret gives back the error of the last question, and that is
// nil where another answer came than the one that the loop waits for.
func (l *loop) isAnswerless(asked *ssa.Call, ret *ssa.Return) bool {
	for i := range ret.Results[:len(ret.Results)-1] {
		if !isConst(returned(ret, i)) {
			return false // it gives back the other answer
		}
	}
	errs := errorsOf(asked)
	for _, b := range l.list {
		branch, _, answered := l.branchOn(b, errs)
		if branch == nil {
			continue
		}
		w := l.way(b, answered)
		for last, at := range w.lastErrors(returnedError(ret), ret.Block()) {
			if callOf(last) == asked && w.returns() && !isAnswered(last, at, true) {
				return true
			}
		}
	}
	return false
}

// viewer names what says how something is, and changes nothing.
var viewer = regexp.MustCompile(
	`^_?(?i:get|list|find|lookup|describe|query|load|stat|fetch|inspect|show|head|search|is|has|check|exists)([A-Z_]|$)|(?i:status|state|exists|count|info|inspect)$`)

// looksAt returns the call that only looks, and whose answer ends the loop, if there is one.
func (l *loop) looksAt() *ssa.Call {
	for _, call := range l.repeated() {
		if viewer.MatchString(nameOf(call)) && mayFail(call) && (l.fills(call) || l.goesOnBy(call)) {
			return call
		}
	}
	return nil
}

// keeps reports whether an instruction tells somebody, or keeps for others, what a round
// has found.
func keeps(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Send, *ssa.MapUpdate, *ssa.Go, *ssa.Defer:
		return true
	case *ssa.Store:
		_, local := root(instr.Addr).(*ssa.Alloc)
		return !local
	}
	return false
}

// onlyConstants reports whether a return gives back nothing but constants.
func onlyConstants(ret *ssa.Return) bool { return isAmong(ret, []*ssa.Return{ret}) }

// endsLooking returns how the loop ends because a context that fn is given has ended, where
// nothing but to look is done until then: what does more may be told to stop by that.
func (l *loop) endsLooking(b *ssa.BasicBlock) *runOut {
	branch, ok := terminator(b).(*ssa.If)
	if !ok || l.header.Parent().Parent() != nil {
		return nil
	}
	ctx, ended := endOf(branch)
	if _, given := ctx.(*ssa.Parameter); !given || l.blocks[ended] {
		return nil
	}
	for call := range l.calls {
		if !viewer.MatchString(nameOf(call)) && !isTold(call) && !asksContext(call) && !isPlainWait(call) &&
			!onlyComputes(call) {
			return nil
		}
	}
	return &runOut{ended, ctx}
}

// onlyComputes reports whether a call is there for what it returns of what it is given: it
// cannot fail, or wraps an error.
func onlyComputes(call *ssa.Call) bool {
	common := call.Common()
	return GivenContext(call) == nil && !common.IsInvoke() && common.Signature().Results().Len() > 0 &&
		(!mayFail(call) || slices.ContainsFunc(common.Args, isErrorValue))
}

// answers reports whether an answer ends the loop as ret does, which follows when block b
// has ended it.
func (l *loop) answers(ret *ssa.Return, b *ssa.BasicBlock) bool {
	return slices.ContainsFunc(l.list, func(other *ssa.BasicBlock) bool {
		branch, ok := terminator(other).(*ssa.If)
		if !ok || other == b || !l.mayLeave(branch) || l.runsOut(other) != nil || contextAsked(branch.Cond) != nil ||
			isOfSelect(branch.Cond) || isOfChannel(branch.Cond) {
			return false
		}
		return slices.ContainsFunc(other.Succs, func(s *ssa.BasicBlock) bool {
			answered := returnsOf(behind(s))
			return !l.blocks[s] && len(answered) > 0 && !slices.ContainsFunc(answered, func(other *ssa.Return) bool {
				return other != ret && !isAmong(ret, []*ssa.Return{other})
			})
		})
	})
}

// isOfChannel reports whether a condition asks whether a channel has been closed.
func isOfChannel(cond ssa.Value) bool {
	ok, isExtract := cond.(*ssa.Extract)
	if !isExtract {
		return false
	}
	receive, isReceive := ok.Tuple.(*ssa.UnOp)
	return isReceive && receive.Op == token.ARROW
}

// returnsErrors reports whether the function returns an error from the loop, elsewhere than
// in some blocks.
func (l *loop) returnsErrors(but map[*ssa.BasicBlock]bool) bool {
	return slices.ContainsFunc(l.header.Parent().Blocks, func(b *ssa.BasicBlock) bool {
		ret, ok := terminator(b).(*ssa.Return)
		return ok && !but[b] && l.header.Dominates(b) && !isNil(returnedError(ret))
	})
}
