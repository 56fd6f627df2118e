package effect

import (
	"iter"
	"maps"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// Repairs returns how far the instructions between two attempts of an operation write what the
// operation, or the evaluation of its operands, reads: Common if they do, Perhaps if code that
// is not known may.
func (p *Package) Repairs(between iter.Seq[ssa.Instruction], op *ssa.Call) Overlap {
	reads := p.At(op).Regions(Reads)
	seen := map[ssa.Value]bool{}
	for _, v := range op.Call.Operands(nil) {
		p.operand(*v, op.Block(), reads, seen)
	}
	made := map[ssa.Value]bool{} // variables of which each attempt has its own
	for i := range between {
		if variable, ok := i.(*ssa.Alloc); ok {
			made[variable] = true
		}
	}
	most := Disjoint
	for i := range between {
		if i == ssa.Instruction(op) {
			continue
		}
		e := p.Instr(i)
		if e == nil {
			continue
		}
		written := e.Regions(Writes)
		maps.DeleteFunc(written, func(r Region, _ bool) bool { return made[r.From.Value] })
		most = max(most, written.Overlap(reads))
	}
	return most
}

// operand adds what is read where an operand is computed.
func (p *Package) operand(v ssa.Value, b *ssa.BasicBlock, reads Set, seen map[ssa.Value]bool) {
	i, ok := v.(ssa.Instruction)
	if !ok || seen[v] || len(seen) > maxRegions {
		return
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.UnOp, *ssa.Lookup:
		for r := range p.Instr(i).Regions(Reads) {
			reads[r] = true
		}
	case *ssa.Call, *ssa.Phi:
		return // executed again itself, or judged as an operand
	case *ssa.MakeClosure:
		if e := p.effects[v.Fn.(*ssa.Function)]; e != nil {
			return // part of the effects of the call
		}
	}
	for _, o := range i.Operands(nil) {
		if *o != nil {
			p.operand(*o, b, reads, seen)
		}
	}
}

// EndsItself reports whether an operation may end its retries without having succeeded: it
// returns nil because of what it counts, of the time, of what others set, or because it was
// asked to stop. If errors are classified, an error of its own for such a reason is enough.
func (p *Package) EndsItself(op *ssa.Call, classified bool) bool {
	return p.ends(p.At(op), p.within(op), classified)
}

// EndsRetries is EndsItself for a function that something else calls again and again.
func (p *Package) EndsRetries(fn *ssa.Function) bool {
	e := p.effects[fn]
	return e != nil && p.ends(e, p.calledBy(fn), false)
}

func (p *Package) ends(e *Effects, own map[*ssa.Function]bool, classified bool) bool {
	others := func(fn *ssa.Function) bool { return !own[fn] }
	decided := []verdict{skipping}
	if classified {
		decided = append(decided, refusing)
	}
	fails := e.Regions(Fails)
	for r, a := range e.Access {
		for _, v := range decided {
			if need := a.need(v); need != 0 &&
				(r.isOutside() || p.MayBecome(r, need, others) || fails.Overlap(Set{r: true}) == Common) {
				return true
			}
		}
	}
	return false
}

// IsStateful reports whether a condition on the outcome of an operation calls a function whose
// result depends on more than its arguments: on the time, or on what others may change.
func (p *Package) IsStateful(cond ssa.Value, op *ssa.Call) bool {
	d := decision{p: p, e: newEffects(), seen: map[ssa.Value]bool{op: true}}
	d.from(cond, Any)
	own := p.within(op)
	for v := range d.seen {
		call, ok := v.(*ssa.Call)
		if !ok || call == op || p.functions(call) == nil {
			continue
		}
		for r := range p.read(call) {
			if r.isOutside() || p.MayBecome(r, Any, func(fn *ssa.Function) bool { return !own[fn] }) {
				return true
			}
		}
	}
	return false
}

// Progresses reports whether an operation reads what it writes before it fails: the next
// attempt is not the same as the last.
func (p *Package) Progresses(op *ssa.Call) bool {
	e := p.At(op)
	return e.Regions(Fails).Overlap(e.Regions(Reads)) == Common
}

// Acts reports whether an instruction writes what others than its function can see.
func (p *Package) Acts(i ssa.Instruction) bool {
	e := p.Instr(i)
	if e == nil {
		return false
	}
	for r := range e.Regions(Writes) {
		if r.isShared(i.Parent()) {
			return true
		}
	}
	return false
}

// within returns the functions that a call may execute.
func (p *Package) within(c ssa.CallInstruction) map[*ssa.Function]bool {
	return p.calledBy(p.functions(c)...)
}

// calledBy returns some functions, and all that they may execute.
func (p *Package) calledBy(fns ...*ssa.Function) map[*ssa.Function]bool {
	all := map[*ssa.Function]bool{}
	for work := fns; len(work) > 0; {
		fn := work[len(work)-1]
		work = work[:len(work)-1]
		if all[fn] {
			continue
		}
		all[fn] = true
		for i := range flow.Instructions(fn.Blocks) {
			if c, ok := i.(ssa.CallInstruction); ok {
				work = append(work, p.functions(c)...)
			}
		}
	}
	return all
}
