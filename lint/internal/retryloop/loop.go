package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"sync"

	"golang.org/x/tools/go/ssa"
)

// A loop is a natural loop of the control flow graph.
type loop struct {
	header    *ssa.BasicBlock
	blocks    map[*ssa.BasicBlock]bool
	list      []*ssa.BasicBlock // blocks, in the order of the function
	innermost map[*ssa.BasicBlock]*loop
	items     func() bool // whether each round is about another item
	on        sync.Map    // what between has found, by edge; analyzers ask at the same time
}

// loops returns the natural loops of fn: for, range and goto alike. Loops with
// one header are one.
func loops(fn *ssa.Function) []*loop {
	byHeader := map[*ssa.BasicBlock]*loop{}
	innermost := map[*ssa.BasicBlock]*loop{}
	var all []*loop
	for _, b := range fn.Blocks {
		for _, header := range b.Succs {
			if !header.Dominates(b) {
				continue
			}
			l := byHeader[header]
			if l == nil {
				l = &loop{header: header, blocks: map[*ssa.BasicBlock]bool{header: true}, innermost: innermost}
				l.items = sync.OnceValue(l.visits)
				byHeader[header] = l
				all = append(all, l)
			}
			l.fill(b)
		}
	}
	for _, l := range all {
		l.list = slices.SortedFunc(maps.Keys(l.blocks), func(a, b *ssa.BasicBlock) int { return a.Index - b.Index })
		for _, b := range l.list {
			if have := innermost[b]; have == nil || len(l.blocks) < len(have.blocks) {
				innermost[b] = l
			}
		}
	}
	return all
}

// fill adds the blocks that reach the latch without the header.
func (l *loop) fill(latch *ssa.BasicBlock) {
	if l.blocks[latch] {
		return
	}
	l.blocks[latch] = true
	for _, p := range latch.Preds {
		l.fill(p)
	}
}

// isLast reports whether a round that ends with block pred is the last: it has
// set what the condition of the loop asks for to what leaves the loop.
func (l *loop) isLast(pred *ssa.BasicBlock) bool {
	return l.isLastWith(pred, asIs)
}

// asIs leaves open which of its values a variable has.
func asIs(v ssa.Value) ssa.Value { return v }

// isLastWith is isLast where it is known which of its values a variable has.
func (l *loop) isLastWith(pred *ssa.BasicBlock, chosen func(ssa.Value) ssa.Value) bool {
	branch, ok := terminator(l.header).(*ssa.If)
	if !ok || !l.blocks[pred] {
		return false
	}
	for i, p := range l.header.Preds {
		if p != pred {
			continue
		}
		holds, known := l.begins(branch.Cond, i, chosen)
		if succ := l.header.Succs[map[bool]int{true: 0, false: 1}[holds]]; !known || l.blocks[succ] {
			return false
		}
	}
	return true
}

// begins reports whether a condition of the header holds in a round that an
// edge leads to, if the edge alone, and which values variables have, decide that.
func (l *loop) begins(cond ssa.Value, edge int, chosen func(ssa.Value) ssa.Value) (holds, known bool) {
	first := func(v ssa.Value) *ssa.Const {
		if phi, ok := v.(*ssa.Phi); ok && phi.Block() == l.header {
			v = chosen(phi.Edges[edge])
		}
		c, _ := v.(*ssa.Const)
		return c
	}
	switch cond := cond.(type) {
	case *ssa.UnOp:
		if cond.Op != token.NOT {
			return false, false
		}
		holds, known = l.begins(cond.X, edge, chosen)
		return !holds, known
	case *ssa.BinOp:
		x, than := first(cond.X), first(cond.Y)
		if x == nil || than == nil || cond.Op != token.EQL && cond.Op != token.NEQ {
			return false, false
		}
		if x.Value == nil || than.Value == nil {
			return (x.Value == than.Value) == (cond.Op == token.EQL), true
		}
		return constant.Compare(x.Value, cond.Op, than.Value), true
	}
	c := first(cond)
	return c != nil && constant.BoolVal(c.Value), c != nil
}

// visits reports whether each round takes an item of a list or map, and does
// something with it. Delays and numbers are no items: a table of delays belongs
// to a retry.
func (l *loop) visits() bool {
	return slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
		return l.innermost[b] == l && slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			switch instr := instr.(type) {
			case *ssa.IndexAddr:
				return l.counted(instr.Index) && isUsed(instr, 6)
			case *ssa.Extract:
				_, next := instr.Tuple.(*ssa.Next)
				return next && instr.Index > 0 && isUsed(instr, 6)
			}
			return false
		})
	})
}

