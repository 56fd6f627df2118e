package retryloop

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// operands says what a call is given in the next attempt.
type operands uint8

const (
	otherOperands    operands = iota // what is tried next is something else
	sameOperands                     // the same
	oneSidedOperands                 // the same, where the error was none of some
	countingOperands                 // the same, but for a number that counts with the attempts
	rereadOperands                   // what is computed from what each attempt reads again
	askedOperands                    // what calls return anew
)

// areNew reports whether each attempt gets its operands anew.
func (o operands) areNew() bool { return o == rereadOperands || o == askedOperands }

// sameOr returns what operands are that are the same, or that count.
func sameOr(count bool) operands {
	if count {
		return countingOperands
	}
	return sameOperands
}

// operandsOf says with which operands the way leads to the call again, and on which way: it
// may be one without a side of a branch that asks for the error.
func (w way) operandsOf(call *ssa.Call, errs map[ssa.Value]bool) (operands, way) {
	if same, counts := w.repeats(call); same {
		return sameOr(counts), w
	}
	switch {
	case w.rereads(call):
		return rereadOperands, w
	case w.refreshes(call):
		return askedOperands, w
	}
	if side, ok := w.repeatsOnOneSide(call, errs); ok {
		return oneSidedOperands, side
	}
	return otherOperands, w
}

// rereads reports whether the call is made again with operands that the way
// only computes from what it reads again, given a context: a change that is
// tried again on what is there now.
func (w way) rereads(call *ssa.Call) bool {
	var counted, read bool
	s := sameness{way: w, seen: map[ssa.Value]bool{}, counted: &counted, read: &read}
	for _, op := range call.Operands(nil) {
		if *op != nil && !s.same(*op) {
			return false
		}
	}
	return read && !counted
}

// refreshes reports whether the call is made again, after a wait, with operands
// that the way has asked for anew: for the address of a service, say. Who searches
// for what is free does not wait.
func (w way) refreshes(call *ssa.Call) bool { return w.alwaysWaits() && w.asksAnew(call) }

// asksAnew reports whether the call is made again with operands that are the same, or
// that the way has asked others for anew.
func (w way) asksAnew(call *ssa.Call) bool {
	var counted bool
	s := sameness{way: w, call: call, seen: map[ssa.Value]bool{}, counted: &counted, again: true}
	for _, op := range call.Operands(nil) {
		if *op != nil && (!s.same(*op) || w.overwrites(call, *op)) {
			return false
		}
	}
	return !counted
}

// repeats reports whether the call is made with the same operands when the way
// leads to it again. The context of the attempt may differ, and numbers may
// count: counted tells whether one does.
func (w way) repeats(call *ssa.Call) (same, counted bool) {
	s := sameness{way: w, call: call, seen: map[ssa.Value]bool{}, counted: &counted}
	for _, op := range call.Operands(nil) {
		if *op != nil && (!s.same(*op) || w.overwrites(call, *op) || w.overwritesBehind(*op)) {
			return false, false
		}
	}
	return true, counted
}

// alters reports whether the first failure changes an operand of the next attempt.
func (w way) alters(call *ssa.Call) bool {
	var counted, altered bool
	s := sameness{way: w, call: call, seen: map[ssa.Value]bool{}, counted: &counted, altered: &altered}
	for _, op := range call.Operands(nil) {
		if *op != nil {
			s.same(*op)
			altered = altered || w.setsConstant(root(*op))
		}
	}
	return altered
}

// setsConstant reports whether the way assigns a constant to a variable or a part of it.
func (w way) setsConstant(variable ssa.Value) bool {
	for b := range w.blocks {
		if slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			store, ok := instr.(*ssa.Store)
			return ok && isConst(store.Val) && root(store.Addr) == variable
		}) {
			return true
		}
	}
	return false
}

