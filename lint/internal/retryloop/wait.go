package retryloop

import (
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Waits reports whether anything between one failure and the next attempt may
// take time by itself. What cannot be seen into may.
func (r Retry) Waits() bool {
	for b := range r.failed.cycle() {
		for _, instr := range b.Instrs {
			if instr != ssa.Instruction(r.Call) && mayWait(instr, 3) {
				return true
			}
		}
	}
	return false
}

// mayWait reports whether an instruction may block. It looks depth calls deep
// into this package, and believes the names of what it cannot see.
func mayWait(instr ssa.Instruction, depth int) bool {
	switch instr := instr.(type) {
	case *ssa.UnOp:
		return instr.Op == token.ARROW
	case *ssa.Select:
		return instr.Blocking
	case *ssa.Send:
		return true
	case *ssa.Call:
		return isWait(instr, depth)
	}
	return false
}

func isWait(call *ssa.Call, depth int) bool {
	common := call.Common()
	name := strings.ToLower(nameOf(call))
	for _, word := range []string{"sleep", "wait", "backoff", "delay", "pause", "pace", "throttle", "limit", "lock", "sync", "after", "again", "retry"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	if _, builtin := common.Value.(*ssa.Builtin); builtin {
		return false
	}
	fn := common.StaticCallee()
	if fn == nil {
		return !common.IsInvoke() // a function value
	}
	return depth > 0 && slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		return slices.ContainsFunc(b.Instrs, func(in ssa.Instruction) bool { return mayWait(in, depth-1) })
	})
}
