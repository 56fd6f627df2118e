package attempt

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// state returns what the result of a call depends on in addition to its arguments. inObjects is
// the part that depends on the content of objects. Objects that each iteration creates again
// are Renewed, and objects that the operation has returned belong to its answer.
func (j *judge) state(call *ssa.Call) (state, inObjects Why) {
	state = j.p.summaryOf(&call.Call).State
	const kept = Count | Flag
	if j.run == nil || state&kept == 0 || state&Clock != 0 {
		return state, 0
	}
	for r := range j.p.effects.At(call).Regions(effect.Reads) {
		switch {
		case !r.Kind.IsMemory() || j.p.effects.IsSetting(r):
		case r.From.Value != nil && r.From.Value == ssa.Value(j.op()):
			inObjects |= Class | Answer
		case j.isOwnObject(r.From.Value):
			inObjects |= Renewed
		default:
			return state, 0
		}
	}
	if inObjects == 0 {
		return state, 0
	}
	return state &^ kept, inObjects
}

// isOwnObject reports whether each iteration creates an object that has no references to other
// objects and that the operation does not change.
func (j *judge) isOwnObject(v ssa.Value) bool {
	switch made := v.(type) {
	case *ssa.Alloc:
	case *ssa.Call:
		if _, fn := flow.StaticCallee(&made.Call); fn == nil || !isConstructor(fn) {
			return false
		}
	default:
		return false
	}
	b := v.(ssa.Instruction).Block()
	p, ok := v.Type().Underlying().(*types.Pointer)
	return ok && !effect.IsReference(p.Elem()) && j.has(b) && j.run.IsPassed(b) &&
		!slices.ContainsFunc(j.run.Op.Operands(nil), func(o *ssa.Value) bool { return *o != nil && objectOf(*o) == v })
}

// isConstructor reports whether a function only creates and returns an object.
func isConstructor(fn *ssa.Function) bool {
	for ret := range flow.Returns(fn) {
		made, ok := ret.Results[0].(*ssa.Alloc)
		if !ok || slices.ContainsFunc(flow.Refs(made), func(ref ssa.Instruction) bool {
			store, stores := ref.(*ssa.Store)
			_, field := ref.(*ssa.FieldAddr)
			_, returns := ref.(*ssa.Return)
			return !field && !returns && !(stores && store.Val != ssa.Value(made))
		}) {
			return false
		}
	}
	return fn.Signature.Results().Len() == 1
}
