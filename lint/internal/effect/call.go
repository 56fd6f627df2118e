package effect

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A target is a function that a call may execute, with its arguments. The receiver is the first
// argument.
type target struct {
	fn     *ssa.Function
	args   []ssa.Value
	passed bool // the function is an argument of the call
	caller *ssa.Function
}

// targets returns the functions that a call may execute: the callee, if it is known, and the
// functions among the arguments.
func targets(i ssa.CallInstruction) (all []target) {
	c := i.Common()
	if !c.IsInvoke() {
		if fn, bound := functionOf(c.Value); fn != nil {
			all = append(all, target{fn, append(bound, c.Args...), false, i.Parent()})
		}
	}
	for _, arg := range c.Args {
		if _, ok := arg.Type().Underlying().(*types.Signature); ok {
			if fn, bound := functionOf(arg); fn != nil {
				all = append(all, target{fn, bound, true, i.Parent()})
			}
		}
	}
	return all
}

// functions returns those functions with bodies that a call may execute.
func (p *Package) functions(c ssa.CallInstruction) (fns []*ssa.Function) {
	for _, t := range targets(c) {
		if p.effects[t.fn] != nil {
			fns = append(fns, t.fn)
		}
	}
	return fns
}

// functionOf returns the function that a value denotes, and the receiver to which it is bound.
func functionOf(v ssa.Value) (fn *ssa.Function, bound []ssa.Value) {
	switch x := flow.Source(v, flow.Renamed|flow.Kept|flow.Captured).(type) {
	case *ssa.Function:
		return flow.Generic(x), nil
	case *ssa.MakeClosure:
		fn := x.Fn.(*ssa.Function)
		method, ok := fn.Object().(*types.Func)
		if fn.Synthetic == "" || !ok || !strings.HasPrefix(fn.Synthetic, "bound") {
			return fn, nil
		}
		if types.IsInterface(method.Signature().Recv().Type()) {
			return nil, nil
		}
		return fn.Prog.FuncValue(method.Origin()), x.Bindings
	}
	return nil, nil
}

// Callee returns the function that a call executes, in this or another package. It returns nil
// for interface methods and for unknown function values.
func Callee(c *ssa.CallCommon) *ssa.Function {
	if c.IsInvoke() {
		return nil
	}
	fn, _ := functionOf(c.Value)
	return fn
}

// objectOf returns the function or method that a call names, or nil.
func objectOf(c *ssa.CallCommon) *types.Func {
	if c.IsInvoke() {
		return c.Method
	}
	if fn, _ := functionOf(c.Value); fn != nil {
		obj, _ := fn.Object().(*types.Func)
		return obj
	}
	return nil
}

// At returns the effects of a call from the perspective of the function that contains it.
func (p *Package) At(c ssa.CallInstruction) *Effects {
	e := newEffects()
	call := c.Common()
	if b, ok := call.Value.(*ssa.Builtin); ok {
		e.builtin(b.Name(), call.Args)
		return e
	}
	called := targets(c)
	if len(called) == 0 || called[0].passed || !p.known(e, called[0]) {
		p.unknown(e, c)
	}
	for _, t := range called {
		if callee := p.effects[t.fn]; callee != nil && t.passed {
			e.join(callee.within(t))
		}
	}
	return e
}

// known adds the effects of a callee that has a body or a fact. It returns false for other
// callees.
func (p *Package) known(e *Effects, t target) bool {
	if callee := p.effects[t.fn]; callee != nil {
		e.join(callee.within(t))
		return true
	}
	if obj, ok := t.fn.Object().(*types.Func); ok && p.facts != nil {
		if fact := p.facts(obj); fact != nil {
			e.join(fact.effects().within(t))
			return true
		}
	}
	return false
}

// within returns effects from the perspective of a target's caller.
func (e *Effects) within(t target) *Effects {
	out := newEffects()
	for r, a := range e.Access {
		if u, ok := r.within(t); ok {
			out.add(u, a)
		}
	}
	out.Ends = e.Ends
	return out
}

// within returns a region of a callee from the caller's perspective. ok is false if the caller
// cannot access the region.
func (r Region) within(t target) (_ Region, ok bool) {
	if !r.isShared(t.fn) {
		return r, false
	}
	i := r.From.Param - 1
	switch {
	case i < 0:
		if a, ok := r.From.Value.(*ssa.Alloc); ok && r.Kind != Cell && a.Parent() == t.caller {
			r.From = rootOf(a)
		}
		return r, true
	case i >= len(t.args):
		r.From = Root{}
		return r, true
	case r.Kind == Pointee:
		if _, pointer := t.args[i].Type().Underlying().(*types.Pointer); pointer {
			return regionAt(t.args[i])
		}
	}
	r.From = rootOf(t.args[i])
	return r, true
}

