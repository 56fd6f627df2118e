package retryloop

import (
	"go/constant"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"
)

// Around returns the blocks of the innermost loop around an instruction, or nil.
func Around(instr ssa.Instruction) map[*ssa.BasicBlock]bool {
	if l := innermostAround(instr); l != nil {
		return l.blocks
	}
	return nil
}

func innermostAround(instr ssa.Instruction) *loop {
	var inner *loop
	for _, l := range loops(instr.Parent()) {
		if l.innermost[instr.Block()] == l {
			inner = l
		}
	}
	return inner
}

// ContextAsked returns the context whose end a condition asks for, or nil.
func ContextAsked(cond ssa.Value) ssa.Value { return contextAsked(cond) }

// Delay returns the constant time that passes between a failure and the next
// attempt, if each failure waits for just that.
func (r Retry) Delay() (d time.Duration, ok bool) {
	var wait *ssa.BasicBlock
	for b := range r.failed.blocks {
		for _, instr := range b.Instrs {
			if call, ok := instr.(*ssa.Call); ok && isNamed(call.Common().StaticCallee(), "time", "After") ||
				!mayWait(instr, 3) {
				continue
			}
			if wait != nil {
				return 0, false
			}
			wait = b
			if d, ok = constantWait(instr); !ok {
				return 0, false
			}
		}
	}
	if wait == nil {
		return 0, false
	}
	seen := map[*ssa.BasicBlock]bool{}
	var passes func(*ssa.BasicBlock) bool
	passes = func(b *ssa.BasicBlock) bool {
		if b == r.failed.loop.header {
			return true
		}
		if b == wait || seen[b] || !r.failed.blocks[b] {
			return false
		}
		seen[b] = true
		return slices.ContainsFunc(b.Succs, passes)
	}
	return d, !passes(r.failed.to)
}

// constantWait returns how long a sleep, or a receive or select from a timer,
// waits.
func constantWait(instr ssa.Instruction) (time.Duration, bool) {
	var timer ssa.Value
	switch instr := instr.(type) {
	case *ssa.Call:
		if d := sleeps(instr); d != nil {
			return constantDuration(d)
		}
	case *ssa.UnOp:
		timer = instr.X
	case *ssa.Select:
		for _, state := range instr.States {
			if methodOfContext(state.Chan, "Done") == nil {
				if timer != nil {
					return 0, false
				}
				timer = state.Chan
			}
		}
	}
	if after, ok := timer.(*ssa.Call); ok && isNamed(after.Common().StaticCallee(), "time", "After") {
		return constantDuration(after.Common().Args[0])
	}
	return 0, false
}

func constantDuration(v ssa.Value) (time.Duration, bool) {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil {
		return 0, false
	}
	n, exact := constant.Int64Val(constant.ToInt(c.Value))
	return time.Duration(n), exact
}
