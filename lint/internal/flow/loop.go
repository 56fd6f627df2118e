package flow

import (
	"cmp"
	"go/token"
	"iter"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Loop is a natural loop: a header, and the blocks from which the header is reached again
// without leaving the blocks that it dominates. Loops that are made with goto statements are
// included.
type Loop struct {
	Header *ssa.BasicBlock
	List   []*ssa.BasicBlock // the blocks, in the order of the function
	Outer  *Loop             // the smallest loop that contains this one, or nil
	has    bits              // by block index
}

// Has reports whether a block belongs to the loop.
func (l *Loop) Has(b *ssa.BasicBlock) bool { return b != nil && l.has.get(b.Index) }

// Contains reports whether an instruction belongs to the loop. For nil, it returns false.
func (l *Loop) Contains(v ssa.Value) bool {
	i, ok := v.(ssa.Instruction)
	return ok && l.Has(i.Block())
}

// Whole returns a region of all blocks of a function in which no edge leads back to the entry.
// It describes the execution until the function returns.
func Whole(fn *ssa.Function) *Loop {
	l := &Loop{Header: fn.Blocks[0], List: fn.Blocks, has: newBits(len(fn.Blocks))}
	for i := range fn.Blocks {
		l.has.set(i)
	}
	return l
}

// Instructions yields the instructions of some blocks.
func Instructions(blocks []*ssa.BasicBlock) iter.Seq[ssa.Instruction] {
	return func(yield func(ssa.Instruction) bool) {
		for _, b := range blocks {
			for _, instr := range b.Instrs {
				if !yield(instr) {
					return
				}
			}
		}
	}
}

// Branch returns the conditional branch at the end of a block, or nil.
func Branch(b *ssa.BasicBlock) *ssa.If {
	branch, _ := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	return branch
}

// Returns yields the return instructions of a function, except the one that follows a recovered
// panic.
func Returns(fn *ssa.Function) iter.Seq[*ssa.Return] {
	return func(yield func(*ssa.Return) bool) {
		for _, b := range fn.Blocks {
			if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && b != fn.Recover && !yield(ret) {
				return
			}
		}
	}
}

// IsFailure reports whether a block is entered only from a branch on which an error is not nil.
func IsFailure(err ssa.Value, b *ssa.BasicBlock) bool {
	if len(b.Preds) != 1 || Branch(b.Preds[0]) == nil {
		return false
	}
	cmp, ok := Branch(b.Preds[0]).Cond.(*ssa.BinOp)
	return ok && cmp.X == err && IsNil(cmp.Y) && (cmp.Op == token.NEQ) == (b.Preds[0].Succs[0] == b)
}

// Loops returns the natural loops of a function, inner loops first.
func Loops(fn *ssa.Function) []*Loop {
	var loops []*Loop
	byHeader := map[*ssa.BasicBlock]*Loop{}
	for _, latch := range fn.Blocks {
		for _, header := range latch.Succs {
			if !header.Dominates(latch) {
				continue
			}
			l := byHeader[header]
			if l == nil {
				l = &Loop{Header: header, has: newBits(len(fn.Blocks))}
				l.has.set(header.Index)
				byHeader[header] = l
				loops = append(loops, l)
			}
			l.grow(latch)
		}
	}
	for _, l := range loops {
		for _, b := range fn.Blocks {
			if l.Has(b) {
				l.List = append(l.List, b)
			}
		}
	}
	// A smaller loop cannot contain a larger one.
	slices.SortStableFunc(loops, func(a, b *Loop) int { return cmp.Compare(len(a.List), len(b.List)) })
	for i, l := range loops {
		for _, around := range loops[i+1:] {
			if around.Has(l.Header) {
				l.Outer = around
				break
			}
		}
	}
	return loops
}

// Around returns the innermost loop around an instruction, or nil.
func Around(instr ssa.Instruction) *Loop {
	for _, l := range Loops(instr.Parent()) {
		if l.Has(instr.Block()) {
			return l
		}
	}
	return nil
}

// grow adds the blocks from which a latch is reached without passing the header.
func (l *Loop) grow(latch *ssa.BasicBlock) {
	for work := []*ssa.BasicBlock{latch}; len(work) > 0; {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if !l.has.get(b.Index) {
			l.has.set(b.Index)
			work = append(work, b.Preds...)
		}
	}
}

// Reachable returns the blocks that are reached from the end of a block by edges for which
// takes returns true. An edge is a block and the index of its successor.
func Reachable(from *ssa.BasicBlock, takes func(b *ssa.BasicBlock, k int) bool) map[*ssa.BasicBlock]bool {
	reached := map[*ssa.BasicBlock]bool{}
	for work := []*ssa.BasicBlock{from}; len(work) > 0; {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for k, s := range b.Succs {
			if !reached[s] && takes(b, k) {
				reached[s] = true
				work = append(work, s)
			}
		}
	}
	return reached
}

// EveryEdge returns true. It is used to follow all edges.
func EveryEdge(*ssa.BasicBlock, int) bool { return true }

// Before returns the given blocks, and all blocks that lead to them by edges for which counts
// returns true. An edge is a block and the index of its predecessor.
func Before(ends []*ssa.BasicBlock, counts func(b *ssa.BasicBlock, pred int) bool) map[*ssa.BasicBlock]bool {
	before := map[*ssa.BasicBlock]bool{}
	for work := slices.Clone(ends); len(work) > 0; {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if before[b] {
			continue
		}
		before[b] = true
		for i, p := range b.Preds {
			if counts(b, i) {
				work = append(work, p)
			}
		}
	}
	return before
}

// bits is a set of small numbers.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (s bits) get(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s bits) set(i int) { s[i/64] |= 1 << (i % 64) }