// counted reports whether v is a variable that the loop counts, or that after
// its step.
func (l *loop) counted(v ssa.Value) bool {
	if step, ok := v.(*ssa.BinOp); ok && isConst(step.Y) {
		v = step.X
	}
	phi, ok := v.(*ssa.Phi)
	return ok && phi.Block() == l.header && slices.ContainsFunc(phi.Edges, func(edge ssa.Value) bool {
		return isStep(edge, phi)
	})
}

// isUsed reports whether an item is given to a call, kept, or asked for. It
// follows what is computed from it for some steps.
func isUsed(v ssa.Value, depth int) bool {
	if basic, ok := v.Type().Underlying().(*types.Basic); ok && basic.Info()&types.IsNumeric != 0 || depth == 0 {
		return false
	}
	return slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.Store:
			// A list of arguments is not yet a use.
			if at, ok := ref.Addr.(*ssa.IndexAddr); ok {
				_, isArguments := at.X.(*ssa.Alloc)
				return !isArguments
			}
			return ref.Val == v
		case *ssa.Call, *ssa.If, *ssa.MapUpdate, *ssa.Send, *ssa.Go, *ssa.Defer:
			return true
		case ssa.Value:
			return isUsed(ref, depth-1)
		}
		return false
	})
}

// repeated returns the calls that each round makes with the same operands, or to fill the
// same again. Who takes what comes serves.
func (l *loop) repeated() (calls []*ssa.Call) {
	round := way{loop: l, blocks: l.blocks}
	for call := range l.calls {
		if isTaker(call) || isOfAtomic(call) || isRebuilt(call) || isNoAttempt(call) || isAskedOf(call) ||
			asksContext(call) || isOfClock(call) || isOption(call.Type()) {
			continue
		}
		if same, counted := round.repeats(call); same && !counted || l.fills(call) || round.asksAnew(call) {
			calls = append(calls, call)
		}
	}
	return calls
}

// isOfAtomic reports whether a call is of a variable that goroutines share: a flag, or a count.
func isOfAtomic(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil && fn.Object().Pkg().Path() == "sync/atomic"
}

// calls yields the calls of the loop, but for those of builtins.
func (l *loop) calls(yield func(*ssa.Call) bool) {
	for _, b := range l.list {
		for _, instr := range b.Instrs {
			if call, ok := instr.(*ssa.Call); ok && !isBuiltin(call) && !yield(call) {
				return
			}
		}
	}
}

// fills reports whether a call with a context fills what a way out asks for.
func (l *loop) fills(call *ssa.Call) bool { return GivenContext(call) != nil && l.asksFilled(call) }

// mayFail reports whether a call returns an error, whether that is looked at or not.
func mayFail(call *ssa.Call) bool {
	results := call.Common().Signature().Results()
	return results.Len() > 0 && isError(results.At(results.Len()-1).Type())
}

// isOfClock reports whether a call asks what time it is, how much has passed, or computes
// with times.
func isOfClock(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil && fn.Object().Pkg().Path() == "time"
}

// goesOnBy reports whether a call decides that the loop goes on: an answer does that may
// also end it. Where each failure leaves and all else goes on, the same is done several
// times over.
func (l *loop) goesOnBy(call *ssa.Call) bool {
	errs := errorsOf(call)
	if len(errs) == 0 {
		errs = answersOf(call)
	}
	for branch := range l.branchesOn(call) {
		if l.isToldTo(branch) {
			continue
		}
		_, failing, _ := l.branchOn(branch.Block(), errs)
		returns := failing != nil && l.way(branch.Block(), failing).returns()
		// One error may be the answer, whether others leave or not.
		if failing != nil && GivenContext(call) != nil && tellsApart(failing, errs) && (!returns || l.leavesForOne(failing)) {
			return true
		}
		if failing != nil && !returns {
			continue
		}
		if l.onlyNeeds(branch, call) || asksForAnother(branch, call) || seesError(branch.Block(), l.header) {
			continue
		}
		if (l.mayLeave(branch) || l.setsFlag(branch)) && !l.givesUp(branch) ||
			GivenContext(call) != nil && len(errs) > 0 && l.endsOtherwise(errs) {
			return true
		}
	}
	return false
}

// isToldTo reports whether a branch only runs where the loop has received a message: what it
// has found by then it tells.
func (l *loop) isToldTo(branch *ssa.If) bool {
	for b := branch.Block(); b.Idom() != nil && l.blocks[b.Idom()]; b = b.Idom() {
		at, ok := terminator(b.Idom()).(*ssa.If)
		if !ok || len(b.Preds) != 1 || at.Block().Succs[0] != b {
			continue
		}
		if sel, n := caseOf(at.Cond); sel != nil && takesMessage(sel.States[n]) {
			return true
		}
	}
	return false
}

