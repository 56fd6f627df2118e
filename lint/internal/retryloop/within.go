package retryloop

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// terminator returns the instruction that ends a block: a branch, a jump, a return or a
// panic.
func terminator(b *ssa.BasicBlock) ssa.Instruction { return b.Instrs[len(b.Instrs)-1] }

// anyInstr reports whether one of the instructions of a function is as said.
func anyInstr(fn *ssa.Function, is func(ssa.Instruction) bool) bool {
	return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool { return slices.ContainsFunc(b.Instrs, is) })
}

// anyInstr reports whether one of the instructions of the loop is as said.
func (l *loop) anyInstr(is func(ssa.Instruction) bool) bool {
	return slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool { return slices.ContainsFunc(b.Instrs, is) })
}

// A look says of an instruction whether it is what is looked for, and into which functions
// to look besides, if depth calls may still follow.
type look func(instr ssa.Instruction, depth int) (found bool, into []*ssa.Function)

// anyWithin reports whether an instruction of one of some functions, or of what these call
// up to depth calls deep, is as said. Each function is looked at once.
func anyWithin(fns []*ssa.Function, depth int, is look) bool {
	seen := map[*ssa.Function]bool{}
	for ; depth >= 0 && len(fns) > 0; depth-- {
		var next []*ssa.Function
		for _, fn := range fns {
			if fn == nil || seen[fn] {
				continue
			}
			seen[fn] = true
			if anyInstr(fn, func(instr ssa.Instruction) bool {
				found, into := is(instr, depth)
				next = append(next, into...)
				return found
			}) {
				return true
			}
		}
		fns = next
	}
	return false
}

// calleeOf returns the function that an instruction calls, if that is known.
func calleeOf(instr ssa.Instruction) []*ssa.Function {
	if call, ok := instr.(ssa.CallInstruction); ok {
		if fn := call.Common().StaticCallee(); fn != nil {
			return []*ssa.Function{fn}
		}
	}
	return nil
}
