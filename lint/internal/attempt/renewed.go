package attempt

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// clock returns what a call depends on that reads the time, or computes with times: Elapsed
// if all of them were taken in the same iteration.
func (j *judge) clock(call *ssa.Call, k vocab.Known) Why {
	times := timesGiven(call)
	if k.Is(vocab.Clock) && len(times) > 0 || len(times) > 1 {
		if j.run != nil && !slices.ContainsFunc(times, func(v ssa.Value) bool { return !j.isOwnTime(v) }) {
			return Elapsed
		}
	}
	return Clock
}

// timesGiven returns the arguments of a call that are times.
func timesGiven(call *ssa.Call) []ssa.Value {
	return slices.DeleteFunc(slices.Clone(call.Call.Args), func(arg ssa.Value) bool { return !vocab.IsTime(arg.Type()) })
}

// isMadeAgain reports whether a value is computed between any two executions of the operation.
func (j *judge) isMadeAgain(v ssa.Value) bool {
	return j.run != nil && j.run.Loop.Contains(v) && j.run.IsPassed(v.(ssa.Instruction).Block())
}

// isOwnTime reports whether a value is a time that each iteration takes, or made of one.
func (j *judge) isOwnTime(v ssa.Value) bool {
	if !j.isMadeAgain(v) {
		return false
	}
	own, known := j.own[v]
	if !known {
		j.own[v] = false // in a cycle
		own = j.takesTime(v)
		j.own[v] = own
	}
	return own
}

func (j *judge) takesTime(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Call:
		k, times := known(&v.Call), timesGiven(v)
		if len(times) == 0 {
			return k.Is(vocab.Clock)
		}
		return k.Is(vocab.Pure) && len(times) == 1 && j.isOwnTime(times[0])
	case *ssa.BinOp:
		return j.isOwnTime(v.X) || j.isOwnTime(v.Y)
	case *ssa.Convert:
		return j.isOwnTime(v.X)
	case *ssa.UnOp:
		variable, ok := v.X.(*ssa.Alloc)
		if !ok || !j.isMadeAgain(variable) {
			return false
		}
		stores := flow.Stores(variable)
		return len(stores) == 1 && j.isOwnTime(stores[0].Val)
	}
	return false
}

// isWhenShort reports whether a condition on the time that an iteration takes holds if that is
// short.
func (j *judge) isWhenShort(cond ssa.Value) bool {
	cmp, ok := cond.(*ssa.BinOp)
	return ok && (cmp.Op == token.LSS || cmp.Op == token.LEQ) == (j.why(cmp.X)&Elapsed != 0)
}

// state returns what the result of a call depends on besides its arguments, and apart from that
// what starts again in each iteration: what the callee keeps in an object that the iteration
// makes.
func (j *judge) state(call *ssa.Call) (state, renewed Why) {
	state = j.p.summaryOf(&call.Call).State
	const kept = Count | Flag | Clock
	if j.run == nil || state&kept == 0 || len(timesGiven(call)) > 0 || !j.keepsInOwn(call) {
		return state, 0
	}
	if renewed = Renewed; state&Clock != 0 {
		renewed = Elapsed
	}
	return state &^ kept, renewed
}

// keepsInOwn reports whether all memory that a call depends on is in objects that each
// iteration makes, settings aside.
func (j *judge) keepsInOwn(call *ssa.Call) bool {
	own := false
	for r := range j.p.effects.At(call).Regions(effect.Reads) {
		switch {
		case !r.Kind.IsMemory() || j.p.effects.IsSetting(r):
		case j.isOwnObject(r.From.Value):
			own = true
		default:
			return false
		}
	}
	return own
}

// isOwnObject reports whether each iteration makes an object that leads to no other.
func (j *judge) isOwnObject(v ssa.Value) bool {
	if !j.isMadeAgain(v) {
		return false
	}
	if p, ok := v.Type().Underlying().(*types.Pointer); !ok || effect.IsReference(p.Elem()) {
		return false
	}
	if slices.ContainsFunc(j.run.Op.Operands(nil), func(o *ssa.Value) bool { return *o != nil && objectOf(*o) == v }) {
		return false // the operation may change it
	}
	switch v := v.(type) {
	case *ssa.Alloc:
		return true
	case *ssa.Call:
		_, fn := flow.StaticCallee(&v.Call)
		return fn != nil && isConstructor(fn)
	}
	return false
}

// isConstructor reports whether a function only returns objects that it makes.
func isConstructor(fn *ssa.Function) bool {
	for ret := range flow.Returns(fn) {
		made, ok := ret.Results[0].(*ssa.Alloc)
		if !ok || slices.ContainsFunc(flow.Refs(made), func(ref ssa.Instruction) bool {
			switch ref := ref.(type) {
			case *ssa.Return, *ssa.FieldAddr, *ssa.UnOp, *ssa.DebugRef:
				return false
			case *ssa.Store:
				return ref.Val == ssa.Value(made)
			}
			return true
		}) {
			return false
		}
	}
	return true
}
