package retryloop

import "golang.org/x/tools/go/ssa"

// Around returns the blocks of the innermost loop around an instruction, or nil.
func Around(instr ssa.Instruction) map[*ssa.BasicBlock]bool {
	var inner *loop
	for _, l := range loops(instr.Parent()) {
		if l.innermost[instr.Block()] == l {
			inner = l
		}
	}
	if inner == nil {
		return nil
	}
	return inner.blocks
}