// unknown adds the effects of a call that are known from its name and its arguments.
func (p *Package) unknown(e *Effects, c ssa.CallInstruction) {
	call := c.Common()
	if isContextMethod(call) {
		e.add(Region{Kind: Context}, Reads)
		return
	}
	if isCancel(call) {
		return // that a context has ended repairs nothing
	}
	var known vocab.Known
	if obj := objectOf(call); obj != nil {
		known = vocab.Of(obj)
	}
	e.Ends = known.Is(vocab.Exits)
	switch {
	case known.Is(vocab.Loads | vocab.Stores):
		e.atomic(known, call)
		return
	case known.Is(vocab.Clock):
		e.add(Region{Kind: Clock}, Reads)
		return
	case known.Is(vocab.Receives | vocab.Asks):
		e.receive(known, call)
		return
	case known.Is(vocab.Pure | vocab.Logs | vocab.Judges | vocab.Waits | vocab.Random | vocab.Makes | vocab.Exits):
		return
	case call.IsInvoke() && flow.IsErrorLike(call.Value.Type()):
		return
	}
	reach := reached(call)
	for _, r := range reach {
		e.add(r, Reads)
	}
	e.add(Region{Kind: World}, Reads)
	if v, ok := c.(*ssa.Call); ok && IsGetter(call) && len(*v.Referrers()) > 0 {
		return // the result is used
	}
	for _, r := range reach {
		e.write(r)
	}
	if known.Is(vocab.Cleans) && len(reach) > 0 {
		return // it accesses its arguments
	}
	e.write(Region{Kind: World})
}

// IsGetter reports whether a call returns exactly one value, which is not an error.
func IsGetter(call *ssa.CallCommon) bool {
	return call.Signature().Results().Len() == 1 && !flow.ReturnsError(call.Signature())
}

// atomic adds the effects of a function that reads or writes the variable to which its first
// operand points.
func (e *Effects) atomic(known vocab.Known, call *ssa.CallCommon) {
	if len(call.Args) == 0 {
		return
	}
	r, shared := regionAt(call.Args[0])
	if !shared {
		return
	}
	e.add(r, Reads)
	if known.Is(vocab.Stores) {
		e.write(r)
	}
}

// receive adds the effects of a call that takes the next item from its receiver.
func (e *Effects) receive(known vocab.Known, call *ssa.CallCommon) {
	if known.Is(vocab.Asks) {
		e.add(Region{Kind: Person}, Reads)
	}
	r := Region{Kind: Stream}
	if call.IsInvoke() {
		r.From = rootOf(call.Value)
	} else if len(call.Args) > 0 {
		r.From = rootOf(call.Args[0])
	}
	e.add(r, Reads|Writes|Fails)
	e.add(Region{Kind: World}, Reads|Writes|Fails)
}

// reached returns the memory that unknown code can reach from the arguments of a call.
func reached(call *ssa.CallCommon) (all []Region) {
	values := call.Args
	if call.IsInvoke() {
		values = append([]ssa.Value{call.Value}, values...)
	}
	for _, v := range values {
		if IsReference(v.Type()) && !vocab.IsContext(v.Type()) && !flow.IsErrorLike(v.Type()) {
			if root := rootOf(v); root != (Root{}) {
				all = append(all, Region{Reach, objectType(v.Type()), root})
			}
		}
	}
	return all
}

// objectType returns the name, as in fieldName, of the type of the object that a value is or to
// which it points.
func objectType(t types.Type) string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil {
		return n.Obj().Pkg().Path() + "." + n.Obj().Name()
	}
	return t.String()
}

// isContextMethod reports whether a call is a method of a context.
func isContextMethod(call *ssa.CallCommon) bool {
	return call.IsInvoke() && vocab.IsContext(call.Value.Type())
}

// isCancel reports whether a call ends a context, by the function that was returned with it.
func isCancel(call *ssa.CallCommon) bool {
	if call.IsInvoke() || !vocab.IsCancel(call.Value.Type()) {
		return false
	}
	made, ok := flow.Source(call.Value, flow.Unpacked|flow.Kept|flow.Captured).(*ssa.Call)
	return ok && flow.Known(&made.Call).Is(vocab.Derives)
}

// builtin adds the effects of a built-in function.
func (e *Effects) builtin(name string, args []ssa.Value) {
	switch name {
	case "copy", "delete", "clear":
		e.write(Region{Element, elementName(args[0].Type()), rootOf(args[0])})
	case "close":
		e.write(Region{Kind: Signal})
	}
}

// elementName returns the name for the elements of a container, which is also the name for the
// addresses of elements.
func elementName(t types.Type) string {
	switch t := t.Underlying().(type) {
	case *types.Slice:
		return types.NewPointer(t.Elem()).String()
	case *types.Map:
		return t.String()
	}
	return t.String()
}
