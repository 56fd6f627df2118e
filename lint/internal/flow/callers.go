package flow

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Callers contains the calls of each function in a package whose calls are all known. Such a
// function is not exported, is not a method, which interfaces may call, and is not used other
// than by calls.
type Callers map[*ssa.Function][]ssa.CallInstruction

// CallersOf returns the callers of the functions of a package.
func CallersOf(fns []*ssa.Function) Callers {
	calls := Callers{}
	used := map[*ssa.Function]bool{} // functions that are not only called
	for _, fn := range fns {
		for instr := range Instructions(fn.Blocks) {
			var callee *ssa.Function
			if call, ok := instr.(ssa.CallInstruction); ok {
				if callee = call.Common().StaticCallee(); callee != nil {
					calls[callee] = append(calls[callee], call)
				}
			}
			for i, op := range instr.Operands(nil) {
				if value, ok := (*op).(*ssa.Function); ok && !(i == 0 && value == callee) {
					used[value] = true
				}
			}
			// A literal that is called where it is created is only called.
			if c, ok := instr.(*ssa.MakeClosure); ok && isOnlyCalled(c) {
				delete(used, c.Fn.(*ssa.Function))
			}
		}
	}
	for fn := range calls {
		exported := fn.Object() != nil && (fn.Object().Exported() || fn.Signature.Recv() != nil)
		if used[fn] || exported || fn.Origin() != nil {
			delete(calls, fn)
		}
	}
	return calls
}

// isOnlyCalled reports whether a function literal is used only by calls.
func isOnlyCalled(c *ssa.MakeClosure) bool {
	return !slices.ContainsFunc(Refs(c), func(ref ssa.Instruction) bool {
		call, ok := ref.(ssa.CallInstruction)
		return !ok || call.Common().Value != c
	})
}

// Arguments returns the arguments for a parameter in all calls of its function, and whether all
// calls are known.
func (c Callers) Arguments(param *ssa.Parameter) (args []ssa.Value, known bool) {
	calls, known := c[param.Parent()]
	for _, call := range calls {
		args = append(args, call.Common().Args[slices.Index(param.Parent().Params, param)])
	}
	return args, known
}

// Precedes reports whether every path to b contains a.
func Precedes(a, b ssa.Instruction) bool {
	if a.Block() != b.Block() {
		return a.Block().Dominates(b.Block())
	}
	return slices.Index(a.Block().Instrs, a) <= slices.Index(b.Block().Instrs, b)
}

// StoredBefore returns the values that a local variable may hold at an instruction: all values
// that its function ever stores in it, except those that are overwritten on every path.
func StoredBefore(variable *ssa.Alloc, at ssa.Instruction) (values []ssa.Value) {
	stores := Stores(variable)
	for _, s := range stores {
		if !slices.ContainsFunc(stores, func(later *ssa.Store) bool {
			return later != s && Precedes(s, later) && Precedes(later, at)
		}) {
			values = append(values, s.Val)
		}
	}
	return values
}
