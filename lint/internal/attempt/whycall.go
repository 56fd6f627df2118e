package attempt

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// call returns what the result of a call depends on.
func (j *judge) call(call *ssa.Call) Why {
	common := call.Common()
	if ctx := contextAsked(common); ctx != nil {
		return j.context(ctx)
	}
	if j.isOther(call) {
		return Other
	}
	w := Fixed | j.all(common.Args...)
	if common.IsInvoke() {
		w |= j.why(common.Value)
	}
	if _, builtin := common.Value.(*ssa.Builtin); builtin {
		return w
	}
	ofError := j.judgesError(common)
	k := known(common)
	switch {
	case k.Is(vocab.Derives | vocab.Attaches):
		return w | Context
	case k.Is(vocab.Clock):
		return w | Clock
	case k.Is(vocab.Asks):
		return w | Person
	case k.Is(vocab.Stops) && ofError:
		return w | Class | Signal // other code has asked to stop
	case k.Is(vocab.Random | vocab.Receives):
		return w | Unknown
	}
	return w | j.result(call, k, w, ofError)
}

// context returns what the end of a context depends on.
func (j *judge) context(ctx ssa.Value) Why {
	if j.p.NeverEnds(ctx) {
		return Fixed | Dead
	}
	return Context
}

// result returns what the result of a call depends on in addition to w, which contains what its
// arguments depend on. ofError reports that the call takes the error of the operation.
func (j *judge) result(at *ssa.Call, k vocab.Known, w Why, ofError bool) Why {
	call := &at.Call
	known := j.p.summaryOf(call).known
	state, inObjects := j.state(at)
	switch {
	case ofError && !call.IsInvoke() && call.StaticCallee() == nil:
		return Class | Unknown // a function value that judges the error, perhaps also by other criteria
	case k.Is(vocab.Pure), known && state == 0:
		if inObjects == 0 && (ofError || w&Outcome != 0) {
			return Class
		}
		return inObjects
	case ofError && (call.IsInvoke() || !known && call.Signature().Recv() == nil):
		return Class // a method of the error, or a function of another module that judges it
	case known:
		return state | inObjects
	case w&Answer != 0 && w&^adversary == 0:
		return 0 // a question about the answer
	}
	return Unknown
}

// isOther reports whether a call is another operation of the loop, and returns an error.
func (j *judge) isOther(call *ssa.Call) bool {
	if !flow.IsError(call.Type()) || !isOperation(call) {
		return false
	}
	for _, arg := range call.Call.Args {
		if flow.IsError(arg.Type()) {
			return false // it wraps an error
		}
	}
	state, _ := j.state(call)
	return !j.p.summaryOf(call.Common()).known || state&^Flag != 0
}

// judgesError reports whether a call takes the error of the operation, or is a method of it.
func (j *judge) judgesError(call *ssa.CallCommon) bool {
	if call.IsInvoke() {
		return flow.IsErrorLike(call.Value.Type()) && j.why(call.Value)&(Outcome|Class) != 0
	}
	for _, arg := range call.Args {
		if flow.IsErrorLike(arg.Type()) && j.why(arg)&(Outcome|Class) != 0 {
			return true
		}
	}
	return false
}

// load returns what a value that is read from memory depends on.
func (j *judge) load(v *ssa.UnOp) Why {
	switch x := v.X.(type) {
	case *ssa.Alloc:
		return j.variable(x)
	case *ssa.Global:
		switch {
		case flow.IsError(v.Type()) && vocab.EndsByName(x.Name()):
			return Signal
		case flow.IsError(v.Type()), j.p.effects.IsConstant(x):
			return Fixed
		}
		return Flag
	case *ssa.FieldAddr:
		return j.field(x)
	case *ssa.IndexAddr:
		return j.all(x.X, x.Index)
	case *ssa.FreeVar:
		if vocab.IsContext(v.Type()) {
			return Fixed
		}
		return Flag
	}
	if w := j.why(v.X); w&(Outcome|Class) != 0 {
		return w // a part of the operation's result
	}
	return j.why(v.X) | Flag
}

