package retryloop

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// MayEnd reports whether an operation may say by itself that it was tried often
// enough: it steps a variable that it keeps, or asks a context, a channel or a
// clock.
func MayEnd(fn *ssa.Function) bool {
	return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			switch instr := instr.(type) {
			case *ssa.Store:
				return steps(instr)
			case *ssa.Select:
				return true
			case *ssa.UnOp:
				return instr.Op == token.ARROW
			case *ssa.Call:
				return methodOfContext(instr, "Err") != nil || methodOfContext(instr, "Done") != nil ||
					isNamed(instr.Common().StaticCallee(), "time", "Now", "Since", "Until")
			}
			return false
		})
	})
}

// steps reports whether a store changes memory by what it was before.
func steps(store *ssa.Store) bool {
	sum, ok := store.Val.(*ssa.BinOp)
	if !ok {
		return false
	}
	before, ok := sum.X.(*ssa.UnOp)
	return ok && before.Op == token.MUL && root(before.X) == root(store.Addr)
}

// OnlyStored returns what a variable holds, if it is assigned to once.
func OnlyStored(alloc *ssa.Alloc) ssa.Value {
	var only ssa.Value
	for _, ref := range *alloc.Referrers() {
		if store, ok := ref.(*ssa.Store); ok && store.Addr == alloc {
			if only != nil {
				return nil
			}
			only = store.Val
		}
	}
	return only
}

// LiveContext returns a context that somebody may end while instr runs, or nil.
func LiveContext(instr ssa.Instruction) ssa.Value { return liveContext(instr.Parent(), instr.Block()) }
