package attempt

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// isDead reports whether a context cannot end while its function runs.
func (p *Package) isDead(ctx ssa.Value) bool { return !p.mayEnd(ctx, map[ssa.Value]bool{}, true) }

// IsLive reports whether somebody else may end a context: it is known where it comes from.
func (p *Package) IsLive(ctx ssa.Value) bool { return p.mayEnd(ctx, map[ssa.Value]bool{}, false) }

// mayEnd reports whether a context may end before its function returns. What is not known of a
// context is answered by unknown.
func (p *Package) mayEnd(ctx ssa.Value, seen map[ssa.Value]bool, unknown bool) bool {
	if seen[ctx] {
		return false
	}
	seen[ctx] = true
	switch ctx := ctx.(type) {
	case *ssa.Const:
		return false // nil
	case *ssa.Parameter:
		return true
	case *ssa.FreeVar:
		return p.capturedMayEnd(ctx, seen, unknown)
	case *ssa.Call:
		return p.derivedMayEnd(ctx, seen, unknown)
	case *ssa.Extract:
		call, ok := ctx.Tuple.(*ssa.Call)
		if !ok {
			return unknown
		}
		return p.derivedMayEnd(call, seen, unknown)
	case *ssa.UnOp:
		return p.loadedMayEnd(ctx, seen, unknown)
	case *ssa.Phi:
		for _, e := range ctx.Edges {
			if p.mayEnd(e, seen, unknown) {
				return true
			}
		}
		return false
	case *ssa.MakeInterface:
		return unknown
	case *ssa.ChangeInterface:
		return p.mayEnd(ctx.X, seen, unknown)
	}
	return unknown
}

// derivedMayEnd is mayEnd for what a call returns.
func (p *Package) derivedMayEnd(call *ssa.Call, seen map[ssa.Value]bool, unknown bool) bool {
	k := known(&call.Call)
	parent := givenContext(&call.Call)
	switch {
	case attaches(&call.Call):
		return true // of a request, of a stream
	case k.Is(vocab.Roots):
		return false
	case k.Is(vocab.Derives) && parent != nil:
		if p.mayEnd(parent, seen, unknown) {
			return true
		}
		return k.Is(vocab.Limits) && unknown || isCancelled(call, unknown)
	case parent != nil:
		return p.mayEnd(parent, seen, unknown)
	}
	return unknown
}

// attaches reports whether a call returns a context that others end: of its receiver.
func attaches(call *ssa.CallCommon) bool {
	sig := call.Signature()
	k := known(call)
	return k.Is(vocab.Attaches) || !k.Is(vocab.Pure) && sig.Params().Len() == 0 && sig.Results().Len() == 1 &&
		(call.IsInvoke() || sig.Recv() != nil) && vocab.IsContext(sig.Results().At(0).Type())
}

// isCancelled reports whether somebody may end a derived context before its function returns:
// it does so itself, if that counts, or gives the function that does to others.
func isCancelled(call *ssa.Call, byItself bool) bool {
	for _, ref := range refs(call) {
		if cancel, ok := ref.(*ssa.Extract); ok && cancel.Index == 1 && isHandedOn(cancel, byItself) {
			return true
		}
	}
	return false
}

// isHandedOn reports whether a function value, or a variable that holds it, is used for more
// than to be deferred, or, unless that counts, called.
func isHandedOn(v ssa.Value, calls bool) bool {
	for _, ref := range refs(v) {
		switch ref := ref.(type) {
		case *ssa.Defer:
			if ref.Call.Value != v {
				return true
			}
		case *ssa.Call:
			if ref.Call.Value != v || calls {
				return true
			}
		case *ssa.UnOp:
			if isHandedOn(ref, calls) {
				return true
			}
		case *ssa.Store:
			if variable, ok := ref.Addr.(*ssa.Alloc); ref.Val == v && (!ok || isHandedOn(variable, calls)) {
				return true
			}
		case *ssa.MakeClosure:
			if !isDeferred(ref) {
				return true
			}
		case *ssa.DebugRef:
		default:
			return true
		}
	}
	return false
}

// isDeferred reports whether a function literal is only deferred.
func isDeferred(literal *ssa.MakeClosure) bool {
	return !slices.ContainsFunc(refs(literal), func(ref ssa.Instruction) bool {
		d, ok := ref.(*ssa.Defer)
		return !ok || d.Call.Value != ssa.Value(literal)
	})
}

// loadedMayEnd is mayEnd for a context that is read from memory.
func (p *Package) loadedMayEnd(load *ssa.UnOp, seen map[ssa.Value]bool, unknown bool) bool {
	switch x := load.X.(type) {
	case *ssa.Alloc:
		for _, store := range flow.Stores(x) {
			if p.mayEnd(store.Val, seen, unknown) {
				return true
			}
		}
		return flow.Escapes(x) && unknown
	case *ssa.FreeVar:
		return p.capturedMayEnd(x, seen, unknown)
	case *ssa.Global:
		for _, v := range p.globals[x] {
			if p.mayEnd(v, seen, unknown) {
				return true
			}
		}
		return len(p.globals[x]) == 0 && unknown
	case *ssa.FieldAddr:
		return p.heldMayEnd(flow.FieldOf(x), seen, unknown)
	}
	return unknown
}

// heldMayEnd is mayEnd for a context that a field holds: one of those that it is set to.
func (p *Package) heldMayEnd(f *types.Var, seen map[ssa.Value]bool, unknown bool) bool {
	stores := p.fields[f]
	if f == nil || len(stores) == 0 {
		return unknown
	}
	for _, store := range stores {
		if store == nil {
			return unknown
		}
		if p.mayEnd(store.Val, seen, unknown) {
			return true
		}
	}
	return false
}

// capturedMayEnd is mayEnd for a context, or a variable with one, that a function literal
// captures.
func (p *Package) capturedMayEnd(v *ssa.FreeVar, seen map[ssa.Value]bool, unknown bool) bool {
	bound := flow.Binding(v)
	if bound == nil {
		return unknown
	}
	held := []ssa.Value{bound}
	if variable, ok := bound.(*ssa.Alloc); ok {
		held = nil
		for _, store := range flow.Stores(variable) {
			held = append(held, store.Val)
		}
	}
	return slices.ContainsFunc(held, func(ctx ssa.Value) bool {
		return p.mayEnd(ctx, seen, unknown) || endsWithScope(ctx)
	})
}

// endsWithScope reports whether a context ends when the function that derives it returns, which
// a function literal that captures it may outlive.
func endsWithScope(ctx ssa.Value) bool {
	x, ok := ctx.(*ssa.Extract)
	if !ok {
		return false
	}
	call, ok := x.Tuple.(*ssa.Call)
	return ok && known(&call.Call).Is(vocab.Derives)
}
