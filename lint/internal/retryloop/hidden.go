package retryloop

import (
	"go/constant"
	"go/token"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Hidden returns where a function of a retry returns a nil error although the
// context ended.
func (r Retry) Hidden() (found []*ssa.Return) {
	if r.operands == countingOperands || r.operands.areNew() || r.recognised || !returnsError(r.Call.Parent()) ||
		serves.MatchString(nameOf(r.Call)) {
		return nil
	}
	if !r.succeeded.mayReturn() || !slices.ContainsFunc(returnsOf(r.succeeded.outside()), mayBeNil) || r.servesBehind() {
		return nil // the function goes on as long as it may
	}
	cycle := r.failed.cycle()
	for _, b := range slices.Concat(r.failed.loop.list, r.failed.loop.lastCases()) {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[r.failed.loop.lastIn(b)] || contextAsked(branch.Cond) == nil {
			continue
		}
		for _, s := range b.Succs {
			if cycle[s] {
				continue
			}
			ret := plainReturn(s)
			if ret == nil {
				ret = r.goesOn(s)
			}
			if ret != nil && !slices.Contains(found, ret) && !r.saysNo(ret) {
				found = append(found, ret)
			}
		}
	}
	return found
}

// serves names what goes on until it is told to stop, and is then done.
var serves = regexp.MustCompile(`^(?i:run|serve)([A-Z]|$)`)

// goesOn returns where the function returns no error behind block out, which follows when a
// context has ended as it follows a success, and where nobody asks which of them it was.
func (r Retry) goesOn(out *ssa.BasicBlock) *ssa.Return {
	after := behind(out)
	if !r.succeeded.outside()[out] || after[r.failed.loop.header] || r.isKnownIn(after) || r.failed.loop.isAskedIn(after) {
		return nil
	}
	for b := range after {
		if slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			call, ok := instr.(*ssa.Call)
			return ok && (GivenContext(call) != nil && !isOfLogger(call) || methodOfContext(call, "Err") != nil)
		}) {
			return nil // that fails as well, or sees to it
		}
	}
	returns := returnsOf(after)
	if len(returns) == 0 ||
		slices.ContainsFunc(returns, func(ret *ssa.Return) bool { return !isNil(returnedError(ret)) }) {
		return nil
	}
	return returns[0]
}

// saysNo reports whether a return says by another result that it is not that of a
// success: by a bool, or by a value to go on with.
func (r Retry) saysNo(ret *ssa.Return) bool {
	for i := range ret.Results {
		said, ok := returned(ret, i).(*ssa.Const)
		if !ok || said.Value == nil {
			continue
		}
		if said.Value.Kind() != constant.Bool {
			if !isZero(said) {
				return true
			}
			continue
		}
		if !slices.ContainsFunc(returnsOf(r.succeeded.outside()), func(other *ssa.Return) bool {
			c, ok := returned(other, i).(*ssa.Const)
			return ok && other != ret && c.Value != nil && constant.Compare(c.Value, token.EQL, said.Value)
		}) {
			return true
		}
	}
	return false
}

// mayBeNil reports whether a return gives back no error, or one of which nobody has seen
// that it is none.
func mayBeNil(ret *ssa.Return) bool {
	err := returnedError(ret)
	if isAnswered(err, ret.Block(), true) {
		return false
	}
	for b := ret.Block(); b.Idom() != nil; b = b.Idom() {
		branch, ok := terminator(b.Idom()).(*ssa.If)
		if !ok || len(b.Preds) != 1 || asksForOne(branch) != b {
			continue
		}
		if cmp, ok := branch.Cond.(*ssa.BinOp); ok && cmp.X == err && !isNil(cmp.Y) {
			return false // it is that of a variable
		}
	}
	return true
}

// servesBehind reports whether, after a success, the function goes on behind the loop until
// a context, or what it has started, ends: what it has tried is how it begins.
func (r Retry) servesBehind() bool {
	for b := range r.succeeded.outside() {
		if slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			if call, ok := instr.(*ssa.Call); ok {
				return GivenContext(call) != nil && runner.MatchString(nameOf(call)) ||
					nameOf(call) == "Wait" && receiverOf(call) != nil
			}
			return receivesEnd(instr)
		}) {
			return true
		}
	}
	return false
}

// Emptied returns where a function returns, because a context has ended, the error of a
// call that its loop makes again, which has succeeded there: it is nil.
func Emptied(fn *ssa.Function) (found []*ssa.Return) {
	if !returnsError(fn) {
		return nil
	}
	for _, l := range loops(fn) {
		for _, b := range fn.Blocks {
			branch, ok := terminator(b).(*ssa.If)
			if !ok || !l.header.Dominates(b) {
				continue
			}
			ctx, ended := endOf(branch)
			if ctx == nil || NeverEnds(ctx) {
				continue
			}
			ret, ok := terminator(ended).(*ssa.Return)
			if !ok || slices.Contains(found, ret) {
				continue
			}
			err := returnedError(ret)
			if made := blockOf(err); made != nil && l.blocks[made] && l.innermost[made] == l && isKnownNil(err, ended) {
				found = append(found, ret)
			}
		}
	}
	return found
}

// isKnownNil reports whether an error is nil wherever block b runs.
func isKnownNil(err ssa.Value, b *ssa.BasicBlock) bool {
	if joined, ok := err.(*ssa.Phi); ok {
		for i, edge := range joined.Edges {
			pred := joined.Block().Preds[i]
			justAsked := isCompared(edge, pred) && failingEdge(pred) != joined.Block()
			if !isNil(edge) && !justAsked && !isKnownNilFrom(edge, pred) {
				return false
			}
		}
		return true
	}
	return isKnownNilFrom(err, b)
}

// isKnownNilFrom reports whether block b only runs where the error of a call is nil.
func isKnownNilFrom(err ssa.Value, b *ssa.BasicBlock) bool {
	if _, ok := err.(*ssa.Extract); !ok {
		if _, ok := err.(*ssa.Call); !ok {
			return false
		}
	}
	return !b.Dominates(blockOf(err)) && isAnswered(err, b, false)
}

// isAnswered reports whether block b only runs where an error was asked for, and was not
// nil, or was nil.
func isAnswered(err ssa.Value, b *ssa.BasicBlock, failed bool) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		if at := b.Idom(); len(b.Preds) == 1 && isCompared(err, at) && (failingEdge(at) == b) == failed {
			return true
		}
	}
	return false
}

// isCompared reports whether a block ends by asking whether an error is nil.
func isCompared(err ssa.Value, b *ssa.BasicBlock) bool {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return false
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	return ok && cmp.X == err && isNil(cmp.Y)
}

// plainReturn returns the return of a nil error that b is, or leads to, without
// doing anything but to log.
func plainReturn(b *ssa.BasicBlock) *ssa.Return {
	for range 3 {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Return:
				if isNil(returnedError(instr)) {
					return instr
				}
			case *ssa.Store:
				if !setsResult(instr) && !isTellersArgument(instr.Addr) {
					return nil
				}
			case *ssa.Call:
				if !isLogged(instr) {
					return nil
				}
			case *ssa.Send, *ssa.Phi, *ssa.MapUpdate:
				return nil
			}
		}
		if len(b.Succs) != 1 {
			return nil
		}
		b = b.Succs[0]
	}
	return nil
}

// setsResult reports whether a store only sets what the same block returns.
func setsResult(store *ssa.Store) bool {
	block := store.Block().Instrs
	ret, ok := block[len(block)-1].(*ssa.Return)
	return ok && slices.ContainsFunc(ret.Results, func(v ssa.Value) bool { return isLoadOf(v, store.Addr) })
}
