package retryloop

import (
	"go/token"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Piles returns the defers by which loops of fn keep what each round gets anew, and nobody
// else has: loops that wait, and ask for the same again until the answer is right, or for
// ever. Others may be to get several.
func Piles(fn *ssa.Function) (found []*ssa.Defer) {
	for _, l := range loops(fn) {
		if l.items() || !l.anyInstr(pauses) {
			continue
		}
		for _, b := range l.list {
			for _, instr := range b.Instrs {
				d, ok := instr.(*ssa.Defer)
				if ok && !slices.Contains(found, d) && l.comesAround(b) && l.getsAgain(d) &&
					(l.leavesBehind(b) || l.endsByFailure()) {
					found = append(found, d)
				}
			}
		}
	}
	return found
}

// pauses reports whether an instruction waits for a time that is not short, by a function of
// this package or one that is told for how long as well.
func pauses(instr ssa.Instruction) bool {
	call, ok := instr.(*ssa.Call)
	if ok && sleeps(call) != nil {
		return !isShort(sleeps(call))
	}
	return isPause(instr) || ok && (isGivenDelay(call) || sleepsWithin(call.Common().StaticCallee(), 2))
}

// comesAround reports whether each round runs block b, unless something fails, the loop ends,
// there is nothing to close, or a ticker has not ticked: what stands under another condition
// may run once.
func (l *loop) comesAround(b *ssa.BasicBlock) bool {
	for ; b != l.header; b = b.Idom() {
		at := b.Idom()
		branch, ok := terminator(at).(*ssa.If)
		if !ok || len(b.Preds) != 1 || l.mayLeave(branch) || failingEdge(at) != nil || gottenEdge(at) == b ||
			asksStatus(branch.Cond) || l.chooses(at) {
			continue
		}
		if sel, n := caseOf(branch.Cond); sel == nil || b == at.Succs[0] && !isOfTicks(sel.States[n].Chan) {
			return false
		}
	}
	return true
}

// asksStatus reports whether a condition compares the status of a response.
func asksStatus(cond ssa.Value) bool {
	cmp, ok := cond.(*ssa.BinOp)
	return ok && isConst(cmp.Y) && nameOfValue(cmp.X) == "StatusCode"
}

// gottenEdge returns what follows block b where there is something to close, if it asks
// whether a value is nil.
func gottenEdge(b *ssa.BasicBlock) *ssa.BasicBlock {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return nil
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	switch {
	case !ok || !isNil(cmp.Y) || isError(cmp.X.Type()):
		return nil
	case cmp.Op == token.EQL:
		return b.Succs[1]
	}
	return b.Succs[0]
}

// chooses reports whether a block of a loop inside of this one takes the next item, or asks
// what an item says.
func (l *loop) chooses(b *ssa.BasicBlock) bool {
	inner := l.innermost[b]
	if inner == l || !inner.items() {
		return false
	}
	if b == inner.header {
		return true
	}
	cmp, ok := terminator(b).(*ssa.If).Cond.(*ssa.BinOp)
	if !ok || !isConst(cmp.Y) || isNil(cmp.Y) {
		return false
	}
	load, ok := cmp.X.(*ssa.UnOp)
	if !ok {
		return false
	}
	field, ok := load.X.(*ssa.FieldAddr)
	return ok && !l.assignsTo(field)
}

// leavesBehind reports whether an answer ends the loop behind block b: no error, and not the
// end of a context.
func (l *loop) leavesBehind(b *ssa.BasicBlock) bool {
	for at := b.Idom(); at != nil && len(b.Preds) == 1 && gottenEdge(at) == b; at = b.Idom() {
		b = at // what it has gotten is closed, if it has, and asked
	}
	return slices.ContainsFunc(l.list, func(at *ssa.BasicBlock) bool {
		branch, ok := terminator(at).(*ssa.If)
		return ok && b.Dominates(at) && contextAsked(branch.Cond) == nil &&
			slices.ContainsFunc(at.Succs, func(s *ssa.BasicBlock) bool {
				return !l.blocks[s] && s != failingEdge(at)
			})
	})
}

// endsByFailure reports whether nothing ends the loop but what fails, and the end of a context.
func (l *loop) endsByFailure() bool {
	return !slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
		branch, ok := terminator(b).(*ssa.If)
		return ok && contextAsked(branch.Cond) == nil && slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool {
			return !l.blocks[s] && s != failingEdge(b) && s != noCase(b)
		})
	})
}

