package attempt

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// AfterEnd reports whether a block of the loop is executed only after a context has ended.
func (t *Attempt) AfterEnd(b *ssa.BasicBlock) bool {
	j := &judge{p: t.pkg, run: t.Run}
	return isAfter(b.Instrs[len(b.Instrs)-1], t.Loop.Has, j.isEnd)
}

// IsAfterEnd reports whether an instruction is executed only after a context has ended.
func (p *Package) IsAfterEnd(at ssa.Instruction) bool {
	for ; at != nil; at = made(at.Parent()) {
		j := &judge{p: p, fn: at.Parent()}
		if isAfter(at, j.has, j.isEnd) {
			return true
		}
	}
	return false
}

// HasEnded reports whether a given context, or one from which it is derived, has always ended
// when an instruction is executed.
func (p *Package) HasEnded(ctx ssa.Value, at ssa.Instruction) bool {
	for ; ctx != nil; ctx = DerivedFrom(ctx) {
		of := variable(ctx)
		isEnd := func(v ssa.Value) bool {
			asked := askedBy(v)
			return asked != nil && variable(asked) == of
		}
		for within := at; within != nil; within = made(within.Parent()) {
			if isAfter(within, flow.Whole(within.Parent()).Has, isEnd) {
				return true
			}
		}
	}
	return false
}

// isAfter reports whether every path to an instruction, within the given blocks, contains a
// receive or a branch for which isEnd returns true. For a branch, the path must take the edge
// for a context that has ended.
func isAfter(at ssa.Instruction, has func(*ssa.BasicBlock) bool, isEnd func(ssa.Value) bool) bool {
	for b := at.Block(); b != nil && has(b); b = b.Idom() {
		for _, instr := range b.Instrs {
			if instr == at {
				break
			}
			if receive, ok := instr.(*ssa.UnOp); ok && receive.Op == token.ARROW && isEnd(receive) {
				return true
			}
		}
		if len(b.Preds) != 1 || !has(b.Preds[0]) {
			continue
		}
		branch := flow.Branch(b.Preds[0])
		if branch != nil && b.Preds[0].Succs[endedEdge(branch)] == b && isEnd(branch.Cond) {
			return true
		}
	}
	return false
}

// made returns the instruction that creates a function literal, if the literal runs after the
// preceding code, or nil.
func made(literal *ssa.Function) ssa.Instruction {
	if closure := flow.Closure(literal); closure != nil {
		return closure
	}
	return nil
}

// isEnd reports whether a condition or a receive depends on nothing except the end of contexts.
func (j *judge) isEnd(v ssa.Value) bool {
	cmp, ok := v.(*ssa.BinOp)
	return ok && vocab.IsContext(cmp.X.Type()) || j.why(v)&^Fixed == Context
}

// askedBy returns the context on whose end a condition or a receive depends, or nil.
func askedBy(v ssa.Value) ssa.Value {
	switch x := v.(type) {
	case *ssa.UnOp:
		v = x.X // <-ctx.Done()
	case *ssa.BinOp:
		if v = x.X; flow.IsError(v.Type()) {
			break // ctx.Err() != nil
		}
		chosen, ok := v.(*ssa.Extract)
		if !ok {
			return nil
		}
		s, ok := chosen.Tuple.(*ssa.Select)
		if k, isCase := flow.IntOf(x.Y); ok && isCase && k >= 0 {
			v = s.States[k].Chan
		}
	}
	if call, ok := v.(*ssa.Call); ok {
		return contextAsked(&call.Call)
	}
	return nil
}

// endedEdge returns the edge of a branch that is taken if a context has ended, is nil, or never
// ends.
func endedEdge(branch *ssa.If) int {
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok || flow.IsBasic(cmp.X.Type(), types.IsInteger) {
		return 0 // the case of Done
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

// variable returns the value of a context, in whichever function it is read from its variable.
func variable(ctx ssa.Value) ssa.Value { return flow.Source(ctx, flow.Boxed|flow.Kept|flow.Captured) }

// LiveContext returns the context that should end an instruction, or nil. It is the context of
// its function, or of a function around it, unless it has already ended there.
func (p *Package) LiveContext(instr ssa.Instruction) ssa.Value {
	if p.IsAfterEnd(instr) {
		return nil
	}
	return p.ScopeContext(instr.Parent())
}

// IsDeferred reports whether a function literal, or one around it, is deferred. Its work must
// also be done after its context has ended.
func IsDeferred(fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if _, deferred := start(fn).(*ssa.Defer); deferred {
			return true
		}
	}
	return false
}

// IsGoroutine reports whether a go statement starts a function literal.
func IsGoroutine(fn *ssa.Function) bool {
	_, runs := start(fn).(*ssa.Go)
	return runs
}
