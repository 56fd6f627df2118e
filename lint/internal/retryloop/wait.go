package retryloop

import (
	"go/constant"
	"go/token"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"
)

// A DeafWait is a wait in a loop that tries or asks the same again, which
// nothing can cut short although a context is at hand.
type DeafWait struct {
	Instr   ssa.Instruction // a call of time.Sleep, or a receive from a timer
	Context ssa.Value       // lives through the loop
}

// DeafWaits returns the waits of fn that ignore a live context.
func DeafWaits(fn *ssa.Function) (found []DeafWait) {
	for _, l := range loops(fn) {
		var ctx ssa.Value
		looked := false
		for _, b := range l.list {
			if l.innermost[b] != l {
				continue
			}
			for _, instr := range b.Instrs {
				if !isPlainWait(instr) {
					continue
				}
				if !looked {
					looked = true
					asked := l.contextAsked()
					if asked != nil || l.tries() {
						ctx = liveContext(fn, l.header)
					}
					// That of another object may be meant for all that it does.
					if ctx == nil && asked != nil && l.retries() {
						ctx = asked
					}
					if l.isDetached() {
						ctx = nil
					}
				}
				if ctx != nil && !endedAt(b) && !hasNone(b) {
					found = append(found, DeafWait{instr, ctx})
				}
			}
		}
	}
	return found
}

// shortest is a wait that is not worth to be cut short.
const shortest = 100 * time.Millisecond

// isPlainWait reports whether an instruction waits for a time that is long, or
// not known, and for nothing else.
func isPlainWait(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Call:
		return isNamed(instr.Common().StaticCallee(), "time", "Sleep") && !isShort(instr.Common().Args[0])
	case *ssa.UnOp:
		if instr.Op != token.ARROW {
			return false
		}
		after, ok := instr.X.(*ssa.Call)
		return ok && isNamed(after.Common().StaticCallee(), "time", "After") && !isShort(after.Common().Args[0])
	}
	return false
}

func isShort(d ssa.Value) bool {
	c, ok := d.(*ssa.Const)
	if !ok || c.Value == nil {
		return false
	}
	n, exact := constant.Int64Val(constant.ToInt(c.Value))
	return exact && time.Duration(n) <= shortest
}

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

// Spins reports whether a loop that nothing leaves makes a call again as soon
// as it returns.
func Spins(call *ssa.Call) bool {
	for _, l := range loops(call.Parent()) {
		if l.innermost[call.Block()] != l {
			continue
		}
		for _, b := range l.list {
			if slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool { return !l.blocks[s] }) || len(b.Succs) == 0 || ends(b) {
				return false
			}
			for _, instr := range b.Instrs {
				if instr != ssa.Instruction(call) && mayWait(instr, 3) {
					return false
				}
			}
		}
		return true
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
	if strings.HasPrefix(name, "new") {
		return false // what makes a delay does not wait
	}
	for _, word := range []string{"sleep", "wait", "backoff", "delay", "pause", "pace", "throttle", "limit", "after", "again", "retry"} {
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
