package attempt

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Drain is a receive in a loop from a channel that always stays ready: the channel of a
// context that has ended, or a closed channel. The code after the receive leads back to it
// without a wait, and never leaves the loop.
type Drain struct {
	Pos      token.Pos
	Context  ssa.Value // the context whose channel it is; nil: the channel is closed
	Evidence vocab.Evidence
}

// Drains returns the drains of a function.
func (p *Package) Drains(fn *ssa.Function) (found []Drain) {
	for _, l := range loopsOf(fn, receives) {
		for instr := range flow.Instructions(l.List) {
			switch instr := instr.(type) {
			case *ssa.Select:
				for _, d := range p.cases(l, instr) {
					if instr.Blocking {
						found = d.appendTo(found)
					}
				}
			case *ssa.UnOp:
				if instr.Op == token.ARROW && instr.CommaOk {
					d := drain{p: p, loop: l, at: instr, after: instr, ch: instr.X, ok: result(instr, 1), pos: instr.Pos()}
					found = d.appendTo(found)
				}
			}
		}
	}
	return found
}

// loopsOf returns the loops of a function, if the function has an instruction for which matters
// returns true.
func loopsOf(fn *ssa.Function, matters func(ssa.Instruction) bool) []*flow.Loop {
	for instr := range flow.Instructions(fn.Blocks) {
		if matters(instr) {
			return flow.Loops(fn)
		}
	}
	return nil
}

// receives reports whether an instruction receives from a channel and returns whether a value
// was received.
func receives(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Select:
		return instr.Blocking
	case *ssa.UnOp:
		return instr.Op == token.ARROW && instr.CommaOk
	}
	return false
}

// cases returns the receives of a select.
func (p *Package) cases(l *flow.Loop, s *ssa.Select) (all []drain) {
	index, ok := result(s, 0), result(s, 1)
	if index == nil {
		for _, state := range s.States { // all cases continue in the same way
			if state.Dir == types.RecvOnly {
				all = append(all, drain{p: p, loop: l, at: s, after: s, ch: state.Chan, pos: state.Pos})
			}
		}
		return all
	}
	for _, ref := range flow.Refs(index) {
		branch := flow.Branch(ref.Block())
		cmp, isCmp := ref.(*ssa.BinOp)
		if !isCmp || branch == nil || branch.Cond != ssa.Value(cmp) {
			continue
		}
		k, isConst := flow.IntOf(cmp.Y)
		if !isConst || s.States[k].Dir != types.RecvOnly {
			continue
		}
		d := drain{p: p, loop: l, at: s, start: branch.Block().Succs[0], ch: s.States[k].Chan, pos: s.States[k].Pos,
			used: result(s, receivedBy(s, int(k))) != nil}
		if ok != nil && slices.ContainsFunc(flow.Refs(ok), func(ref ssa.Instruction) bool {
			return d.start.Dominates(ref.Block())
		}) {
			d.ok = ok // all cases share this result
		}
		all = append(all, d)
	}
	return all
}

// receivedBy returns the index of the result of a select that contains the value received by
// case k.
func receivedBy(s *ssa.Select, k int) int {
	i := 2 // the first two are the index of the case, and whether a value was received
	for _, state := range s.States[:k] {
		if state.Dir == types.RecvOnly {
			i++
		}
	}
	return i
}

// result returns result i of an instruction with several results, or nil if nothing uses it.
func result(tuple ssa.Value, i int) ssa.Value {
	for _, ref := range flow.Refs(tuple) {
		if x, ok := ref.(*ssa.Extract); ok && x.Index == i && len(flow.Refs(x)) > 0 {
			return x
		}
	}
	return nil
}

// A drain is a receive that is checked for being a Drain.
type drain struct {
	p     *Package
	loop  *flow.Loop
	at    ssa.Instruction // the receive, or the select to which it belongs
	start *ssa.BasicBlock // the first block of the case; nil: the code that follows after
	after ssa.Instruction // the instruction after which the code of the case follows
	ch    ssa.Value
	ok    ssa.Value // the result that reports whether a value was received, or nil
	used  bool      // the code uses the value that a case of a select receives
	pos   token.Pos

	acts bool // the code that follows may do something that ends the loop elsewhere
}

func (d *drain) appendTo(found []Drain) []Drain {
	var ctx ssa.Value
	if call, ok := d.ch.(*ssa.Call); ok {
		if ctx = contextAsked(&call.Call); ctx == nil || d.p.NeverEnds(ctx) || d.loop.Contains(origin(ctx)) {
			return found
		}
	} else if d.ok == nil || !d.isSame() {
		return found
	}
	if !d.returns() || ctx == nil && d.acts {
		return found // the loop may receive from another channel next
	}
	evidence := vocab.Proven
	if d.acts || ctx == nil && !d.isClosed() {
		evidence = vocab.Named
	}
	return append(found, Drain{Pos: d.pos, Context: ctx, Evidence: evidence})
}

