package retryloop

import "golang.org/x/tools/go/ssa"

// A loop is a natural loop of the control flow graph.
type loop struct {
	header    *ssa.BasicBlock
	blocks    map[*ssa.BasicBlock]bool
	list      []*ssa.BasicBlock // blocks, in the order of the function
	innermost map[*ssa.BasicBlock]*loop
}

// loops returns the natural loops of fn: for, range and goto alike. Loops with
// one header are one.
func loops(fn *ssa.Function) []*loop {
	byHeader := map[*ssa.BasicBlock]*loop{}
	innermost := map[*ssa.BasicBlock]*loop{}
	var all []*loop
	for _, b := range fn.Blocks {
		for _, header := range b.Succs {
			if !header.Dominates(b) {
				continue
			}
			l := byHeader[header]
			if l == nil {
				l = &loop{header: header, blocks: map[*ssa.BasicBlock]bool{header: true}, innermost: innermost}
				byHeader[header] = l
				all = append(all, l)
			}
			l.fill(b)
		}
	}
	for _, l := range all {
		for _, b := range fn.Blocks {
			if !l.blocks[b] {
				continue
			}
			l.list = append(l.list, b)
			if have := innermost[b]; have == nil || len(l.blocks) < len(have.blocks) {
				innermost[b] = l
			}
		}
	}
	return all
}

// fill adds the blocks that reach the latch without the header.
func (l *loop) fill(latch *ssa.BasicBlock) {
	if l.blocks[latch] {
		return
	}
	l.blocks[latch] = true
	for _, p := range latch.Preds {
		l.fill(p)
	}
}

// tries reports whether the loop is a retry, or whether each round makes a call
// again with the same operands that decides whether the loop goes on, or that
// is given a context.
func (l *loop) tries() bool {
	round := way{loop: l, blocks: l.blocks}
	for _, b := range l.list {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok || isBuiltin(call) {
				continue
			}
			if r, ok := l.retry(call); ok && !r.counted && !r.reread {
				return true
			}
			anyBranch := len(errorsOf(call)) > 0 && GivenContext(call) != nil
			if !l.decides(call, anyBranch) {
				continue
			}
			if same, counted := round.repeats(call); same && !counted {
				return true
			}
		}
	}
	return false
}

func isBuiltin(call *ssa.Call) bool {
	_, ok := call.Common().Value.(*ssa.Builtin)
	return ok
}

// decides reports whether a branch of the loop depends on v: any branch, or
// one that may leave.
func (l *loop) decides(v ssa.Value, anyBranch bool) bool {
	seen := map[ssa.Value]bool{}
	var visit func(ssa.Value) bool
	visit = func(v ssa.Value) bool {
		if seen[v] || v.Referrers() == nil {
			return false
		}
		seen[v] = true
		for _, ref := range *v.Referrers() {
			if !l.blocks[ref.Block()] {
				continue
			}
			if _, ok := ref.(*ssa.If); ok {
				succs := ref.Block().Succs
				if anyBranch || !l.blocks[succs[0]] || !l.blocks[succs[1]] {
					return true
				}
			}
			if next, ok := ref.(ssa.Value); ok && visit(next) {
				return true
			}
		}
		return false
	}
	return visit(v)
}

// between returns the blocks on the ways from one block of the loop to another
// that do not pass the header again.
func (l *loop) between(from, to *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	forward := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if !l.blocks[b] || forward[b] {
			return
		}
		forward[b] = true
		if b == to || ends(b) {
			return
		}
		for _, s := range b.Succs {
			if s != l.header {
				visit(s)
			}
		}
	}
	visit(from)
	on := map[*ssa.BasicBlock]bool{}
	var back func(*ssa.BasicBlock)
	back = func(b *ssa.BasicBlock) {
		if !forward[b] || on[b] {
			return
		}
		on[b] = true
		if b == from {
			return
		}
		for _, p := range b.Preds {
			back(p)
		}
	}
	back(to)
	return on
}