// setsFlag reports whether the loop goes on behind one side of a branch, and not behind the
// other, where a flag is set that ends it.
func (l *loop) setsFlag(branch *ssa.If) bool {
	b := branch.Block()
	return l.blocks[b.Succs[0]] && l.blocks[b.Succs[1]] && l.way(b, b.Succs[0]).returns() != l.way(b, b.Succs[1]).returns()
}

// givesUp reports whether a branch leaves the loop to return an error that is made there, where
// the loop otherwise goes so many rounds and then returns none: it does the same several times over.
func (l *loop) givesUp(branch *ssa.If) bool {
	fails := slices.ContainsFunc(branch.Block().Succs, func(s *ssa.BasicBlock) bool {
		ret, ok := terminator(s).(*ssa.Return)
		if !ok || l.blocks[s] {
			return false
		}
		_, made := returnedError(ret).(*ssa.Call)
		return made
	})
	return fails && slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
		branch, ok := terminator(b).(*ssa.If)
		if !ok {
			return false
		}
		cmp, ok := branch.Cond.(*ssa.BinOp)
		return ok && (l.counted(cmp.X) || l.counted(cmp.Y)) && slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool {
			ret, ok := terminator(s).(*ssa.Return)
			return ok && !l.blocks[s] && len(ret.Results) > 0 && isError(ret.Results[len(ret.Results)-1].Type()) &&
				isNil(returnedError(ret))
		})
	})
}

// leavesForOne reports whether block b leaves the loop where it has recognised one error.
func (l *loop) leavesForOne(b *ssa.BasicBlock) bool {
	one := asksForOne(terminator(b).(*ssa.If))
	return one != nil && !l.blocks[one]
}

// asksForAnother reports whether a branch compares the error of another call.
func asksForAnother(branch *ssa.If, call *ssa.Call) bool {
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok || !isError(cmp.X.Type()) || !isNil(cmp.Y) {
		return false
	}
	of := cmp.X
	if x, ok := of.(*ssa.Extract); ok {
		of = x.Tuple
	}
	other, ok := of.(*ssa.Call)
	return ok && other != call && !(asksForError(other) && root(receiverOf(other)) == ssa.Value(call))
}

// tellsApart reports whether block b, to which a failure leads, asks which error it was:
// one may be what the loop waits for, as that there is no such thing any more.
func tellsApart(b *ssa.BasicBlock, errs map[ssa.Value]bool) bool {
	branch, ok := terminator(b).(*ssa.If)
	return ok && recognises(branch.Cond, errs)
}

// onlyNeeds reports whether a branch leaves the loop where a call has gotten nothing: there
// is nothing to go on with.
func (l *loop) onlyNeeds(branch *ssa.If, call *ssa.Call) bool {
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok || cmp.X != ssa.Value(call) || !isNil(cmp.Y) || !isGotten(call) {
		return false
	}
	without := branch.Block().Succs[0]
	if cmp.Op == token.NEQ {
		without = branch.Block().Succs[1]
	}
	return !l.blocks[without]
}

// isAskedOf reports whether a call only gets the object that another call is of, which
// is what the loop tries.
func isAskedOf(call *ssa.Call) bool {
	return isGotten(call) && slices.ContainsFunc(*call.Referrers(), func(ref ssa.Instruction) bool {
		next, ok := ref.(*ssa.Call)
		return ok && receiverOf(next) == ssa.Value(call)
	})
}

// endsOtherwise reports whether the loop may end by something else than some errors, or
// the end of a context: by what it has made of an answer.
func (l *loop) endsOtherwise(errs map[ssa.Value]bool) bool {
	return slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !l.mayLeave(branch) || isOfSelect(branch.Cond) || isOfChannel(branch.Cond) || l.isToldTo(branch) ||
			failingEdge(b) != nil || contextAsked(branch.Cond) != nil || whenStopped(b) != nil || l.givesUp(branch) {
			return false
		}
		if cmp, ok := branch.Cond.(*ssa.BinOp); ok && (l.counted(cmp.X) || l.counted(cmp.Y)) {
			return false // so often, whatever was answered
		}
		_, failing, _ := l.branchOn(b, errs)
		return failing == nil
	})
}

