package attempt

import (
	"go/token"
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
		for _, store := range storesTo(x) {
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
	bound := binding(v)
	if bound == nil {
		return unknown
	}
	held := []ssa.Value{bound}
	if variable, ok := bound.(*ssa.Alloc); ok {
		held = nil
		for _, store := range storesTo(variable) {
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

// binding returns what a function literal captures as a variable, or nil.
func binding(v *ssa.FreeVar) ssa.Value {
	fn := v.Parent()
	if fn.Parent() == nil {
		return nil
	}
	for _, b := range fn.Parent().Blocks {
		for _, instr := range b.Instrs {
			literal, ok := instr.(*ssa.MakeClosure)
			if !ok || literal.Fn != ssa.Value(fn) {
				continue
			}
			for i, free := range fn.FreeVars {
				if free == v {
					return literal.Bindings[i]
				}
			}
		}
	}
	return nil
}

// Context returns a context that may end while the loop runs and that it should heed, or nil:
// one that the loop asks whether it has ended, or gives to what it calls, else a parameter of
// the function, or of one around it. If Op is given a context that cannot end, it is to go on.
// A parameter that has a context, as a request has, stands for that.
func (t *Attempt) Context() ssa.Value {
	if t.pkg.hasEnded(t.Fn, t.Loop) {
		return nil
	}
	var given ssa.Value
	for _, call := range t.pkg.contextCalls(t.Fn) {
		if !t.Loop.Has(call.Block()) {
			continue
		}
		if ctx, asks := contextAsked(call.Common()); asks {
			if !t.pkg.isDead(ctx) && t.isFromBefore(ctx) {
				return root(ctx)
			}
			continue
		}
		ctx := givenContext(call.Common())
		switch {
		case ctx == nil:
			if given == nil && call == ssa.CallInstruction(t.Op) {
				given = carrierOf(call.Common())
			}
		case t.pkg.IsLive(ctx) && t.isFromBefore(ctx):
			if given == nil {
				given = root(ctx)
			}
		case call == ssa.CallInstruction(t.Op) && t.pkg.isDead(ctx):
			return nil
		}
	}
	if given != nil {
		return given
	}
	return t.pkg.ScopeContext(t.Fn)
}

// isFromBefore reports whether a context is from before the loop, or belongs to what is.
func (t *Attempt) isFromBefore(ctx ssa.Value) bool {
	ctx = root(ctx)
	if call, ok := ctx.(*ssa.Call); ok && attaches(&call.Call) {
		if call.Call.IsInvoke() {
			ctx = call.Call.Value
		} else if len(call.Call.Args) > 0 {
			ctx = call.Call.Args[0]
		}
	}
	if load, ok := ctx.(*ssa.UnOp); ok {
		_, field := load.X.(*ssa.FieldAddr)
		_, captured := load.X.(*ssa.FreeVar)
		_, global := load.X.(*ssa.Global)
		return field || captured || global || !t.Loop.Contains(load.X)
	}
	if phi, ok := ctx.(*ssa.Phi); ok && t.Loop.Contains(phi) {
		return false
	}
	return !t.Loop.Contains(ctx)
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

// root returns what a context was derived from, of a captured parameter the parameter.
func root(ctx ssa.Value) ssa.Value {
	for {
		v := ctx
		if x, ok := v.(*ssa.Extract); ok {
			v = x.Tuple
		}
		call, ok := v.(*ssa.Call)
		if !ok || givenContext(&call.Call) == nil || !known(&call.Call).Is(vocab.Derives) {
			break
		}
		ctx = givenContext(&call.Call)
	}
	if p := capturedParameter(ctx); p != nil {
		return p
	}
	return ctx
}

// capturedParameter returns the parameter of a function around a literal that a value is read
// from, or nil.
func capturedParameter(v ssa.Value) *ssa.Parameter {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return nil
	}
	captured, ok := load.X.(*ssa.FreeVar)
	if !ok {
		return nil
	}
	variable, ok := binding(captured).(*ssa.Alloc)
	if !ok {
		return nil
	}
	stores := storesTo(variable)
	if len(stores) != 1 {
		return nil
	}
	p, _ := stores[0].Val.(*ssa.Parameter)
	return p
}

// ScopeContext returns the context of a function that its callers may end, or that of a
// function around it while that runs, or nil.
func (p *Package) ScopeContext(fn *ssa.Function) ssa.Value {
	for ; fn != nil; fn = fn.Parent() {
		for _, param := range fn.Params {
			if vocab.IsContext(param.Type()) && param.Name() != "_" && param.Name() != "" {
				return param
			}
		}
		if outlives(fn) {
			return nil
		}
	}
	return nil
}

// outlives reports whether a function literal runs when the function around it has returned,
// or on its own: it is deferred, or a goroutine.
func outlives(fn *ssa.Function) bool {
	if fn.Parent() == nil {
		return false
	}
	for _, b := range fn.Parent().Blocks {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Defer:
				if isLiteral(instr.Call.Value, fn) {
					return true
				}
			case *ssa.Go:
				if isLiteral(instr.Call.Value, fn) {
					return true
				}
			}
		}
	}
	return false
}

// isLiteral reports whether v is a function literal.
func isLiteral(v ssa.Value, fn *ssa.Function) bool {
	made, ok := v.(*ssa.MakeClosure)
	return v == ssa.Value(fn) || ok && made.Fn == ssa.Value(fn)
}

// hasEnded reports whether a loop is only entered when a context has ended.
func (p *Package) hasEnded(fn *ssa.Function, l *flow.Loop) bool {
	for _, b := range fn.Blocks {
		if l.Has(b) || !b.Dominates(l.Header) {
			continue
		}
		for _, instr := range b.Instrs {
			if isDone(instr) {
				return true
			}
		}
	}
	return false
}

// AfterEnd reports whether a block of the loop is only executed when a context has ended.
func (t *Attempt) AfterEnd(b *ssa.BasicBlock) bool {
	j := &judge{p: t.pkg, run: t.Run}
	for d := b.Idom(); d != nil && t.Loop.Has(d); b, d = d, d.Idom() {
		branch, ok := d.Instrs[len(d.Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 || !isOfContext(branch.Cond) && j.why(branch.Cond)&^Fixed != Context {
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
	if c, ok := cmp.Y.(*ssa.Const); ok && c.Value == nil && flow.IsError(cmp.X.Type()) {
		return 1 - equal // ctx.Err() != nil
	}
	return equal // ctx == nil, ctx.Done() == nil, ctx.Err() == context.Canceled
}