func (j *judge) field(x *ssa.FieldAddr) Why {
	if variable, ok := x.X.(*ssa.Alloc); ok {
		return j.variable(variable)
	}
	base := j.why(x.X)
	if op := j.op(); op != nil && slices.ContainsFunc(flow.Arguments(&op.Call), func(arg ssa.Value) bool {
		_, constant := arg.(*ssa.Const)
		return !constant && objectOf(arg) == objectOf(x)
	}) {
		return base | Class | Answer // the operation sets it
	}
	if base&(Outcome|Class) != 0 {
		return base | Class // a field of the operation's result
	}
	if f := flow.FieldOf(x); f != nil && (j.p.effects.IsConstant(x) || j.isFrozen(x)) {
		return base | Fixed | Setting
	}
	if c, ok := flow.CellAt(x); ok {
		for _, store := range j.p.index(x.Parent()).stores[c] {
			if j.isReached(store.Block()) {
				return base | Count
			}
		}
	}
	return base | Flag
}

// isFrozen reports whether only a success of the operation, or code that reverts its effect,
// sets a field.
func (j *judge) isFrozen(x *ssa.FieldAddr) bool {
	if flow.FieldOf(x).Exported() || j.run == nil {
		return false
	}
	_, body := flow.StaticCallee(&j.run.Op.Call)
	sets := false
	for _, w := range j.p.effects.Writes(x) {
		switch b := w.At.Block(); {
		case b.Parent() == j.function() && j.has(b):
			if j.isReached(b) {
				return false
			}
			sets = true
		case b.Parent() == body:
			sets = true
		case !w.Fresh && !isUnset(w.Value):
			return false
		}
	}
	return sets
}

// isUnset reports whether a value is nil or false.
func isUnset(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && (c.Value == nil || flow.IsBool(c.Type()) && c.Value.ExactString() == "false")
}

// variable combines what the values depend on that are stored in a local variable in the loop.
func (j *judge) variable(v *ssa.Alloc) Why {
	w := Fixed
	for _, store := range flow.Stores(v) {
		if !j.has(store.Block()) {
			if _, constant := store.Val.(*ssa.Const); !constant {
				w |= Setting
			}
			continue
		}
		if !j.isReached(store.Block()) {
			continue
		}
		w |= j.why(store.Val)
		if _, computed := store.Val.(*ssa.BinOp); computed && isNumber(store.Val.Type()) {
			w |= Count
		}
	}
	for _, ref := range flow.Refs(v) {
		w |= j.shared(v, ref)
	}
	return w
}

// shared returns what a use of a variable's address adds to the things on which the variable
// depends.
func (j *judge) shared(v *ssa.Alloc, ref ssa.Instruction) Why {
	switch ref := ref.(type) {
	case *ssa.MakeClosure:
		switch {
		case !flow.StoresThrough(ref, v):
		case j.isGiven(ref):
			return Class | Answer // the operation sets it
		default:
			return Flag
		}
	case *ssa.MakeInterface: // the target of errors.As
		for _, use := range flow.Refs(ref) {
			if call, ok := use.(*ssa.Call); ok && j.has(call.Block()) {
				return j.target(call)
			}
		}
	case *ssa.Call:
		if j.has(ref.Block()) {
			return j.target(ref)
		}
	}
	return 0
}

// target returns what a variable depends on if a call takes its address.
func (j *judge) target(call *ssa.Call) Why {
	if call == j.op() {
		return Class | Answer
	}
	return j.why(call)
}

// isGiven reports whether a function literal is an argument of the operation, or the operation
// itself.
func (j *judge) isGiven(literal *ssa.MakeClosure) bool {
	op := j.op()
	if op == nil {
		return false
	}
	for _, arg := range append([]ssa.Value{op.Call.Value}, op.Call.Args...) {
		if flow.Source(arg, flow.Renamed) == ssa.Value(literal) {
			return true
		}
	}
	return false
}

// returnsError reports whether the only result of a call is an error.
func returnsError(call *ssa.CallCommon) bool {
	results := call.Signature().Results()
	return results.Len() == 1 && flow.IsError(results.At(0).Type())
}