// asksFilled reports whether a way out depends on what a call was given to fill: an
// argument that leads to a struct, or to a variable for one, from before the loop, or to
// an empty one.
func (l *loop) asksFilled(call *ssa.Call) bool {
	for _, arg := range argumentsOf(call.Common()) {
		if made, ok := arg.(*ssa.MakeInterface); ok {
			arg = made.X
		}
		alloc, made := arg.(*ssa.Alloc)
		if p, ok := arg.Type().Underlying().(*types.Pointer); !ok || !isObject(p) && !isObject(p.Elem()) ||
			l.blocks[blockOf(arg)] && !(made && isLeftEmpty(alloc)) {
			continue
		}
		for branch := range l.branchesOn(arg) {
			// An error of another call says what that did.
			if failingEdge(branch.Block()) == nil && l.mayLeave(branch) && !l.comparesVariable(branch) {
				return true
			}
		}
	}
	return false
}

// comparesVariable reports whether a branch compares a number that each round sets anew, as
// the time that has passed.
func (l *loop) comparesVariable(branch *ssa.If) bool {
	cmp, ok := branch.Cond.(*ssa.BinOp)
	return ok && slices.ContainsFunc([]ssa.Value{cmp.X, cmp.Y}, func(v ssa.Value) bool {
		phi, ok := v.(*ssa.Phi)
		return ok && phi.Block() == l.header && isInteger(phi.Type())
	})
}

// isLeftEmpty reports whether nothing is assigned to a variable or its parts.
func isLeftEmpty(alloc *ssa.Alloc) bool {
	return !slices.ContainsFunc(storesTo(alloc), func(store *ssa.Store) bool { return !isZero(store.Val) })
}

func isBuiltin(call *ssa.Call) bool {
	_, ok := call.Common().Value.(*ssa.Builtin)
	return ok
}

// dependsOn reports whether a branch that may leave the loop depends on v, or one that
// compares it decides whether the round may leave it later.
func (l *loop) dependsOn(v ssa.Value) bool {
	for branch := range l.branchesOn(v) {
		cmp, ok := branch.Cond.(*ssa.BinOp)
		if l.mayLeave(branch) ||
			ok && cmp.X == v && l.leavesFrom(branch.Block().Succs[0]) != l.leavesFrom(branch.Block().Succs[1]) {
			return true
		}
	}
	return false
}

// leavesFrom reports whether the round may leave the loop behind block b, where nothing
// else fails.
func (l *loop) leavesFrom(b *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if !l.blocks[b] {
			return true
		}
		if b == l.header || seen[b] {
			return false
		}
		seen[b] = true
		return slices.ContainsFunc(b.Succs, func(to *ssa.BasicBlock) bool { return to != failingEdge(b) && visit(to) })
	}
	return visit(b)
}

// mayLeave reports whether one side of a branch is outside of the loop.
func (l *loop) mayLeave(branch *ssa.If) bool {
	return slices.ContainsFunc(branch.Block().Succs, func(s *ssa.BasicBlock) bool { return !l.blocks[s] })
}

// branchesOn returns the branches of the loop that depend on v.
func (l *loop) branchesOn(v ssa.Value) map[*ssa.If]bool {
	branches, seen := map[*ssa.If]bool{}, map[ssa.Value]bool{}
	var visit func(ssa.Value)
	visit = func(v ssa.Value) {
		if seen[v] || v.Referrers() == nil {
			return
		}
		seen[v] = true
		for _, ref := range *v.Referrers() {
			if !l.blocks[ref.Block()] {
				continue
			}
			switch ref := ref.(type) {
			case *ssa.If:
				branches[ref] = true
			case *ssa.Store:
				if kept, ok := ref.Addr.(*ssa.Alloc); ok && ref.Val == v {
					visit(kept)
				}
			case ssa.Value:
				visit(ref)
				if call, ok := ref.(*ssa.Call); ok && isDecoding(call) {
					for _, arg := range call.Common().Args {
						if filled := targetOf(arg); filled != nil {
							visit(filled)
						}
					}
				}
			}
		}
	}
	visit(v)
	return branches
}

// between returns the blocks on the ways from one block of the loop to another
// that do not pass the header again, which are not to be changed.
func (l *loop) between(from, to *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	if on, known := l.on.Load(edge{from, to}); known {
		return on.(map[*ssa.BasicBlock]bool)
	}
	on := l.findBetween(from, to)
	l.on.Store(edge{from, to}, on)
	return on
}

func (l *loop) findBetween(from, to *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	forward := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if !l.blocks[b] || forward[b] {
			return
		}
		forward[b] = true
		if b == to || ends(b) {
			return
		}
		for _, s := range b.Succs {
			if s != l.header {
				visit(s)
			}
		}
	}
	visit(from)
	on := map[*ssa.BasicBlock]bool{}
	var back func(*ssa.BasicBlock)
	back = func(b *ssa.BasicBlock) {
		if !forward[b] || on[b] {
			return
		}
		on[b] = true
		if b == from {
			return
		}
		for _, p := range b.Preds {
			back(p)
		}
	}
	back(to)
	return on
}
