package effect

import (
	"go/token"
	"iter"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// Repairs reports whether the instructions between two attempts of an operation may write
// memory that is read by the operation or by the evaluation of its operands.
func (p *Package) Repairs(between iter.Seq[ssa.Instruction], op *ssa.Call) bool {
	return p.changes(between).repair(op, p.readBy(op))
}

// RepairsIn returns a function that reports whether the instructions of a block may write
// memory that is read by an operation or by the evaluation of its operands.
func (p *Package) RepairsIn(op *ssa.Call) func(*ssa.BasicBlock) bool {
	reads := p.readBy(op)
	return func(b *ssa.BasicBlock) bool {
		list, known := p.blocks.Load(b)
		if !known {
			list = p.changes(slices.Values(b.Instrs))
			p.blocks.Store(b, list)
		}
		return list.(changes).repair(op, reads)
	}
}

// A change is an instruction with the regions that it writes.
type change struct {
	by      ssa.Instruction
	written Set
}

type changes []change

// repair reports whether an instruction other than the operation writes a region in reads.
func (list changes) repair(op *ssa.Call, reads Set) bool {
	return slices.ContainsFunc(list, func(c change) bool {
		return c.by != ssa.Instruction(op) && c.written.Overlaps(reads)
	})
}

// changes returns the regions that the given instructions write, except variables that they
// create themselves, because each attempt has its own.
func (p *Package) changes(between iter.Seq[ssa.Instruction]) (list changes) {
	made := map[ssa.Value]bool{}
	for i := range between {
		if variable, ok := i.(*ssa.Alloc); ok {
			made[variable] = true
		}
	}
	for i := range between {
		written := p.written(i)
		if len(made) > 0 {
			written = maps.Clone(written)
			maps.DeleteFunc(written, func(r Region, _ bool) bool { return made[r.From.Value] })
		}
		if len(written) > 0 {
			list = append(list, change{i, written})
		}
	}
	return list
}

// written returns the regions that an instruction writes. Callers must not modify the result,
// because many attempts of one loop share it.
func (p *Package) written(i ssa.Instruction) Set {
	if known, ok := p.writtenBy.Load(i); ok {
		return known.(Set)
	}
	var written Set
	if e := p.Instr(i); e != nil {
		written = e.Regions(Writes)
	}
	p.writtenBy.Store(i, written)
	return written
}

// readBy returns the regions that are read by an operation or by the evaluation of its
// operands.
func (p *Package) readBy(op *ssa.Call) Set {
	reads, seen := p.At(op).Regions(Reads), map[ssa.Value]bool{}
	for _, v := range op.Call.Operands(nil) {
		p.operand(*v, reads, seen)
	}
	return reads
}

// operand adds the regions that are read to compute an operand.
func (p *Package) operand(v ssa.Value, reads Set, seen map[ssa.Value]bool) {
	i, ok := v.(ssa.Instruction)
	if !ok || seen[v] || len(seen) > maxRegions {
		return
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.UnOp, *ssa.Lookup:
		maps.Copy(reads, p.Instr(i).Regions(Reads))
	case *ssa.Call, *ssa.Phi:
		return // calls are executed again, and phis are judged as operands
	case *ssa.MakeClosure:
		if e := p.effects[v.Fn.(*ssa.Function)]; e != nil {
			return // these are part of the effects of the call
		}
	}
	for _, o := range i.Operands(nil) {
		if *o != nil {
			p.operand(*o, reads, seen)
		}
	}
}

// IsRead reports whether an operation may read the variable at an address.
func (p *Package) IsRead(addr ssa.Value, op *ssa.Call) bool {
	r, _ := regionAt(addr)
	return p.At(op).Regions(Reads).Overlaps(Set{r: true})
}

// Varies reports whether an operation may end its retries without a success: its result depends
// on the time, or on regions that other code may change in the meantime, or it reads regions
// that it writes before it fails.
func (p *Package) Varies(op *ssa.Call) bool {
	e := p.At(op)
	return e.progresses(e.Regions(Reads)) || p.mayChange(e.Regions(Decides), p.calledBy(p.functions(op)))
}

// EndsRetries reports whether a function that is called repeatedly may end the repetition
// without a success, because a varying condition leads directly to a return of nil or true.
func (p *Package) EndsRetries(fn *ssa.Function) bool {
	e := p.effects[fn]
	if e == nil || fn.Signature.Results().Len() == 0 {
		return false
	}
	reads := p.decides(fn, isSuccess)
	return e.progresses(reads) || p.mayChange(reads, p.calledBy([]*ssa.Function{fn}))
}

// decides returns the regions that are read by conditions which lead directly to a return whose
// last result satisfies last.
func (p *Package) decides(fn *ssa.Function, last func(ssa.Value) bool) Set {
	reads, seen := Set{}, map[ssa.Value]bool{}
	for ret := range flow.Returns(fn) {
		b := ret.Block()
		for k, pred := range b.Preds {
			var v ssa.Value
			if n := len(ret.Results); n > 0 {
				v = ret.Results[n-1]
			}
			if phi, ok := v.(*ssa.Phi); ok && phi.Block() == b {
				v = phi.Edges[k]
			}
			if branch := flow.Branch(pred); branch != nil && last(v) {
				p.condition(branch.Cond, reads, seen)
			}
		}
	}
	return reads
}

// condition adds the regions that are read to compute a condition. A test whether a call has
// failed reads nothing, because it tests the outcome of the call. The selection of the object
// or error that is tested does not count.
func (p *Package) condition(v ssa.Value, reads Set, seen map[ssa.Value]bool) {
	i, ok := v.(ssa.Instruction)
	if !ok || seen[v] {
		return
	}
	seen[v] = true
	if e := p.Instr(i); e != nil && !isOutcome(v) {
		maps.Copy(reads, e.Regions(Reads))
	}
	load, ok := v.(*ssa.UnOp)
	if _, phi := v.(*ssa.Phi); phi || ok && load.Op == token.MUL || isOutcome(v) {
		return
	}
	_, call := v.(*ssa.Call)
	for _, o := range i.Operands(nil) {
		if *o != nil && !(call && (IsReference((*o).Type()) || flow.IsErrorLike((*o).Type()))) {
			p.condition(*o, reads, seen)
		}
	}
}

// isOutcome reports whether a value is the result of a call that may fail.
func isOutcome(v ssa.Value) bool {
	call, ok := v.(*ssa.Call)
	return ok && flow.ReturnsError(call.Call.Signature())
}

// isSuccess reports whether a result is nil or true.
func isSuccess(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && (c.Value == nil || c.Value.ExactString() == "true")
}

// progresses reports whether one of the given regions is written before a failure, so that the
// next attempt reads another value.
func (e *Effects) progresses(reads Set) bool {
	for r := range reads {
		if r.Kind != World && r.Kind != Reach && e.Access[r]&Fails != 0 {
			return true
		}
	}
	return false
}

// mayChange reports whether a region may change while the given functions run, other than by
// their own writes.
func (p *Package) mayChange(regions Set, own map[*ssa.Function]bool) bool {
	for r := range regions {
		if r.isOutside() || p.isChanged(r, own) {
			return true
		}
	}
	return false
}

// Acts reports whether an instruction writes memory that code outside its function can access.
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

// calledBy returns the given functions and all functions that they may execute.
func (p *Package) calledBy(fns []*ssa.Function) map[*ssa.Function]bool {
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
