package attempt

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A contextUse is a call that asks a context whether it has ended, or is given one.
type contextUse struct {
	call ssa.CallInstruction
	ctx  ssa.Value // nil: it is given a parameter that has a context
	asks bool
}

// contextUse returns how a call uses a context, if it does.
func contextUseOf(call ssa.CallInstruction) (use contextUse, uses bool) {
	common := call.Common()
	if ctx := contextAsked(common); ctx != nil {
		return contextUse{call, ctx, true}, true
	}
	use = contextUse{call, GivenContext(common), false}
	return use, use.ctx != nil || carrierOf(common) != nil
}

// Context returns a context that may end while the loop runs and that it should heed, or nil:
// one that the loop asks whether it has ended, or gives to what it calls, else a parameter of
// the function, or of one around it. If Op is given a context that cannot end, it is to go on.
// A parameter that has a context, as a request has, stands for that.
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

// AsksContext reports whether the loop asks a context that may end between any two attempts.
func (t *Attempt) AsksContext() bool {
	return slices.ContainsFunc(t.contextUses(), func(use contextUse) bool {
		return use.asks && t.Run.IsPassed(use.call.Block()) && !t.pkg.NeverEnds(use.ctx)
	})
}

// contextUses returns the calls of the loop that use a context.
func (t *Attempt) contextUses() []contextUse {
	return slices.DeleteFunc(slices.Clone(t.pkg.index(t.Fn).contexts), func(use contextUse) bool {
		return !t.Loop.Has(use.call.Block())
	})
}

// GivenContext returns the context that the operation, or the call that returned what it is a
// method of, is given and that may end, or nil.
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

// ending returns the context, a parameter, with which the loop ends: it is asked, or given to
// what waits.
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

// GivenContext returns the context that a call is given, or nil.
func GivenContext(call *ssa.CallCommon) ssa.Value {
	i := slices.IndexFunc(call.Args, func(arg ssa.Value) bool { return vocab.IsContext(arg.Type()) })
	if i < 0 {
		return nil
	}
	return call.Args[i]
}

// contextAsked returns the context that a call asks whether it has ended, or nil.
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

// carrierOf returns an argument that is a parameter which has a context, or nil.
func carrierOf(call *ssa.CallCommon) ssa.Value {
	for _, arg := range call.Args {
		if p, ok := arg.(*ssa.Parameter); ok && carriesContext(p.Type()) {
			return p
		}
	}
	return nil
}

// carriesContext reports whether a type has a method that returns a context and takes nothing.
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

// isFromBefore reports whether a context, or what it belongs to, is from before the loop.
func (t *Attempt) isFromBefore(ctx ssa.Value) bool { return !t.Loop.Contains(origin(ctx)) }

// origin returns what a context, or what it belongs to, comes from.
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

// DerivedFrom returns what a context is derived from, so that it ends with that, or nil.
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

// embedding returns the context of a type of its own that a context is, or is embedded in, or nil.
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

// Root returns what a context was derived from, of a captured parameter the parameter.
func Root(ctx ssa.Value) ssa.Value {
	for parent := DerivedFrom(ctx); parent != nil; parent = DerivedFrom(ctx) {
		ctx = parent
	}
	if p := CapturedParameter(ctx); p != nil {
		return p
	}
	return ctx
}

// CapturedParameter returns the parameter of a function around a literal that a value in the
// literal is read from, or nil.
func CapturedParameter(v ssa.Value) *ssa.Parameter {
	p, _ := flow.Source(v, flow.Captured).(*ssa.Parameter)
	return p
}

// ScopeContext returns the context of a function that its callers may end, or the context of a
// function around it while that runs, or nil.
func (p *Package) ScopeContext(fn *ssa.Function) ssa.Value {
	for ; fn != nil; fn = fn.Parent() {
		for i, param := range fn.Params {
			if receiver := i == 0 && fn.Signature.Recv() != nil; !receiver && vocab.IsNamedContext(param.Type()) &&
				param.Name() != "_" && param.Name() != "" {
				return param
			}
		}
		if start(fn) != nil {
			return nil // it runs on its own, or when the function around it has returned
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

// isLiteral reports whether v is a function literal.
func isLiteral(v ssa.Value, fn *ssa.Function) bool {
	made, ok := v.(*ssa.MakeClosure)
	return v == ssa.Value(fn) || ok && made.Fn == ssa.Value(fn)
}

// GivenTo returns the parameter of its function that a context is, or is derived from so that it ends
// no earlier, or nil.
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