// changes reports whether a success leads back to the call with other
// operands: the next item after the one that was retried.
func changes(call *ssa.Call, failed, succeeded way) bool {
	l := failed.loop
	for phi := range l.variables(call) {
		changed, kept := false, false
		for i, edge := range phi.Edges {
			if pred := l.header.Preds[i]; succeeded.enters(pred) && !failed.enters(pred) {
				changed = changed || edge != phi
				kept = kept || edge == phi // some success leaves it as it was
			}
		}
		if changed && !kept {
			return true
		}
	}
	return slices.ContainsFunc(argumentsOf(call.Common()), func(arg ssa.Value) bool {
		return succeeded.refills(root(arg), failed)
	})
}

// refills reports whether the way puts something else into what a variable leads to,
// whenever it comes back to the header, and another way never does.
func (w way) refills(variable ssa.Value, but way) bool {
	puts := func(b *ssa.BasicBlock) bool {
		return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			store, ok := instr.(*ssa.Store)
			return ok && !isConst(store.Val) && store.Addr != variable && root(store.Addr) == variable
		})
	}
	for b := range but.blocks {
		if puts(b) {
			return false
		}
	}
	seen := map[*ssa.BasicBlock]bool{}
	var misses func(*ssa.BasicBlock) bool
	misses = func(b *ssa.BasicBlock) bool {
		if b == w.loop.header {
			return true
		}
		if seen[b] || !w.blocks[b] || ends(b) || puts(b) {
			return false
		}
		seen[b] = true
		return slices.ContainsFunc(b.Succs, misses)
	}
	return w.returns() && !misses(w.to)
}

// advances reports whether a success counts towards what the loop is to reach,
// and a failure does not.
func advances(failed, succeeded way) bool {
	l := failed.loop
	branch, ok := terminator(l.header).(*ssa.If)
	if !ok || l.blocks[branch.Block().Succs[0]] && l.blocks[branch.Block().Succs[1]] {
		return false
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok {
		return false
	}
	return slices.ContainsFunc([]ssa.Value{cmp.X, cmp.Y}, func(v ssa.Value) bool {
		phi, ok := v.(*ssa.Phi)
		if !ok || phi.Block() != l.header {
			return false
		}
		counts := false
		for i, edge := range phi.Edges {
			switch pred := l.header.Preds[i]; {
			case failed.enters(pred) && edge != phi:
				return false
			case !failed.enters(pred) && succeeded.enters(pred):
				if !isStep(edge, phi) {
					return false
				}
				counts = true
			}
		}
		return counts
	})
}

// variables returns the variables of the loop that the operands of a call are
// made of.
func (l *loop) variables(call *ssa.Call) map[*ssa.Phi]bool {
	found := map[*ssa.Phi]bool{}
	seen := map[ssa.Value]bool{}
	var visit func(ssa.Value)
	visit = func(v ssa.Value) {
		instr, ok := v.(ssa.Instruction)
		if !ok || seen[v] || !l.blocks[instr.Block()] {
			return
		}
		seen[v] = true
		if phi, ok := v.(*ssa.Phi); ok && phi.Block() == l.header {
			found[phi] = true
			return
		}
		for _, op := range instr.Operands(nil) {
			if *op != nil {
				visit(*op)
			}
		}
		for _, stored := range contents(v) {
			visit(stored)
		}
	}
	for _, op := range call.Operands(nil) {
		if *op != nil {
			visit(*op)
		}
	}
	return found
}

// contents returns what is put into a variable or map that is built anew for
// each attempt: an argument list, a request.
func contents(v ssa.Value) (values []ssa.Value) {
	var visit func(ssa.Value)
	visit = func(v ssa.Value) {
		for _, ref := range *v.Referrers() {
			switch ref := ref.(type) {
			case *ssa.Store:
				if ref.Addr == v {
					values = append(values, ref.Val)
				}
			case *ssa.MapUpdate:
				if ref.Map == v {
					values = append(values, ref.Key, ref.Value)
				}
			case *ssa.FieldAddr:
				visit(ref)
			case *ssa.IndexAddr:
				visit(ref)
			}
		}
	}
	switch v.(type) {
	case *ssa.Alloc, *ssa.MakeMap:
		visit(v)
	}
	return values
}

// storesTo returns the assignments to a variable, or to a part of it.
func storesTo(addr ssa.Value) (stores []*ssa.Store) {
	for _, ref := range *addr.Referrers() {
		switch ref := ref.(type) {
		case *ssa.Store:
			if ref.Addr == addr {
				stores = append(stores, ref)
			}
		case *ssa.FieldAddr:
			stores = append(stores, storesTo(ref)...)
		case *ssa.IndexAddr:
			stores = append(stores, storesTo(ref)...)
		}
	}
	return stores
}

// stepAlong returns how much v is more than a variable of the loop, on this way. It
// looks depth steps back.
func (w way) stepAlong(v ssa.Value, variable *ssa.Phi, depth int) (n int64, ok bool) {
	if v == ssa.Value(variable) || depth == 0 {
		return 0, depth > 0
	}
	switch v := v.(type) {
	case *ssa.BinOp:
		by, isStep := stepOf(v, v.X)
		before, ok := w.stepAlong(v.X, variable, depth-1)
		return before + by, ok && isStep && isInteger(v.Type())
	case *ssa.Phi:
		if v.Block() == w.loop.header || !w.loop.blocks[v.Block()] {
			return 0, false
		}
		first, behind := true, w.blocks[v.Block()]
		for i, pred := range v.Block().Preds {
			if behind && !w.takes(pred, v.Block()) || isLacking(variable, pred) {
				continue
			}
			by, ok := w.stepAlong(v.Edges[i], variable, depth-1)
			if !ok || !first && by != n {
				return 0, false
			}
			n, first = by, false
		}
		return n, !first
	}
	return 0, false
}

// isLacking reports whether block b only runs when a variable is nil: it is made
// when it is needed first.
func isLacking(variable *ssa.Phi, b *ssa.BasicBlock) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		branch, ok := terminator(b.Idom()).(*ssa.If)
		if !ok || len(b.Preds) != 1 {
			continue
		}
		cmp, ok := branch.Cond.(*ssa.BinOp)
		if ok && cmp.X == ssa.Value(variable) && isNil(cmp.Y) &&
			(cmp.Op == token.EQL && b == branch.Block().Succs[0] || cmp.Op == token.NEQ && b == branch.Block().Succs[1]) {
			return true
		}
	}
	return false
}

