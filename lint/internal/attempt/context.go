package attempt

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A contextUse is a call that checks whether a context has ended, or that takes a context.
type contextUse struct {
	call ssa.CallInstruction
	ctx  ssa.Value // nil: the call takes a parameter that has a context
	asks bool
}

// contextUseOf returns how a call uses a context. uses is false if it does not.
func contextUseOf(call ssa.CallInstruction) (use contextUse, uses bool) {
	common := call.Common()
	if ctx := contextAsked(common); ctx != nil {
		return contextUse{call, ctx, true}, true
	}
	use = contextUse{call, GivenContext(common), false}
	return use, use.ctx != nil || carrierOf(common) != nil
}

// Context returns a context that may end while the loop runs and that the loop should respect,
// or nil. It is a context that the loop checks or passes to a call. Otherwise it is a parameter
// of the function, or of a function around it. If Op takes a context that cannot end, the
// operation is meant to continue, and there is no such context. A parameter that has a context,
// such as a request, counts as a context.
func (t *Attempt) Context() ssa.Value {
	if t.pkg.IsAfterEnd(t.Loop.Header.Instrs[0]) {
		return nil
	}
	var given ssa.Value
	for _, use := range t.contextUses() {
		operation := use.call == ssa.CallInstruction(t.Op)
		switch {
		case use.asks:
			if !t.pkg.NeverEnds(use.ctx) && t.isFromBefore(use.ctx) {
				return use.ctx
			}
		case use.ctx == nil:
			if given == nil && operation {
				given = carrierOf(&t.Op.Call)
			}
		case t.pkg.IsLive(use.ctx) && t.isFromBefore(use.ctx):
			if given == nil {
				given = use.ctx
			}
		case operation && t.pkg.NeverEnds(use.ctx):
			return nil
		}
	}
	if given != nil {
		return given
	}
	return t.pkg.ScopeContext(t.Fn)
}

// AsksContext reports whether the loop checks, between any two attempts, a context that may
// end.
func (t *Attempt) AsksContext() bool {
	return slices.ContainsFunc(t.contextUses(), func(use contextUse) bool {
		return use.asks && t.Run.IsPassed(use.call.Block()) && !t.pkg.NeverEnds(use.ctx)
	})
}

// contextUses returns the calls in the loop that use a context.
func (t *Attempt) contextUses() []contextUse {
	return slices.DeleteFunc(slices.Clone(t.pkg.index(t.Fn).contexts), func(use contextUse) bool {
		return !t.Loop.Has(use.call.Block())
	})
}

// GivenContext returns the context, which may end, that the operation takes, or nil. If the
// operation is a method of the result of another call, it may also be the context that this
// call takes.
func (t *Attempt) GivenContext() ssa.Value {
	for call := t.Op; call != nil; {
		if ctx := GivenContext(&call.Call); ctx != nil {
			if t.pkg.NeverEnds(ctx) {
				return nil
			}
			return ctx
		}
		v := call.Call.Value
		if !call.Call.IsInvoke() {
			if call.Call.Signature().Recv() == nil || len(call.Call.Args) == 0 {
				return nil
			}
			v = call.Call.Args[0]
		}
		call, _ = v.(*ssa.Call)
		if call != nil && !t.Loop.Has(call.Block()) {
			return nil
		}
	}
	return nil
}

// ending returns the parameter of type context that ends the loop. The loop checks it, or
// passes it to a wait.
func (t *Attempt) ending() *ssa.Parameter {
	for _, use := range t.contextUses() {
		waits := slices.ContainsFunc(t.Waits, func(w Wait) bool { return w.At == ssa.Instruction(use.call) })
		if use.ctx == nil || use.call == ssa.CallInstruction(t.Op) || !use.asks && !waits {
			continue
		}
		if p, ok := Root(use.ctx).(*ssa.Parameter); ok && vocab.IsContext(p.Type()) {
			return p
		}
	}
	return nil
}

// GivenContext returns the context that a call takes, or nil.
func GivenContext(call *ssa.CallCommon) ssa.Value {
	i := slices.IndexFunc(call.Args, func(arg ssa.Value) bool { return vocab.IsContext(arg.Type()) })
	if i < 0 {
		return nil
	}
	return call.Args[i]
}

// contextAsked returns the context whose end a call checks, or nil.
func contextAsked(call *ssa.CallCommon) ssa.Value {
	switch {
	case !known(call).Is(vocab.Ends):
	case call.IsInvoke():
		return call.Value
	case len(call.Args) == 1:
		return call.Args[0]
	}
	return nil
}

// carrierOf returns an argument that is a parameter with a context, such as a request, or nil.
func carrierOf(call *ssa.CallCommon) ssa.Value {
	for _, arg := range call.Args {
		if p, ok := arg.(*ssa.Parameter); ok && carriesContext(p.Type()) {
			return p
		}
	}
	return nil
}

