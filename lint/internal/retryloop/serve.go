package retryloop

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Polls returns the calls that loops of fn ask, with a wait in between, until
// they answer as hoped, and that nothing else ends.
func Polls(fn *ssa.Function) (found []*ssa.Call) {
	for _, l := range loops(fn) {
		if !l.waits(isTimedWait) {
			continue
		}
		round := way{loop: l, blocks: l.blocks}
		var asked *ssa.Call
		bounded := false
		for _, b := range l.list {
			if ends(b) {
				bounded = true
			}
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok && GivenContext(call) != nil && !NeverEnds(GivenContext(call)) {
					bounded = true
				}
			}
			branch, ok := terminator(b).(*ssa.If)
			if len(b.Succs) == 0 {
				bounded = true
			}
			if !ok || l.blocks[b.Succs[0]] && l.blocks[b.Succs[1]] {
				continue
			}
			call := answerOf(branch.Cond)
			if call == nil || !l.blocks[call.Block()] || isClosure(call) || mayRemember(call) || l.works(call) {
				bounded = true
				continue
			}
			if same, counted := round.repeats(call); !same || counted {
				bounded = true
			}
			if !isErrorAnswer(branch.Cond) {
				asked = call
			}
		}
		if asked != nil && !bounded {
			found = append(found, asked)
		}
	}
	return found
}

// isClosure reports whether the callee is a closure, or a value that is neither
// a function nor a parameter: what it answers is for its variables to know.
func isClosure(call *ssa.Call) bool {
	if call.Common().IsInvoke() {
		return false
	}
	if _, ok := call.Common().Value.(*ssa.Parameter); ok {
		return false
	}
	fn := call.Common().StaticCallee()
	return fn == nil || fn.Parent() != nil
}

// works reports whether the loop does something with a result of a call but
// compare and return it: it takes what there is, piece by piece.
func (l *loop) works(call *ssa.Call) bool {
	return slices.ContainsFunc(*call.Referrers(), func(ref ssa.Instruction) bool {
		x, ok := ref.(*ssa.Extract)
		return ok && slices.ContainsFunc(*x.Referrers(), func(use ssa.Instruction) bool {
			switch use.(type) {
			case *ssa.BinOp, *ssa.If, *ssa.UnOp, *ssa.Phi, *ssa.Return, *ssa.DebugRef:
				return false
			}
			return l.blocks[use.Block()]
		})
	})
}

// mayRemember reports whether the function that is called is seen to read what
// may change by itself.
func mayRemember(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	return fn != nil && remembers(fn, 3)
}

// answerOf returns the call whose result a condition compares, or is.
func answerOf(cond ssa.Value) *ssa.Call {
	for {
		switch v := cond.(type) {
		case *ssa.UnOp:
			if v.Op != token.NOT {
				return nil
			}
			cond = v.X
		case *ssa.BinOp:
			if !isConst(v.Y) {
				return nil
			}
			cond = v.X
		case *ssa.Extract:
			cond = v.Tuple
		case *ssa.Call:
			fn := v.Common().StaticCallee()
			if fn == nil && !v.Common().IsInvoke() ||
				fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil &&
					slices.Contains([]string{"sync/atomic", "time", "context"}, fn.Object().Pkg().Path()) {
				return nil
			}
			return v
		default:
			return nil
		}
	}
}

func isErrorAnswer(cond ssa.Value) bool {
	cmp, ok := cond.(*ssa.BinOp)
	return ok && isError(cmp.X.Type())
}

// Serves returns the wait of a loop of fn that goes on at intervals and that
// nothing leaves, or nil.
func Serves(fn *ssa.Function) (wait ssa.Instruction) {
	for _, l := range loops(fn) {
		leaves := slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
			return len(b.Succs) == 0 || ends(b) || slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool {
				return !l.blocks[s]
			})
		})
		if leaves {
			continue
		}
		for _, b := range l.list {
			for _, instr := range b.Instrs {
				if isTimedWait(instr) && l.innermost[b] == l {
					wait = instr
				} else if _, selects := instr.(*ssa.Select); selects {
					return nil
				} else if receive, ok := instr.(*ssa.UnOp); ok && receive.Op == token.ARROW {
					return nil // what it waits for may be all that it is for
				}
			}
		}
		if wait != nil {
			return wait
		}
	}
	return nil
}

func (l *loop) waits(is func(ssa.Instruction) bool) bool {
	return slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
		return l.innermost[b] == l && slices.ContainsFunc(b.Instrs, is)
	})
}

// isTimedWait reports whether an instruction waits for a time, or a tick.
func isTimedWait(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Call:
		return sleeps(instr) != nil
	case *ssa.UnOp:
		return instr.Op == token.ARROW && isOfTicks(instr.X)
	}
	return false
}

// isPause reports whether an instruction waits for a time, unless something else
// happens before.
func isPause(instr ssa.Instruction) bool {
	sel, ok := instr.(*ssa.Select)
	return isTimedWait(instr) ||
		ok && sel.Blocking && slices.ContainsFunc(sel.States, func(s *ssa.SelectState) bool { return isOfTicks(s.Chan) })
}

// isOfTicks reports whether a channel is of a timer or ticker.
func isOfTicks(ch ssa.Value) bool {
	t, ok := ch.Type().Underlying().(*types.Chan)
	if !ok {
		return false
	}
	named, ok := types.Unalias(t.Elem()).(*types.Named)
	return ok && named.Obj().Name() == "Time" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time"
}
