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
	Early   bool        // the function goes on until Expired as it does behind the answer
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
		for _, b := range l.list {
			if poll := l.expiresAt(b, asked); poll != nil {
				found = append(found, *poll)
				break
			}
		}
	}
	return found
}

// expiresAt returns how the poll ends as if asked had been answered when the loop ends because
// block b asks whether it has asked for long enough, or nil.
func (l *loop) expiresAt(b *ssa.BasicBlock, asked *ssa.Call) *Poll {
	end := l.runsOut(b)
	if end == nil {
		end = l.endsLooking(b)
	}
	if end == nil {
		return nil
	}
	if ret := plainReturn(end.out); ret != nil && onlyConstants(ret) && l.answers(ret, b) && l.returnsErrors(behind(end.out)) {
		return &Poll{Call: asked, Expired: ret, How: Swallowed}
	}
	ret, ok := terminator(end.out).(*ssa.Return)
	switch {
	case ok && l.isAnswerless(asked, ret):
		return &Poll{Call: asked, Expired: ret, How: Replaced}
	case ok && end.leavesAlive(methodOfContext(returnedError(ret), "Err")):
		return &Poll{Call: asked, Expired: ret, How: Living}
	}
	// What was not there to be asked is missed by what follows.
	if ret := l.goesOnAlike(end.out, b); ret != nil && !l.asksAgainAfterError(asked) {
		return &Poll{Call: asked, Expired: ret, How: Swallowed, Early: true}
	}
	return nil
}

// asksAgainAfterError reports whether an error of a call leads to the next round.
func (l *loop) asksAgainAfterError(asked *ssa.Call) bool {
	errs := errorsOf(asked)
	return slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
		branch, failing, _ := l.branchOn(b, errs)
		return branch != nil && l.way(b, failing).returns()
	})
}

// goesOnAlike returns where the function returns no error behind block out, to which an answer
// leads as well as block b, which has ended the loop: nothing behind it knows which of them it
// was, although the errors of the loop are returned.
func (l *loop) goesOnAlike(out, b *ssa.BasicBlock) *ssa.Return {
	if !l.leavesByAnswer(b, func(s *ssa.BasicBlock) bool { return leadsTo(s, out) }) {
		return nil
	}
	// A loop around may come back to this one.
	after := map[*ssa.BasicBlock]bool{}
	var follow func(*ssa.BasicBlock)
	follow = func(in *ssa.BasicBlock) {
		if !l.blocks[in] && !after[in] {
			after[in] = true
			for _, s := range in.Succs {
				follow(s)
			}
		}
	}
	follow(out)
	if l.isUsedIn(after) || !l.returnsErrors(after) {
		return nil
	}
	for _, ret := range returnsOf(after) {
		if isNil(returnedError(ret)) {
			return ret
		}
	}
	return nil
}

// leadsTo reports whether nothing happens from block b on until block out runs but that
// somebody is told.
func leadsTo(b, out *ssa.BasicBlock) bool {
	for range 3 {
		if b == out {
			return true
		}
		if len(b.Succs) != 1 || slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			switch instr := instr.(type) {
			case *ssa.Store:
				return !isTellersArgument(instr.Addr)
			case *ssa.Call:
				return !isLogged(instr)
			case *ssa.Send, *ssa.Phi, *ssa.MapUpdate:
				return true
			}
			return false
		}) {
			return false
		}
		b = b.Succs[0]
	}
	return false
}

// isUsedIn reports whether some blocks use what the loop has made, or a variable that it may
// have set.
func (l *loop) isUsedIn(blocks map[*ssa.BasicBlock]bool) bool {
	for b := range blocks {
		for _, instr := range b.Instrs {
			if _, debug := instr.(*ssa.DebugRef); debug {
				continue
			}
			for _, op := range instr.Operands(nil) {
				switch v := (*op).(type) {
				case *ssa.Alloc:
					if l.blocks[v.Block()] || slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
						_, load := ref.(*ssa.UnOp)
						return !load && l.blocks[ref.Block()]
					}) {
						return true
					}
				case ssa.Instruction:
					if l.blocks[v.Block()] {
						return true
					}
				}
			}
		}
	}
	return false
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
var viewer = regexp.MustCompile(`^_?(?i:get|list|find|lookup|describe|query|load|stat|fetch|inspect|show|head|search|is|has|check|exists)([A-Z_]|$)|(?i:status|state|exists|count|info|inspect)$`)

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
		if !viewer.MatchString(nameOf(call)) && !isTold(call) && !asksContext(call) && !isPlainWait(call) {
			return nil
		}
	}
	return &runOut{ended, ctx}
}

// answers reports whether an answer ends the loop as ret does, which follows when block b
// has ended it.
func (l *loop) answers(ret *ssa.Return, b *ssa.BasicBlock) bool {
	return l.leavesByAnswer(b, func(s *ssa.BasicBlock) bool {
		answered := returnsOf(behind(s))
		return len(answered) > 0 && !slices.ContainsFunc(answered, func(other *ssa.Return) bool {
			return other != ret && !isAmong(ret, []*ssa.Return{other})
		})
	})
}

// leavesByAnswer reports whether an answer, elsewhere than in block b, ends the loop, and what
// follows it is as said.
func (l *loop) leavesByAnswer(b *ssa.BasicBlock, is func(*ssa.BasicBlock) bool) bool {
	return slices.ContainsFunc(l.list, func(other *ssa.BasicBlock) bool {
		branch, ok := terminator(other).(*ssa.If)
		if !ok || other == b || !l.mayLeave(branch) || l.runsOut(other) != nil || contextAsked(branch.Cond) != nil || isOfSelect(branch.Cond) || isOfChannel(branch.Cond) {
			return false
		}
		return slices.ContainsFunc(other.Succs, func(s *ssa.BasicBlock) bool { return !l.blocks[s] && is(s) })
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
