package retryloop

import (
	"go/types"
	"iter"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Spent returns where a function of a retry returns a nil error after the last
// attempt has failed, as it does after a success, although it returns the errors that
// it does not retry. Nobody is told.
func (r Retry) Spent() *ssa.Return {
	l, fn := r.failed.loop, r.Call.Parent()
	if r.operands == countingOperands || r.recognised || !returnsError(fn) || r.tells() {
		return nil
	}
	out := r.onlyLimit()
	if out == nil {
		return nil
	}
	after := behind(out)
	if after[l.header] || r.isKnownIn(after) || l.isAskedIn(after) {
		return nil
	}
	spent := returnsOf(after)
	succeeded := r.succeeded.outside()
	if len(spent) == 0 || len(returnsOf(succeeded)) == 0 {
		return nil
	}
	for _, ret := range spent {
		if !isNil(returnedError(ret)) || !succeeded[ret.Block()] && !(plainReturn(out) == ret && isAmong(ret, returnsOf(succeeded))) {
			return nil
		}
	}
	others := slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		ret, ok := terminator(b).(*ssa.Return)
		return ok && !after[b] && l.header.Dominates(b) && !isNil(returnedError(ret))
	})
	if !others {
		return nil
	}
	return spent[0]
}

// Replaced returns where a function of a retry returns, after the last attempt has failed,
// the error of another call, which that failure was followed by and which may have
// succeeded.
func (r Retry) Replaced() (ret *ssa.Return, by *ssa.Call) {
	if r.operands == countingOperands || !returnsError(r.Call.Parent()) {
		return nil, nil
	}
	out := r.onlyLimit()
	if out == nil {
		return nil, nil
	}
	ret, ok := terminator(out).(*ssa.Return)
	if !ok {
		return nil, nil
	}
	for err, at := range r.lastErrors(returnedError(ret), out) {
		by = callOf(err)
		if by == nil || by == r.Call || !r.failed.blocks[by.Block()] || isAnswered(err, at, true) || isNoAttempt(by) || slices.ContainsFunc(by.Common().Args, isErrorValue) {
			return nil, nil
		}
	}
	return ret, by
}

// lastErrors yields what an error that is returned in block out, which follows the loop, is
// after the last attempt has failed, and the blocks that such an attempt ends with.
func (r Retry) lastErrors(err ssa.Value, out *ssa.BasicBlock) iter.Seq2[ssa.Value, *ssa.BasicBlock] {
	l := r.failed.loop
	return func(yield func(ssa.Value, *ssa.BasicBlock) bool) {
		for i, limit := range out.Preds {
			if !l.blocks[limit] {
				continue
			}
			last := err
			if joined, ok := err.(*ssa.Phi); ok && joined.Block() == out {
				last = joined.Edges[i]
			}
			first, ok := last.(*ssa.Phi)
			if !ok || first.Block() != l.header {
				if !yield(r.failed.chosen(last), limit) {
					return
				}
				continue
			}
			for j, pred := range l.header.Preds {
				if r.failed.enters(pred) && !yield(r.failed.chosen(first.Edges[j]), pred) {
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
			switch instr := instr.(type) {
			case *ssa.Send, *ssa.MapUpdate, *ssa.Go, *ssa.Defer:
				return true
			case *ssa.Store:
				_, local := root(instr.Addr).(*ssa.Alloc)
				return !local
			case *ssa.Call:
				return !isBuiltin(instr) && !isTimedWait(instr) && !isLogged(instr) && (instr.Common().Signature().Results().Len() == 0 || r.hears(instr))
			}
			return false
		}) {
			return true
		}
	}
	return false
}

// hears reports whether a call is given the error, or a text of it, and nothing that it
// returns is used.
func (r Retry) hears(call *ssa.Call) bool {
	if len(*call.Referrers()) > 0 || isTold(call) && !isNamed(call.Common().StaticCallee(), "fmt", "Fprint", "Fprintf", "Fprintln") {
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
			if _, debug := ref.(*ssa.DebugRef); !debug && blocks[ref.Block()] {
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
