package retryloop

import (
	"go/types"

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
	for _, op := range call.Operands(nil) {
		phi, ok := (*op).(*ssa.Phi)
		if !ok || phi.Block() != l.header {
			continue
		}
		changed := false
		for i, edge := range phi.Edges {
			pred := l.header.Preds[i]
			switch {
			case !l.blocks[pred]:
			case succeeded[pred] && !failed[pred]:
				if edge == phi {
					return false // some success leaves it as it was
				}
				changed = true
			}
		}
		if changed {
			return true
		}
	}
	return false
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
	case *ssa.Alloc:
		return s.sameAlloc(v)
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

// sameAlloc reports whether only values that stay the same are stored in what
// is built anew for each attempt: an argument list, a request.
func (s sameness) sameAlloc(alloc *ssa.Alloc) bool {
	var check func(addr ssa.Value) bool
	check = func(addr ssa.Value) bool {
		for _, ref := range *addr.Referrers() {
			switch ref := ref.(type) {
			case *ssa.Store:
				if ref.Addr == addr && !s.same(ref.Val) {
					return false
				}
			case *ssa.FieldAddr:
				if !check(ref) {
					return false
				}
			case *ssa.IndexAddr:
				if !check(ref) {
					return false
				}
			}
		}
		return true
	}
	return check(alloc)
}

// isRebuilt reports whether a call makes the same of the same arguments:
// what an attempt needs anew.
func isRebuilt(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	if fn == nil || fn.Object() == nil || fn.Object().Pkg() == nil || fn.Signature.Recv() != nil {
		return false
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
		case *ssa.FieldAddr:
			v = x.X
		case *ssa.Field:
			v = x.X
		case *ssa.IndexAddr:
			v = x.X
		case *ssa.UnOp:
			v = x.X
		case *ssa.Slice:
			v = x.X
		case *ssa.MakeInterface:
			v = x.X
		case *ssa.ChangeInterface:
			v = x.X
		case *ssa.ChangeType:
			v = x.X
		default:
			return v
		}
	}
}

func isConst(v ssa.Value) bool {
	_, ok := v.(*ssa.Const)
	return ok
}