// isClosed reports whether the channel may be closed: it comes from other code, or the package
// closes channels of the same type. A channel on which signals are sent is never closed.
func (d *drain) isClosed() bool {
	switch flow.Source(d.ch, flow.Renamed|flow.Kept|flow.Captured).(type) {
	case *ssa.MakeChan, *ssa.UnOp:
	default:
		return true
	}
	elem := elemOf(d.ch)
	same := func(t types.Type) bool { return types.Identical(t, elem) }
	return elem != nil && slices.ContainsFunc(d.p.closedElems(), same)
}

// closedElems returns the element types of all channels that the package closes.
func (p *Package) closedElems() []types.Type {
	p.closes.once.Do(func() {
		for _, fn := range p.fns {
			for instr := range flow.Instructions(fn.Blocks) {
				call, ok := instr.(ssa.CallInstruction)
				if !ok {
					continue
				}
				if ch := closedBy(call); ch != nil && elemOf(ch) != nil {
					p.closes.elems = append(p.closes.elems, elemOf(ch))
				}
			}
		}
	})
	return p.closes.elems
}

// closedBy returns the channel that a call closes, or nil.
func closedBy(call ssa.CallInstruction) ssa.Value {
	if b, ok := call.Common().Value.(*ssa.Builtin); ok && b.Name() == "close" {
		return call.Common().Args[0]
	}
	return nil
}

// elemOf returns the element type of a channel, or nil if the channel's type is a type
// parameter.
func elemOf(ch ssa.Value) types.Type {
	if t, ok := ch.Type().Underlying().(*types.Chan); ok {
		return t.Elem()
	}
	return nil
}

// isSame reports whether each iteration receives from the same channel.
func (d *drain) isSame() bool {
	if !d.loop.Contains(d.ch) {
		return true
	}
	load, ok := d.ch.(*ssa.UnOp)
	if !ok || load.Op != token.MUL || d.loop.Contains(flow.Source(load.X, flow.Addressed|flow.Loaded)) {
		return false
	}
	for instr := range flow.Instructions(d.loop.List) {
		if store, ok := instr.(*ssa.Store); ok && types.Identical(store.Val.Type(), d.ch.Type()) {
			return false
		}
	}
	return true
}

// returns reports whether all paths lead back to the receive without a wait.
func (d *drain) returns() bool {
	again := false
	seen := set{}
	var work []*ssa.BasicBlock
	enter := func(b *ssa.BasicBlock) {
		if !seen[b] {
			seen[b] = true
			work = append(work, b)
		}
	}
	if d.start != nil {
		enter(d.start)
	} else {
		b := d.after.Block()
		if !d.passes(b.Instrs[slices.Index(b.Instrs, d.after)+1:]) {
			return false
		}
		for _, s := range d.next(b) {
			enter(s)
		}
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		instrs := b.Instrs
		if b == d.at.Block() {
			again = true
			instrs = instrs[:slices.Index(instrs, d.at)]
		}
		if !d.loop.Has(b) || !d.passes(instrs) {
			return false
		}
		if b != d.at.Block() {
			for _, s := range d.next(b) {
				enter(s)
			}
		}
	}
	return again
}

// next returns the successors of a block when no value was received.
func (d *drain) next(b *ssa.BasicBlock) []*ssa.BasicBlock {
	branch := flow.Branch(b)
	if branch == nil || d.ok == nil {
		return b.Succs
	}
	if not, ok := branch.Cond.(*ssa.UnOp); ok && not.Op == token.NOT && not.X == d.ok {
		return b.Succs[:1]
	}
	if branch.Cond == d.ok {
		return b.Succs[1:]
	}
	return b.Succs
}

// passes reports whether the given instructions neither wait nor end the function.
func (d *drain) passes(instrs []ssa.Instruction) bool {
	for _, instr := range instrs {
		if _, waits := d.p.wait(instr); waits {
			return false
		}
		switch instr := instr.(type) {
		case *ssa.Return, *ssa.Panic, *ssa.Send, *ssa.Go:
			return false
		case *ssa.Call:
			if d.p.mayStop(&instr.Call) {
				return false
			}
			d.acts = d.acts || d.p.mayBlock(&instr.Call) || d.p.effects.Acts(instr)
		default:
			d.acts = d.acts || d.p.effects.Acts(instr)
		}
	}
	return true
}
