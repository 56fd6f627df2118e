package effect

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// collect computes the effects of a function from the effects of its callees.
func (p *Package) collect(fn *ssa.Function) {
	e := p.effects[fn]
	failing := failingBlocks(fn)
	for i := range flow.Instructions(fn.Blocks) {
		one := p.Instr(i)
		if one == nil {
			continue
		}
		before := Writes
		if c, ok := i.(*ssa.Call); ok && failing.onlyOf(i.Block(), c) {
			before = Fails // the function returns an error only if the call does
		}
		for r, a := range one.Access {
			if !r.isShared(fn) {
				continue
			}
			e.add(r, a&(Reads|Writes|Decides))
			if failing.from[i.Block().Index] && a&before != 0 {
				e.add(r, Fails)
			}
		}
		e.Ends = e.Ends || one.Ends
	}
	for r := range p.decides(fn, func(ssa.Value) bool { return true }) {
		if r.isShared(fn) {
			e.add(r, Decides)
		}
	}
}

// Instr returns the effects of an instruction from the perspective of its function, or nil if
// it has no effects.
func (p *Package) Instr(i ssa.Instruction) *Effects {
	e := newEffects()
	switch i := i.(type) {
	case *ssa.Store:
		for _, r := range regionsAt(i.Addr) {
			e.write(r)
		}
	case *ssa.MapUpdate:
		e.write(Region{Element, elementName(i.Map.Type()), rootOf(i.Map)})
	case *ssa.Send:
		e.write(Region{Kind: Signal})
	case *ssa.UnOp:
		if i.Op == token.ARROW {
			e.add(regionOfChannel(i.X), Reads)
			e.Ends = vocab.IsSignal(i.X.Type())
		} else if i.Op == token.MUL && !onlyCounts(i) {
			for _, r := range regionsAt(i.X) {
				e.add(r, Reads)
			}
		}
	case *ssa.Select:
		for _, s := range i.States {
			if s.Dir == types.SendOnly {
				e.write(Region{Kind: Signal})
			}
			e.add(regionOfChannel(s.Chan), Reads)
			e.Ends = e.Ends || vocab.IsSignal(s.Chan.Type())
		}
	case *ssa.Lookup:
		e.add(Region{Element, elementName(i.X.Type()), rootOf(i.X)}, Reads)
	case *ssa.Range:
		e.add(Region{Element, elementName(i.X.Type()), rootOf(i.X)}, Reads)
	case *ssa.Go:
		e.join(p.At(i))
	case ssa.CallInstruction:
		return p.At(i)
	default:
		return nil
	}
	return e
}

// onlyCounts reports whether a load is part of an increment such as x++, on which nothing
// depends.
func onlyCounts(load *ssa.UnOp) bool {
	from, known := flow.CellAt(load.X)
	refs := flow.Refs(load)
	return known && len(refs) > 0 && flow.IsBasic(load.Type(), types.IsNumeric) &&
		!slices.ContainsFunc(refs, func(ref ssa.Instruction) bool {
			sum, ok := ref.(*ssa.BinOp)
			return !ok || slices.ContainsFunc(flow.Refs(sum), func(ref ssa.Instruction) bool {
				store, ok := ref.(*ssa.Store)
				if !ok {
					return true
				}
				to, known := flow.CellAt(store.Addr)
				return !known || to != from
			})
		})
}

// regionOfChannel returns the region that a receive from a channel waits for.
func regionOfChannel(ch ssa.Value) Region {
	switch x := ch.(type) {
	case *ssa.Call:
		if isContextMethod(&x.Call) {
			return Region{Kind: Context}
		}
		if obj := objectOf(&x.Call); obj != nil && vocab.Of(obj).Is(vocab.Clock) {
			return Region{Kind: Clock}
		}
	case *ssa.UnOp:
		if f, ok := x.X.(*ssa.FieldAddr); ok && vocab.IsTimer(f.X.Type()) {
			return Region{Kind: Clock}
		}
	}
	return Region{Kind: Signal}
}

// A failing describes the part of a function from which it may return an error.
type failing struct {
	from []bool                            // by block: an error may be returned after it
	errs map[*ssa.Return]*ssa.Call         // the call whose error a return passes on, or nil
	at   map[*ssa.BasicBlock][]*ssa.Return // by block: the returns of errors to which it leads
}

// failingBlocks finds the blocks from which fn may return an error. If fn has no error to
// return, these are all blocks that lead to a return.
func failingBlocks(fn *ssa.Function) failing {
	f := failing{make([]bool, len(fn.Blocks)), map[*ssa.Return]*ssa.Call{}, map[*ssa.BasicBlock][]*ssa.Return{}}
	for ret := range flow.Returns(fn) {
		if n := len(ret.Results); n > 0 && flow.IsError(ret.Results[n-1].Type()) {
			if flow.IsNil(ret.Results[n-1]) {
				continue
			}
			f.errs[ret] = callOf(ret.Results[n-1])
		}
		f.reach(ret)
	}
	return f
}

// reach marks the blocks that lead to a return.
func (f failing) reach(ret *ssa.Return) {
	for b := range flow.Before([]*ssa.BasicBlock{ret.Block()}, flow.EveryEdge) {
		f.from[b.Index] = true
		f.at[b] = append(f.at[b], ret)
	}
}

// onlyOf reports whether all errors to which a block leads come from the same call.
func (f failing) onlyOf(b *ssa.BasicBlock, c *ssa.Call) bool {
	for _, ret := range f.at[b] {
		if f.errs[ret] != c {
			return false
		}
	}
	return true
}

// callOf returns the call whose result a value is, or nil. The value may be a captured variable
// that is assigned only once.
func callOf(v ssa.Value) *ssa.Call {
	c, _ := flow.Source(v, flow.Kept|flow.Captured|flow.Unpacked).(*ssa.Call)
	return c
}
