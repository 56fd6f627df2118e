package effect

import (
	"go/token"
	"iter"
	"maps"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// Repairs reports whether the instructions between two attempts of an operation may write what
// the operation, or the evaluation of its operands, reads.
func (p *Package) Repairs(between iter.Seq[ssa.Instruction], op *ssa.Call) bool {
	reads := p.At(op).Regions(Reads)
	seen := map[ssa.Value]bool{}
	for _, v := range op.Call.Operands(nil) {
		p.operand(*v, reads, seen)
	}
	made := map[ssa.Value]bool{} // variables of which each attempt has its own
	for i := range between {
		if variable, ok := i.(*ssa.Alloc); ok {
			made[variable] = true
		}
	}
	for i := range between {
		e := p.Instr(i)
		if e == nil || i == ssa.Instruction(op) {
			continue
		}
		written := e.Regions(Writes)
		maps.DeleteFunc(written, func(r Region, _ bool) bool { return made[r.From.Value] })
		if written.Overlaps(reads) {
			return true
		}
	}
	return false
}

// operand adds what is read where an operand is computed.
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
		return // executed again itself, or judged as an operand
	case *ssa.MakeClosure:
		if e := p.effects[v.Fn.(*ssa.Function)]; e != nil {
			return // part of the effects of the call
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

// Varies reports whether an operation depends on more than its operands: on the time, on what
// others may change meanwhile, or on what it writes itself before it fails. It may end its
// retries without having succeeded.
func (p *Package) Varies(op *ssa.Call) bool {
	e := p.At(op)
	return p.vary(e.Regions(Reads), e, p.functions(op))
}

// EndsRetries reports whether a function that something else calls again and again may end that
// without having succeeded: what varies leads straight to a return of nil, or true.
func (p *Package) EndsRetries(fn *ssa.Function) bool {
	e := p.effects[fn]
	if e == nil || fn.Signature.Results().Len() == 0 {
		return false
	}
	reads := Set{}
	for ret := range flow.Returns(fn) {
		b := ret.Block()
		for k, pred := range b.Preds {
			v := ret.Results[len(ret.Results)-1]
			if phi, ok := v.(*ssa.Phi); ok && phi.Block() == b {
				v = phi.Edges[k]
			}
			if branch := flow.Branch(pred); branch != nil && isSuccess(v) {
				p.condition(branch.Cond, reads)
			}
		}
	}
	return p.vary(reads, e, []*ssa.Function{fn})
}

// condition adds what is read where a condition is computed. Whether a call has failed is its
// outcome, and which object or error is asked is no condition.
func (p *Package) condition(v ssa.Value, reads Set) {
	i, ok := v.(ssa.Instruction)
	if !ok {
		return
	}
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
			p.condition(*o, reads)
		}
	}
}

// isOutcome reports whether a value is what a call returns that may fail.
func isOutcome(v ssa.Value) bool {
	call, ok := v.(*ssa.Call)
	return ok && flow.ReturnsError(call.Call.Signature())
}

// isSuccess reports whether a result is nil or true.
func isSuccess(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && (c.Value == nil || c.Value.ExactString() == "true")
}

// vary reports whether regions that some functions with known effects read may change before
// they fail, or in other ways than by them.
func (p *Package) vary(reads Set, e *Effects, fns []*ssa.Function) bool {
	own := p.calledBy(fns)
	for r := range reads {
		itself := r.Kind != World && r.Kind != Reach && e.Access[r]&Fails != 0
		if itself || r.isOutside() || p.mayChange(r, own) {
			return true
		}
	}
	return false
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

// calledBy returns some functions, and all that they may execute.
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