func isInteger(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}

// isStep reports whether v is a variable plus or minus a constant.
func isStep(v, variable ssa.Value) bool {
	step, ok := v.(*ssa.BinOp)
	if !ok || step.X != variable || !isConst(step.Y) {
		return false
	}
	return isInteger(variable.Type()) && (step.Op == token.ADD || step.Op == token.SUB)
}

// counts reports whether a closure changes a variable by what it was before.
func counts(fn *ssa.Function) bool {
	return slices.ContainsFunc(fn.FreeVars, func(v *ssa.FreeVar) bool {
		read, written := false, false
		for _, ref := range *v.Referrers() {
			switch ref.(type) {
			case *ssa.UnOp:
				read = true
			case *ssa.Store:
				written = true
			}
		}
		return read && written
	})
}

// overwritesBehind reports whether the way may change what an operand is made
// of, or is a part of.
func (w way) overwritesBehind(v ssa.Value) bool {
	return w.overwritesBehindBut(v, map[ssa.Value]bool{})
}

func (w way) overwritesBehindBut(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	if c, ok := root(v).(*ssa.MakeClosure); ok {
		return w.overwritesCaptured(c)
	}
	call, ok := root(v).(*ssa.Call)
	if x, isResult := root(v).(*ssa.Extract); isResult {
		call, ok = x.Tuple.(*ssa.Call)
	}
	if !ok || !w.loop.blocks[call.Block()] {
		return false
	}
	if base := receiverOf(call); base != nil && w.uses(root(base), call) {
		return true
	}
	return slices.ContainsFunc(call.Operands(nil), func(op *ssa.Value) bool {
		return *op != nil && (w.overwrites(call, *op) || w.overwritesBehindBut(*op, seen))
	})
}

