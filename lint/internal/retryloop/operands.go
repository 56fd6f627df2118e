package retryloop

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// repeats reports whether the call is made with the same operands when the
// failing branch leads to it again. Attempt counters and the context of the
// attempt may differ.
func (l *loop) repeats(call *ssa.Call, failed map[*ssa.BasicBlock]bool) bool {
	s := sameness{loop: l, failed: failed, seen: map[ssa.Value]bool{}}
	roots := map[ssa.Value]bool{}
	for _, op := range call.Operands(nil) {
		if *op == nil {
			continue
		}
		if !s.same(*op) {
			return false
		}
		roots[root(*op)] = true
	}
	// A store into what an operand points to makes another operand of it.
	for b := range failed {
		if b == l.header {
			continue
		}
		for _, instr := range b.Instrs {
			if store, ok := instr.(*ssa.Store); ok && roots[root(store.Addr)] && !isConst(root(store.Addr)) {
				return false
			}
		}
	}
	return true
}

// changes reports whether the succeeding branch leads back to the call with
// other operands: the next item after the one that was retried.
func (l *loop) changes(call *ssa.Call, failed, succeeded map[*ssa.BasicBlock]bool) bool {
	for phi := range l.variables(call) {
		changed, kept := false, false
		for i, edge := range phi.Edges {
			if pred := l.header.Preds[i]; succeeded[pred] && !failed[pred] {
				changed = changed || edge != phi
				kept = kept || edge == phi // some success leaves it as it was
			}
		}
		if changed && !kept {
			return true
		}
	}
	return false
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

// sameness judges whether a value is the same in the next round of a failing
// loop.
type sameness struct {
	loop   *loop
	failed map[*ssa.BasicBlock]bool
	seen   map[ssa.Value]bool
}

func (s sameness) same(v ssa.Value) bool {
	instr, ok := v.(ssa.Instruction)
	if !ok || !s.loop.blocks[instr.Block()] {
		return true // a constant, a parameter, or defined before the loop
	}
	if s.seen[v] {
		return true
	}
	s.seen[v] = true
	switch v := v.(type) {
	case *ssa.Phi:
		return s.samePhi(v)
	case *ssa.Alloc, *ssa.MakeMap:
		return !slices.ContainsFunc(contents(v), func(in ssa.Value) bool { return !s.same(in) })
	case *ssa.Call:
		return isRebuilt(v) && s.sameOperands(v)
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.Field, *ssa.IndexAddr, *ssa.Slice, *ssa.MakeInterface, *ssa.ChangeInterface,
		*ssa.ChangeType, *ssa.Convert, *ssa.TypeAssert, *ssa.Extract, *ssa.MakeClosure, *ssa.BinOp:
		return s.sameOperands(instr)
	}
	return false
}

func (s sameness) sameOperands(instr ssa.Instruction) bool {
	for _, op := range instr.Operands(nil) {
		if *op != nil && !s.same(*op) {
			return false
		}
	}
	return true
}

func (s sameness) samePhi(phi *ssa.Phi) bool {
	if basic, ok := phi.Type().Underlying().(*types.Basic); ok && basic.Info()&types.IsInteger != 0 && phi.Block() == s.loop.header {
		return s.isCounter(phi)
	}
	for i, edge := range phi.Edges {
		pred := phi.Block().Preds[i]
		if phi.Block() == s.loop.header && (!s.loop.blocks[pred] || !s.failed[pred]) {
			continue // from before the loop, or after a success
		}
		if edge != phi && !s.same(edge) {
			return false
		}
		if phi.Block() == s.loop.header && edge != phi {
			return false // another value after a failure
		}
	}
	return true
}

// isCounter reports whether a failure leaves an integer as it is or counts it
// up or down by a constant.
func (s sameness) isCounter(phi *ssa.Phi) bool {
	for i, edge := range phi.Edges {
		if pred := phi.Block().Preds[i]; !s.loop.blocks[pred] || !s.failed[pred] || edge == phi {
			continue
		}
		step, ok := edge.(*ssa.BinOp)
		if !ok || step.X != phi || !isConst(step.Y) {
			return false
		}
	}
	return true
}

// isRebuilt reports whether a call makes the same of the same arguments:
// what an attempt needs anew.
func isRebuilt(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	if fn == nil || fn.Object() == nil || fn.Object().Pkg() == nil {
		return false
	}
	if fn.Signature.Recv() != nil {
		return isOfTime(fn)
	}
	path, name := fn.Object().Pkg().Path(), fn.Name()
	switch path {
	case "context":
		return true
	case "bytes", "strings":
		return name == "NewReader" || name == "NewBuffer" || name == "NewBufferString"
	case "net/http":
		return name == "NewRequest" || name == "NewRequestWithContext"
	case "fmt":
		return name == "Sprintf" || name == "Sprint"
	}
	return false
}

// root returns the variable that an address or value is part of.
func root(v ssa.Value) ssa.Value {
	for {
		switch x := v.(type) {
		case *ssa.FieldAddr, *ssa.Field, *ssa.IndexAddr, *ssa.UnOp, *ssa.Slice, *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType:
			v = *x.(ssa.Instruction).Operands(nil)[0]
		default:
			return v
		}
	}
}

func isConst(v ssa.Value) bool {
	_, ok := v.(*ssa.Const)
	return ok
}
