package retryloop

import (
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Poll asks for something, with waits between, until it has the answer that it is for.
type Poll struct {
	Call    *ssa.Call   // what it asks
	Expired *ssa.Return // gives back nil, as an answer does, when it has asked for long enough
}

// ExpiredPolls returns the polls of fn that end as if they had been answered when a counter,
// a clock or a context ends them, although fn returns the errors of what they ask.
func ExpiredPolls(fn *ssa.Function) (found []Poll) {
	if !returnsError(fn) || !anyInstr(fn, isPlainWait) {
		return nil
	}
	for _, l := range loops(fn) {
		asked := l.looksAt()
		if asked == nil || !l.anyInstr(isPlainWait) || l.anyInstr(keeps) {
			continue
		}
		for _, b := range l.list {
			out := l.runsOut(b)
			if out == nil {
				out = l.endsLooking(b)
			}
			if out == nil {
				continue
			}
			if ret := plainReturn(out); ret != nil && onlyConstants(ret) && l.answers(ret, b) && l.returnsErrors(ret) {
				found = append(found, Poll{asked, ret})
				break
			}
		}
	}
	return found
}

// viewer names what says how something is, and changes nothing.
var viewer = regexp.MustCompile(`(?i)^(get|list|find|lookup|describe|query|load|stat|fetch|inspect|show|head|search|is|has|check|exists)|(status|state|exists|count|info)$`)

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

// runsOut returns what follows block b when the loop has gone on for often or long enough, if
// that is what b asks: a counter, a clock, or a context with a time limit that fn has set.
func (l *loop) runsOut(b *ssa.BasicBlock) *ssa.BasicBlock {
	branch, ok := terminator(b).(*ssa.If)
	if !ok || !l.mayLeave(branch) {
		return nil
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	counted := ok && (l.counted(cmp.X) || l.counted(cmp.Y))
	if !counted && !readsClock(branch.Cond, 1, map[ssa.Value]bool{}) {
		ctx, ended := endOf(branch)
		if ctx == nil || withoutLimit(ctx) == ctx || l.blocks[ended] {
			return nil
		}
		return ended
	}
	i := slices.IndexFunc(b.Succs, func(s *ssa.BasicBlock) bool { return !l.blocks[s] })
	return b.Succs[i]
}

// endsLooking returns what follows block b when a context that fn is given has ended, where
// nothing but to look is done until then: what does more may be told to stop by that.
func (l *loop) endsLooking(b *ssa.BasicBlock) *ssa.BasicBlock {
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
	return ended
}

// answers reports whether an answer ends the loop as ret does, which follows when block b
// has ended it.
func (l *loop) answers(ret *ssa.Return, b *ssa.BasicBlock) bool {
	return slices.ContainsFunc(l.list, func(other *ssa.BasicBlock) bool {
		branch, ok := terminator(other).(*ssa.If)
		if !ok || other == b || !l.mayLeave(branch) || l.runsOut(other) != nil || contextAsked(branch.Cond) != nil || isOfSelect(branch.Cond) {
			return false
		}
		return slices.ContainsFunc(other.Succs, func(s *ssa.BasicBlock) bool {
			answered := plainReturn(s)
			return !l.blocks[s] && answered != nil && (answered == ret || isAmong(ret, []*ssa.Return{answered}))
		})
	})
}

// returnsErrors reports whether the function returns an error from the loop, elsewhere than
// by ret.
func (l *loop) returnsErrors(ret *ssa.Return) bool {
	return slices.ContainsFunc(l.header.Parent().Blocks, func(b *ssa.BasicBlock) bool {
		other, ok := terminator(b).(*ssa.Return)
		return ok && other != ret && l.header.Dominates(b) && !isNil(returnedError(other))
	})
}
