package durablerun

import (
	"go/constant"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Lost returns a variable that a function sets when it is executed, and that is read after the
// call that executes the function as a step or as a run. If the result is recorded, the call
// does not execute the function, and the variable is not set. Lost returns nil if there is no
// such variable, if the code checks whether the function was executed, or if the function never
// succeeds.
func (p *Package) Lost(call *ssa.Call, executed ssa.Value) *ssa.Alloc {
	literal, ok := flow.Source(executed, flow.Renamed|flow.Kept).(*ssa.MakeClosure)
	if !ok || !maySucceed(literal.Fn.(*ssa.Function)) {
		return nil
	}
	var lost *ssa.Alloc
	for i, free := range literal.Fn.(*ssa.Function).FreeVars {
		variable := flow.Declared(free)
		stores := flow.Stores(free)
		switch {
		case variable == nil, len(stores) == 0 && !hasEntered(free):
			continue
		case asksFor(variable, stores):
			return nil
		case len(stores) > 0 && countsOnly(free, stores):
			continue
		}
		if lost == nil && isReadAfter(call, literal.Bindings[i]) {
			lost = variable
		}
	}
	return lost
}

// countsOnly reports whether a function only counts its executions in a variable.
func countsOnly(free *ssa.FreeVar, stores []*ssa.Store) bool {
	return !slices.ContainsFunc(stores, func(s *ssa.Store) bool {
		sum, ok := s.Val.(*ssa.BinOp)
		if !ok || sum.Op != token.ADD {
			return true
		}
		load, ok := sum.X.(*ssa.UnOp)
		_, constant := flow.IntOf(sum.Y)
		return !ok || load.X != ssa.Value(free) || !constant
	})
}

// hasEntered reports whether a function adds an entry to the map, or sets an element of the
// slice, that a variable holds.
func hasEntered(free *ssa.FreeVar) bool {
	return slices.ContainsFunc(flow.Refs(free), func(ref ssa.Instruction) bool {
		load, ok := ref.(*ssa.UnOp)
		return ok && slices.ContainsFunc(flow.Refs(load), func(use ssa.Instruction) bool {
			switch use := use.(type) {
			case *ssa.MapUpdate:
				return use.Map == ssa.Value(load)
			case *ssa.IndexAddr:
				return len(flow.Stores(use)) > 0
			}
			return false
		})
	})
}

// maySucceed reports whether a function may return without an error. It never does if it
// returns only errors that it creates, or that are package variables.
func maySucceed(fn *ssa.Function) bool {
	for ret := range flow.Returns(fn) {
		err := ret.Results[len(ret.Results)-1]
		switch made := flow.Source(err, flow.Boxed|flow.Loaded).(type) {
		case *ssa.Global:
		case *ssa.Call:
			if !flow.Known(&made.Call).Is(vocab.Fails) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// asksFor reports whether code checks the value of a variable to find whether the function that
// sets it was executed: it compares the variable with the zero value, or looks up a map entry
// in it, or the variable is a flag that is set to a constant.
func asksFor(variable *ssa.Alloc, stores []*ssa.Store) bool {
	isFlag := func(s *ssa.Store) bool {
		c, ok := s.Val.(*ssa.Const)
		return ok && flow.IsBool(c.Type())
	}
	return slices.ContainsFunc(stores, isFlag) || isCompared(variable)
}

// isCompared reports whether a function compares a variable, or a part of it, with a zero
// value.
func isCompared(addr ssa.Value) bool {
	return slices.ContainsFunc(flow.Refs(addr), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.UnOp:
			return slices.ContainsFunc(flow.Refs(ref), func(use ssa.Instruction) bool {
				if entry, ok := use.(*ssa.Lookup); ok {
					return entry.CommaOk
				}
				cmp, ok := use.(*ssa.BinOp)
				return ok && (isZero(cmp.X) || isZero(cmp.Y)) && flow.IsBool(cmp.Type())
			})
		case *ssa.FieldAddr:
			return isCompared(ref)
		}
		return false
	})
}

// isZero reports whether a value is nil, 0 or "".
func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil {
		return ok
	}
	switch c.Value.Kind() {
	case constant.Int, constant.Float:
		return constant.Sign(c.Value) == 0
	case constant.String:
		return constant.StringVal(c.Value) == ""
	}
	return false
}

// isReadAfter reports whether a variable may be read after a successful call, before it is
// assigned again.
func isReadAfter(call *ssa.Call, addr ssa.Value) bool {
	failed := errorOf(call)
	seen := map[*ssa.BasicBlock]bool{}
	var from func(b *ssa.BasicBlock, instrs []ssa.Instruction) bool
	from = func(b *ssa.BasicBlock, instrs []ssa.Instruction) bool {
		for _, instr := range instrs {
			if store, ok := instr.(*ssa.Store); ok && store.Addr == addr {
				return false
			}
			if reads(instr, addr) {
				return true
			}
		}
		return slices.ContainsFunc(b.Succs, func(next *ssa.BasicBlock) bool {
			if seen[next] || failed != nil && flow.IsFailure(failed, next) {
				return false
			}
			seen[next] = true
			return from(next, next.Instrs)
		})
	}
	b := call.Block()
	return from(b, b.Instrs[slices.Index(b.Instrs, ssa.Instruction(call))+1:])
}

// reads reports whether an instruction reads a variable or a part of it.
func reads(instr ssa.Instruction, addr ssa.Value) bool {
	load, ok := instr.(*ssa.UnOp)
	return ok && load.Op == token.MUL && flow.Source(load.X, flow.Addressed) == addr
}

// errorOf returns the error that a call returns, or nil.
func errorOf(call *ssa.Call) ssa.Value {
	if !flow.ReturnsError(call.Call.Signature()) {
		return nil
	}
	n := call.Call.Signature().Results().Len()
	if n == 1 {
		return call
	}
	for _, ref := range flow.Refs(call) {
		if x, ok := ref.(*ssa.Extract); ok && x.Index == n-1 {
			return x
		}
	}
	return nil
}