// getsAgain reports whether each round makes the call with the same operands that returns
// what is deferred, or what that is of, and nobody else has.
func (l *loop) getsAgain(d *ssa.Defer) bool {
	round := way{loop: l, blocks: l.blocks}
	return slices.ContainsFunc(endedBy(d), func(v ssa.Value) bool {
		made, ok := errorCall(v)
		if !ok || !l.blocks[made.Block()] || isKeptElsewhere(v, 8) {
			return false
		}
		same, counted := round.repeats(made)
		return same && !counted
	})
}

// endedBy returns what a deferred call is of: the function, as a cancel function is, the
// object of a method, what a function is given, or that of the methods that a literal calls.
func endedBy(d *ssa.Defer) (values []ssa.Value) {
	common := d.Common()
	literal, ok := common.Value.(*ssa.MakeClosure)
	if !ok {
		for _, v := range append(slices.Clone(common.Args), common.Value) {
			values = append(values, held(v))
		}
		return values
	}
	for i, bound := range literal.Bindings {
		free := literal.Fn.(*ssa.Function).FreeVars[i]
		if anyInstr(free.Parent(), func(instr ssa.Instruction) bool {
			call, ok := instr.(*ssa.Call)
			return ok &&
				(receiverOf(call) != nil && root(receiverOf(call)) == ssa.Value(free) ||
					root(call.Common().Value) == ssa.Value(free))
		}) {
			values = append(values, held(bound))
		}
	}
	return values
}

// held returns what a value, or the one that it is a part of, was when it was put into a
// variable that is assigned to once.
func held(v ssa.Value) ssa.Value {
	v = root(v)
	if variable, ok := v.(*ssa.Alloc); ok {
		if only := OnlyStored(variable); only != nil {
			return root(only)
		}
	}
	return v
}

// keeper names what may keep what it is given.
var keeper = regexp.MustCompile(
	`^(?i:add|append|attach|join|keep|put|push|register|save|set|store|track|use)([A-Z_]|$)`)

// isKeptElsewhere reports whether a value, or a part of it, is put where it outlives the
// round, or given to what runs beside the loop. It follows what is made of it for some steps.
func isKeptElsewhere(v ssa.Value, depth int) bool {
	return depth > 0 && v.Referrers() != nil && slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.Go, *ssa.Send, *ssa.MapUpdate, *ssa.Return:
			return true
		case *ssa.Call:
			return slices.Contains(argumentsOf(ref.Common()), v) && keeper.MatchString(nameOf(ref))
		case *ssa.Store:
			variable, local := ref.Addr.(*ssa.Alloc)
			return ref.Val == v && !(local && !isKeptElsewhere(variable, depth-1)) && !isTellersArgument(ref.Addr)
		case *ssa.MakeClosure:
			return !runsAtEnd(ref) && !isOnlyCalled(ref)
		case *ssa.Phi, *ssa.Slice:
			return true
		case *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType:
			return isKeptElsewhere(ref.(ssa.Value), depth-1)
		}
		return false
	})
}

// Defers returns the defers that each failed attempt of a retry adds, of which
// none runs before the function ends. What is deferred under a condition may be
// so once.
func (r Retry) Defers() (found []*ssa.Defer) {
	if r.operands == countingOperands || r.operands.areNew() {
		return nil // each round may be about something else
	}
	cycle := r.failed.cycle()
	for _, b := range r.failed.loop.list {
		for _, instr := range b.Instrs {
			if d, ok := instr.(*ssa.Defer); ok && cycle[b] && r.isInEach(b) {
				found = append(found, d)
			}
		}
	}
	return found
}

// isInEach reports whether block b runs in every attempt that fails.
func (r Retry) isInEach(b *ssa.BasicBlock) bool {
	w := r.failed
	if b.Dominates(r.Call.Block()) || r.Call.Block().Dominates(b) && b.Dominates(w.from) {
		return true
	}
	return w.blocks[b] && !slices.ContainsFunc(w.loop.header.Preds, func(pred *ssa.BasicBlock) bool {
		return w.enters(pred) && !b.Dominates(pred)
	})
}