// carriesContext reports whether a type has a method without parameters that returns a context.
func carriesContext(t types.Type) bool {
	methods := types.NewMethodSet(t)
	for i := range methods.Len() {
		m, ok := methods.At(i).Obj().(*types.Func)
		if ok && vocab.Of(m).Is(vocab.Attaches) && m.Signature().Params().Len() == 0 {
			return true
		}
	}
	return false
}

// isFromBefore reports whether a context, or the value to which it belongs, was created before
// the loop.
func (t *Attempt) isFromBefore(ctx ssa.Value) bool { return !t.Loop.Contains(origin(ctx)) }

// origin returns the origin of a context, or the origin of the value to which it belongs.
func origin(ctx ssa.Value) ssa.Value {
	ctx = Root(ctx)
	if call, ok := ctx.(*ssa.Call); ok && attaches(&call.Call) {
		ctx = call.Call.Value
		if len(call.Call.Args) > 0 {
			ctx = call.Call.Args[0]
		}
	}
	return flow.Source(ctx, flow.Addressed|flow.Loaded)
}

// DerivedFrom returns the context from which another was derived, so that it ends with that
// one, or nil.
func DerivedFrom(ctx ssa.Value) ssa.Value {
	if of := embedding(ctx); of != nil {
		return of
	}
	call, ok := flow.Source(ctx, flow.Unpacked).(*ssa.Call)
	if !ok || !known(&call.Call).Is(vocab.Derives) {
		return nil
	}
	return GivenContext(&call.Call)
}

// embedding returns the value of the program's own context type that a context is, or in which
// it is embedded, or nil.
func embedding(ctx ssa.Value) (of ssa.Value) {
	switch ctx := ctx.(type) {
	case *ssa.MakeInterface:
		of = ctx.X
	case *ssa.ChangeInterface:
		of = ctx.X
	case *ssa.Field:
		of = ctx.X
	case *ssa.UnOp:
		if field, ok := ctx.X.(*ssa.FieldAddr); ok && flow.FieldOf(field) != nil && flow.FieldOf(field).Embedded() {
			of = field.X
		}
	}
	if of == nil || !vocab.IsContext(of.Type()) {
		return nil
	}
	return of
}

// Root returns the context from which another was derived. For a captured parameter, it returns
// the parameter.
func Root(ctx ssa.Value) ssa.Value {
	for parent := DerivedFrom(ctx); parent != nil; parent = DerivedFrom(ctx) {
		ctx = parent
	}
	if p := CapturedParameter(ctx); p != nil {
		return p
	}
	return ctx
}

// CapturedParameter returns the parameter, of a function around a function literal, from which
// a value in the literal is read, or nil.
func CapturedParameter(v ssa.Value) *ssa.Parameter {
	p, _ := flow.Source(v, flow.Captured).(*ssa.Parameter)
	return p
}

// ScopeContext returns the context parameter of a function that callers may end, or that of a
// function around it which still runs, or nil.
func (p *Package) ScopeContext(fn *ssa.Function) ssa.Value {
	for ; fn != nil; fn = fn.Parent() {
		for i, param := range fn.Params {
			if receiver := i == 0 && fn.Signature.Recv() != nil; !receiver && vocab.IsNamedContext(param.Type()) &&
				param.Name() != "_" && param.Name() != "" {
				return param
			}
		}
		if start(fn) != nil {
			return nil // it runs independently, or after the function around it has returned
		}
	}
	return nil
}

// start returns the defer or go statement that runs a function literal, or nil.
func start(fn *ssa.Function) ssa.CallInstruction {
	if fn.Parent() == nil {
		return nil
	}
	for instr := range flow.Instructions(fn.Parent().Blocks) {
		switch instr := instr.(type) {
		case *ssa.Defer, *ssa.Go:
			if c := instr.(ssa.CallInstruction); isLiteral(c.Common().Value, fn) {
				return c
			}
		}
	}
	return nil
}

// isLiteral reports whether v is the function literal fn.
func isLiteral(v ssa.Value, fn *ssa.Function) bool {
	made, ok := v.(*ssa.MakeClosure)
	return v == ssa.Value(fn) || ok && made.Fn == ssa.Value(fn)
}

// GivenTo returns the parameter that a context is, or from which it is derived without a
// shorter lifetime, or nil.
func (p *Package) GivenTo(ctx ssa.Value) *ssa.Parameter {
	for {
		ctx = flow.Source(ctx, flow.Unpacked|flow.Kept|flow.Boxed)
		call, ok := ctx.(*ssa.Call)
		if !ok {
			param, _ := ctx.(*ssa.Parameter)
			return param
		}
		switch policy := p.Policies.OfAttempt(call); {
		case policy != nil && policy.AttemptLimit().Duration == 0, policy == nil && known(&call.Call).Is(vocab.Derives) &&
			!known(&call.Call).Is(vocab.Limits):
			ctx = GivenContext(&call.Call)
		default:
			return nil
		}
	}
}
