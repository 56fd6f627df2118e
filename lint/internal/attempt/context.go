package attempt

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

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

// isFromBefore reports whether a context, or what it belongs to, is from before the loop.
func (t *Attempt) isFromBefore(ctx ssa.Value) bool {
	ctx = root(ctx)
	if call, ok := ctx.(*ssa.Call); ok && attaches(&call.Call) {
		if call.Call.IsInvoke() {
			ctx = call.Call.Value
		} else if len(call.Call.Args) > 0 {
			ctx = call.Call.Args[0]
		}
	}
	switch x := ctx.(type) {
	case *ssa.FieldAddr:
		return t.isFromBefore(x.X)
	case *ssa.UnOp:
		switch x.X.(type) {
		case *ssa.FreeVar, *ssa.Global:
			return true
		}
		return t.isFromBefore(x.X)
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
	p, _ := flow.Source(v, flow.Captured).(*ssa.Parameter)
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
func outlives(fn *ssa.Function) bool { return start(fn) != nil }

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
