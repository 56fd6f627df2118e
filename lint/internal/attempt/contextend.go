package attempt

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// NeverEnds reports whether a context cannot end while its function runs.
func (p *Package) NeverEnds(ctx ssa.Value) bool { return !p.mayEnd(ctx, map[ssa.Value]bool{}, true) }

// IsLive reports whether somebody else may end a context: it is known where it comes from.
func (p *Package) IsLive(ctx ssa.Value) bool { return p.mayEnd(ctx, map[ssa.Value]bool{}, false) }

// mayEnd reports whether a context may end before its function returns. What is not known of a
// context is answered by unknown.
func (p *Package) mayEnd(ctx ssa.Value, seen map[ssa.Value]bool, unknown bool) bool {
	if seen[ctx] {
		return false
	}
	seen[ctx] = true
	if _, ok := ctx.(*ssa.Parameter); ok {
		return true
	}
	if call, ok := flow.Source(ctx, flow.Unpacked).(*ssa.Call); ok {
		return p.derivedMayEnd(call, seen, unknown)
	}
	values, all := p.contextsOf(ctx)
	return !all && unknown || slices.ContainsFunc(values, func(v ssa.Value) bool {
		_, cancels := v.(*ssa.Extract)
		return p.mayEnd(v, seen, unknown) || isCaptured(ctx) && cancels && DerivedFrom(v) != nil
	})
}

// isCaptured reports whether a function literal captures a context, or a variable with one. If
// that is derived, it ends when the function around returns, which the literal may outlive.
func isCaptured(ctx ssa.Value) bool {
	_, captured := flow.Source(ctx, flow.Loaded).(*ssa.FreeVar)
	return captured
}

// contextsOf returns what a context may be that is one of several, or read from memory, and
// whether that is all that it may be.
func (p *Package) contextsOf(ctx ssa.Value) (values []ssa.Value, all bool) {
	switch ctx := ctx.(type) {
	case *ssa.Const:
		return nil, true // nil
	case *ssa.Phi:
		return ctx.Edges, true
	case *ssa.ChangeInterface:
		return []ssa.Value{ctx.X}, true
	case *ssa.FreeVar:
		values = captured(ctx)
		return values, flow.Binding(ctx) != nil
	case *ssa.UnOp:
		switch x := ctx.X.(type) {
		case *ssa.Alloc:
			return valuesOf(flow.Stores(x)), !flow.Escapes(x)
		case *ssa.FreeVar:
			return p.contextsOf(x)
		case *ssa.Global:
			return p.globals[x], len(p.globals[x]) > 0
		case *ssa.FieldAddr:
			stores := p.fields[flow.FieldOf(x)]
			if len(stores) > 0 && !slices.Contains(stores, nil) {
				return valuesOf(stores), true
			}
		}
	}
	return nil, false
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
	for _, ref := range flow.Refs(call) {
		if cancel, ok := ref.(*ssa.Extract); ok && cancel.Index == 1 && isHandedOn(cancel, byItself) {
			return true
		}
	}
	return false
}

// isHandedOn reports whether a function value, or a variable that holds it, is used for more
// than to be deferred, or, unless that counts, called.
func isHandedOn(v ssa.Value, calls bool) bool {
	for _, ref := range flow.Refs(v) {
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
	return !slices.ContainsFunc(flow.Refs(literal), func(ref ssa.Instruction) bool {
		d, ok := ref.(*ssa.Defer)
		return !ok || d.Call.Value != ssa.Value(literal)
	})
}

// isAfterDone reports whether a block, before an instruction of it, or one that dominates it
// receives from the Done channel of a context.
func isAfterDone(b *ssa.BasicBlock, at ssa.Instruction) bool {
	for ; b != nil; b = b.Idom() {
		for _, instr := range b.Instrs {
			if instr == at {
				break
			}
			if isDone(instr) {
				return true
			}
		}
	}
	return false
}

// isDone reports whether an instruction receives from the Done channel of a context.
func isDone(instr ssa.Instruction) bool {
	receive, ok := instr.(*ssa.UnOp)
	if !ok || receive.Op != token.ARROW {
		return false
	}
	call, ok := receive.X.(*ssa.Call)
	return ok && contextAsked(&call.Call) != nil
}

// AfterEnd reports whether a block of the loop is only executed when a context has ended.
func (t *Attempt) AfterEnd(b *ssa.BasicBlock) bool {
	return isAfterEnd(&judge{p: t.pkg, run: t.Run}, b, t.Loop.Has)
}

// isAfterEnd reports whether a block is only executed when a context has ended, as far as the
// blocks say that are asked for.
func isAfterEnd(j *judge, b *ssa.BasicBlock, has func(*ssa.BasicBlock) bool) bool {
	for d := b.Idom(); d != nil && has(d); b, d = d, d.Idom() {
		branch := flow.Branch(d)
		if branch == nil || len(b.Preds) != 1 || !isOfContext(branch.Cond) && j.why(branch.Cond)&^Fixed != Context {
			continue
		}
		if d.Succs[endedEdge(branch)] == b {
			return true
		}
	}
	return false
}

// isOfContext reports whether a condition compares a context: with nil.
func isOfContext(cond ssa.Value) bool {
	cmp, ok := cond.(*ssa.BinOp)
	return ok && vocab.IsContext(cmp.X.Type())
}

// endedEdge returns the edge of a branch on a context that is taken when it has ended, or when
// there is none, or it never ends.
func endedEdge(branch *ssa.If) int {
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok {
		return 0
	}
	if x, ok := cmp.X.(*ssa.Extract); ok {
		if _, isSelect := x.Tuple.(*ssa.Select); isSelect {
			return 0 // the case of Done
		}
	}
	equal := 0
	if cmp.Op != token.EQL {
		equal = 1
	}
	if flow.IsNil(cmp.Y) && flow.IsError(cmp.X.Type()) {
		return 1 - equal // ctx.Err() != nil
	}
	return equal // ctx == nil, ctx.Done() == nil, ctx.Err() == context.Canceled
}

// IsAfterEnd reports whether an instruction is only executed when a context has ended.
func (p *Package) IsAfterEnd(instr ssa.Instruction) bool {
	everywhere := func(*ssa.BasicBlock) bool { return true }
	return isAfterDone(instr.Block(), instr) ||
		isAfterEnd(&judge{p: p, fn: instr.Parent()}, instr.Block(), everywhere)
}

// LiveContext returns the context with which an instruction is to end, or nil: that of its
// function, or of one around it, unless it has ended already.
func (p *Package) LiveContext(instr ssa.Instruction) ssa.Value {
	if p.IsAfterEnd(instr) {
		return nil
	}
	return p.ScopeContext(instr.Parent())
}

// IsDeferred reports whether a function literal, or one around it, is deferred: what it does is
// to be done when its context has ended as well.
func IsDeferred(fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if _, deferred := start(fn).(*ssa.Defer); deferred {
			return true
		}
	}
	return false
}

// IsGoroutine reports whether a function literal is a goroutine.
func IsGoroutine(fn *ssa.Function) bool {
	_, runs := start(fn).(*ssa.Go)
	return runs
}
