package retryloop

import (
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A way is what can follow one branch in the rest of a round of the loop.
type way struct {
	loop     *loop
	from, to *ssa.BasicBlock          // the edge that it begins with
	blocks   map[*ssa.BasicBlock]bool // from to on, without the header
}

func (l *loop) way(from, to *ssa.BasicBlock) way {
	w := way{l, from, to, map[*ssa.BasicBlock]bool{}}
	var visit func(*ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if b == l.header || !l.blocks[b] || w.blocks[b] {
			return
		}
		w.blocks[b] = true
		if ends(b) {
			return
		}
		for _, s := range b.Succs {
			visit(s)
		}
	}
	visit(to)
	return w
}

// enters reports whether the way comes back to the header from pred. A continue
// that follows the branch at once makes an edge without a block of its own.
func (w way) enters(pred *ssa.BasicBlock) bool { return w.reaches(pred) && !w.loop.isLast(pred) }

// reaches reports whether the way leads to the header, by pred.
func (w way) reaches(pred *ssa.BasicBlock) bool {
	if w.to == w.loop.header {
		return pred == w.from
	}
	return w.blocks[pred] && !ends(pred)
}

// returns reports whether the way comes back to the header.
func (w way) returns() bool {
	return slices.ContainsFunc(w.loop.header.Preds, w.enters)
}

// leaves reports whether the way may leave the loop. A loop that no success
// leaves serves for ever: a daemon.
func (w way) leaves() bool {
	if !w.loop.blocks[w.to] {
		return w.loop.goesOn(w.to)
	}
	exits := func(b *ssa.BasicBlock) bool {
		dead, _ := w.loop.never(b)
		return slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool { return !w.loop.blocks[s] && s != dead && w.loop.goesOn(s) })
	}
	for b := range w.blocks {
		if exits(b) {
			return true
		}
	}
	// The condition of a for statement is looked at before the next round.
	return slices.ContainsFunc(w.loop.conditions(), exits) && slices.ContainsFunc(w.loop.header.Preds, w.reaches)
}

// conditions returns the blocks that make up the condition of the loop: its header, and
// what follows that and only compares, as && and || do.
func (l *loop) conditions() (blocks []*ssa.BasicBlock) {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if !l.blocks[b] || seen[b] {
			return
		}
		seen[b] = true
		blocks = append(blocks, b)
		if slices.ContainsFunc(b.Instrs, acts) {
			return
		}
		for _, s := range b.Succs {
			visit(s)
		}
	}
	visit(l.header)
	return blocks
}

// acts reports whether an instruction does more than to compute and to branch.
func acts(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Call:
		return !isBuiltin(instr)
	case *ssa.UnOp:
		return instr.Op == token.ARROW
	case *ssa.Store, *ssa.MapUpdate, *ssa.Send, *ssa.Select, *ssa.Go, *ssa.Defer, *ssa.RunDefers, *ssa.Return, *ssa.Panic:
		return true
	}
	return false
}

// endsRound reports whether the way may leave the loop before it is at its header again.
func (w way) endsRound() bool {
	for b := range w.blocks {
		if slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool { return !w.loop.blocks[s] }) {
			return true
		}
	}
	return false
}

// mayReturn reports whether the function can return after the way has left the
// loop, and not only by another round of an outer loop.
func (w way) mayReturn() bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if seen[b] || b.Dominates(w.loop.header) {
			return false
		}
		seen[b] = true
		return len(b.Succs) == 0 || slices.ContainsFunc(b.Succs, visit)
	}
	return visit(w.to) || slices.ContainsFunc(w.loop.header.Preds, w.reaches) && slices.ContainsFunc(w.loop.header.Succs, func(s *ssa.BasicBlock) bool {
		return !w.loop.blocks[s] && visit(s)
	})
}

// goesOn reports whether the function can return after block b, or begin the loop
// again, because it stands in another: it is a part of what that one does. What can do
// neither serves for ever behind it.
func (l *loop) goesOn(b *ssa.BasicBlock) bool {
	return reaches(b, func(in *ssa.BasicBlock) bool { return in == l.header || isEndOf(in) })
}

func isEndOf(b *ssa.BasicBlock) bool {
	_, panics := b.Instrs[len(b.Instrs)-1].(*ssa.Panic)
	return len(b.Succs) == 0 && !panics
}

// reaches reports whether b, or a block that can follow it, is as said.
func reaches(b *ssa.BasicBlock, is func(*ssa.BasicBlock) bool) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if seen[b] {
			return false
		}
		seen[b] = true
		return is(b) || slices.ContainsFunc(b.Succs, visit)
	}
	return visit(b)
}

// behind returns the blocks that can follow b, and b.
func behind(b *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	found := map[*ssa.BasicBlock]bool{}
	reaches(b, func(in *ssa.BasicBlock) bool { found[in] = true; return false })
	return found
}

// cycle returns the blocks on the ways from a failure back to the branch that
// saw it.
func (w way) cycle() map[*ssa.BasicBlock]bool {
	on := w.loop.between(w.loop.header, w.from)
	// Behind the failure only what leads back counts.
	var back func(*ssa.BasicBlock)
	back = func(b *ssa.BasicBlock) {
		if on[b] || !w.blocks[b] || ends(b) {
			return
		}
		on[b] = true
		for _, p := range b.Preds {
			back(p)
		}
	}
	for _, p := range w.loop.header.Preds {
		if !w.loop.isLast(p) {
			back(p)
		}
	}
	return on
}

// ends reports whether a block calls what does not return. The SSA form knows
// most of them; loggers and tests of other modules it knows by name only, and
// a name that misleads makes us silent.
func ends(b *ssa.BasicBlock) bool { return endsWithin(b, 3) }

var ender = regexp.MustCompile(`(?i)^(exit|goexit|critf?|failnowf?|skip(f|now)?|terminate|noerror|checkerr(or)?|(must|expect|require|assert)([A-Z_].*)?)$|fatal|panic`)

func endsWithin(b *ssa.BasicBlock, depth int) bool {
	return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		if !ok {
			return false
		}
		if call.Common().Signature().Results().Len() == 0 && ender.MatchString(nameOf(call)) || isGivenTest(call) {
			return true
		}
		fn := call.Common().StaticCallee()
		return depth > 0 && fn != nil && len(fn.Blocks) > 0 && fn.Recover == nil && neverReturns(fn, depth-1)
	})
}

// neverReturns reports whether every way through a function of this package
// ends the program.
func neverReturns(fn *ssa.Function, depth int) bool {
	return !slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		_, returns := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		return returns && !endsWithin(b, depth)
	})
}

// isGivenTest reports whether a call, which is no method of it, is given a test:
// an assertion, which ends it.
func isGivenTest(call *ssa.Call) bool {
	args := call.Common().Args
	if len(args) > 0 && call.Common().Signature().Recv() != nil && !call.Common().IsInvoke() {
		args = args[1:]
	}
	return slices.ContainsFunc(args, func(arg ssa.Value) bool {
		if iface, ok := arg.Type().Underlying().(*types.Interface); ok {
			return slices.ContainsFunc(slices.Collect(iface.Methods()), func(m *types.Func) bool { return m.Name() == "FailNow" })
		}
		p, ok := arg.Type().(*types.Pointer)
		if !ok {
			return false
		}
		named, ok := p.Elem().(*types.Named)
		return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "testing"
	})
}
