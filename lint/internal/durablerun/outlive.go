package durablerun

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Outlives returns a step that a goroutine calls after the function that starts the goroutine
// may have returned, or nil. The goroutine does not signal its end, so no code can wait for it.
func (p *Package) Outlives(start *ssa.Go) *Step {
	step := p.calledIn(start)
	if step == nil || !mayReturnAfter(start) || !p.isSilent(effect.Callee(&start.Call), map[*ssa.Function]bool{}) {
		return nil
	}
	if run := p.RunOf(step.Context); run == Outside || run == InStep {
		return nil
	}
	return step
}

// calledIn returns a step that a goroutine calls, or nil.
func (p *Package) calledIn(start *ssa.Go) *Step {
	fn := effect.Callee(&start.Call)
	calls := func(isStep func(s *Step) bool) *Step {
		if i := slices.IndexFunc(p.Steps, func(s *Step) bool { return s.Needs && isStep(s) }); i >= 0 {
			return p.Steps[i]
		}
		return nil
	}
	if s := calls(func(s *Step) bool { return s.Call.Parent() == fn }); s != nil {
		return s
	}
	return calls(func(s *Step) bool { return s.Call == ssa.CallInstruction(start) })
}

// isSilent reports whether a function does not signal its end to other code: it does not send,
// does not write to memory that other code can access, and does not call functions that may do
// so.
func (p *Package) isSilent(fn *ssa.Function, seen map[*ssa.Function]bool) bool {
	if fn == nil || seen[fn] {
		return fn != nil
	}
	seen[fn] = true
	for instr := range flow.Instructions(fn.Blocks) {
		switch instr := instr.(type) {
		case *ssa.Send, *ssa.Select, *ssa.MapUpdate:
			return false
		case *ssa.Store:
			if own, ok := flow.Source(instr.Addr, flow.Addressed).(*ssa.Alloc); !ok || own.Parent() != fn {
				return false
			}
		case ssa.CallInstruction:
			if !p.isSilentCall(instr, seen) {
				return false
			}
		}
	}
	return true
}

func (p *Package) isSilentCall(call ssa.CallInstruction, seen map[*ssa.Function]bool) bool {
	if len(p.stepsOf(call)) > 0 {
		return true
	}
	obj, fn := flow.StaticCallee(call.Common())
	if obj == nil {
		return fn != nil && p.isSilent(fn, seen)
	}
	if known := vocab.Of(obj); known.Evidence >= vocab.Library {
		return known.Is(vocab.Pure|vocab.Logs|vocab.Clock|vocab.Random|vocab.Waits|vocab.Judges) && !vocab.IsSync(obj)
	}
	return fn != nil && p.isSilent(fn, seen)
}

// mayReturnAfter reports whether the function that starts a goroutine may return without
// waiting for anything.
func mayReturnAfter(start *ssa.Go) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var from func(b *ssa.BasicBlock, instrs []ssa.Instruction) bool
	from = func(b *ssa.BasicBlock, instrs []ssa.Instruction) bool {
		for _, instr := range instrs {
			if waits(instr) {
				return false
			}
			if _, ok := instr.(*ssa.Return); ok {
				return true
			}
		}
		return slices.ContainsFunc(b.Succs, func(next *ssa.BasicBlock) bool {
			if seen[next] {
				return false
			}
			seen[next] = true
			return from(next, next.Instrs)
		})
	}
	b := start.Block()
	return from(b, b.Instrs[slices.Index(b.Instrs, ssa.Instruction(start))+1:])
}

// waits reports whether an instruction may wait for something.
func waits(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.UnOp:
		return instr.Op == token.ARROW
	case *ssa.Select:
		return instr.Blocking
	case *ssa.Call:
		obj, _ := flow.StaticCallee(&instr.Call)
		return obj != nil && vocab.Of(obj).Is(vocab.Waits|vocab.Receives|vocab.Serves|vocab.Asks)
	}
	return false
}