// overwritesCaptured reports whether the way, or each round, assigns to a
// variable that a closure reads.
func (w way) overwritesCaptured(c *ssa.MakeClosure) bool {
	fn := c.Fn.(*ssa.Function)
	rounds := w.loop.between(w.loop.header, w.from)
	for i, v := range c.Bindings {
		if _, ok := v.(*ssa.Alloc); !ok || w.isFresh(v) || !isRead(fn.FreeVars[i]) {
			continue
		}
		for _, ref := range *v.Referrers() {
			switch ref := ref.(type) {
			case *ssa.Store:
				if w.blocks[ref.Block()] || rounds[ref.Block()] {
					return true
				}
			case *ssa.UnOp:
				if w.setsFieldOf(ref, fn.FreeVars[i]) {
					return true
				}
			}
		}
	}
	return false
}

// setsFieldOf reports whether the way assigns anything but a constant to a field of what a
// variable holds that a closure reads from the variable.
func (w way) setsFieldOf(held *ssa.UnOp, captured *ssa.FreeVar) bool {
	return slices.ContainsFunc(*held.Referrers(), func(ref ssa.Instruction) bool {
		set, ok := ref.(*ssa.FieldAddr)
		return ok && slices.ContainsFunc(*set.Referrers(), func(use ssa.Instruction) bool {
			store, ok := use.(*ssa.Store)
			return ok && store.Addr == ssa.Value(set) && w.blocks[store.Block()] && !isConst(store.Val)
		}) && readsField(captured, set)
	})
}

// readsField reports whether a closure reads a field of what a captured variable holds.
func readsField(captured *ssa.FreeVar, field *ssa.FieldAddr) bool {
	return slices.ContainsFunc(*captured.Referrers(), func(ref ssa.Instruction) bool {
		held, ok := ref.(*ssa.UnOp)
		return ok && slices.ContainsFunc(*held.Referrers(), func(use ssa.Instruction) bool {
			read, ok := use.(*ssa.FieldAddr)
			return ok && isSameField(read, field)
		})
	})
}

// isRead reports whether a closure does more with a variable than to assign, and to read
// what it has assigned.
func isRead(v *ssa.FreeVar) bool {
	var assigned []*ssa.BasicBlock
	for _, ref := range *v.Referrers() {
		if store, ok := ref.(*ssa.Store); ok && store.Addr == v {
			assigned = append(assigned, store.Block())
		}
	}
	return slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.Store:
			return ref.Addr != v
		case *ssa.UnOp:
			return !slices.ContainsFunc(assigned, func(b *ssa.BasicBlock) bool {
				return b == ref.Block() && isStoredBefore(v, ref) || b != ref.Block() && b.Dominates(ref.Block())
			})
		}
		return true
	})
}

// isStoredBefore reports whether the block of an instruction assigns to a variable before
// it.
func isStoredBefore(variable ssa.Value, instr ssa.Instruction) bool {
	instrs := instr.Block().Instrs
	return slices.ContainsFunc(instrs[:slices.Index(instrs, instr)], func(before ssa.Instruction) bool {
		store, ok := before.(*ssa.Store)
		return ok && store.Addr == variable
	})
}

// uses reports whether the way calls another method of an object.
func (w way) uses(object ssa.Value, but *ssa.Call) bool {
	for b := range w.blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if ok && receiverOf(call) != nil && root(receiverOf(call)) == object && nameOf(call) != nameOf(but) &&
				mayMatter(call) {
				return true
			}
		}
	}
	return false
}

// mayMatter reports whether a call may do more than to tell somebody.
func mayMatter(call *ssa.Call) bool {
	return call.Common().Signature().Results().Len() > 0 || len(call.Common().Args) < 2
}

func isConst(v ssa.Value) bool {
	_, ok := v.(*ssa.Const)
	return ok
}
