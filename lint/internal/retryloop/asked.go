package retryloop

import (
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// receivesEnd reports whether an instruction waits for the end of a context.
func receivesEnd(instr ssa.Instruction) bool {
	receive, ok := instr.(*ssa.UnOp)
	return ok && receive.Op == token.ARROW && methodOfContext(receive.X, "Done") != nil
}

// endedAt reports whether a context has ended where block b runs.
func endedAt(b *ssa.BasicBlock) bool {
	for ; b != nil && b.Idom() != nil; b = b.Idom() {
		at := b.Idom()
		if slices.ContainsFunc(at.Instrs, receivesEnd) {
			return true
		}
		branch, ok := terminator(at).(*ssa.If)
		if !ok {
			continue
		}
		if ctx, ended := endOf(branch); ctx != nil && ended == b {
			return true
		}
	}
	return false
}

// endOf returns the context that a branch asks for, and what follows if it has
// ended.
func endOf(branch *ssa.If) (ctx ssa.Value, ended *ssa.BasicBlock) {
	ctx = contextAsked(branch.Cond)
	if ctx == nil {
		return nil, nil
	}
	// case <-ctx.Done() and ctx.Err() != nil lead to their first successor.
	succ, cond := 0, branch.Cond
	if not, ok := cond.(*ssa.UnOp); ok {
		succ, cond = 1, not.X
	}
	if cmp, ok := cond.(*ssa.BinOp); ok {
		if _, received := cmp.X.(*ssa.Extract); !received && (cmp.Op == token.EQL) == isNil(cmp.Y) {
			succ = 1 - succ
		}
	}
	return ctx, branch.Block().Succs[succ]
}

// contextAsked returns the context whose end a condition asks for, or nil.
func contextAsked(cond ssa.Value) ssa.Value {
	if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
		cond = not.X
	}
	if call, ok := cond.(*ssa.Call); ok {
		return askedForEnd(call)
	}
	cmp, ok := cond.(*ssa.BinOp)
	if !ok {
		return nil
	}
	switch x := cmp.X.(type) {
	case *ssa.Call:
		// ctx.Err() != nil, ctx.Err() == context.Canceled
		if isNil(cmp.Y) || isEnd(cmp.Y) {
			return methodOfContext(x, "Err")
		}
	case *ssa.Extract:
		// case <-ctx.Done():
		if sel, n := caseOf(cmp); sel != nil {
			return methodOfContext(sel.States[n].Chan, "Done")
		}
	}
	return nil
}

// askedForEnd returns the context that a call of a function, by its name, says of whether it
// has ended, or nil.
func askedForEnd(call *ssa.Call) ssa.Value {
	args := argumentsOf(call.Common())
	if len(args) != 1 || !IsContext(args[0].Type()) || !types.Identical(call.Type(), types.Typ[types.Bool]) ||
		!ended.MatchString(nameOf(call)) {
		return nil
	}
	return args[0]
}

var ended = regexp.MustCompile(`(?i)^(is)?(ctx|context)?(is)?(done|cancell?ed|closed|expired|ended|finished)$`)

// isEnd reports whether v is the error of a context that has ended.
func isEnd(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	g, ok := load.X.(*ssa.Global)
	return ok && isVariable(g, "context", "Canceled", "DeadlineExceeded")
}

// asksContext reports whether a call asks a context whether it has ended.
func asksContext(call *ssa.Call) bool {
	return methodOfContext(call, "Done") != nil || methodOfContext(call, "Err") != nil
}

// endErrorOf returns the context whose error v is, perhaps with a text that is put before it:
// where there is none, these return none.
func endErrorOf(v ssa.Value) ssa.Value {
	if call, ok := v.(*ssa.Call); ok && isWrapper(call.Common().StaticCallee()) && len(call.Common().Args) > 0 {
		v = call.Common().Args[0]
	}
	return methodOfContext(v, "Err")
}

// isWrapper reports whether a function is one of a package for errors that adds to an error, and
// returns nil for nil.
func isWrapper(fn *ssa.Function) bool {
	if fn == nil || fn.Object() == nil || fn.Object().Pkg() == nil {
		return false
	}
	return slices.Contains([]string{"github.com/pkg/errors", "emperror.dev/errors", "github.com/cockroachdb/errors",
		"github.com/gravitational/trace"}, fn.Object().Pkg().Path()) &&
		(strings.HasPrefix(fn.Name(), "Wrap") || strings.HasPrefix(fn.Name(), "With"))
}

// methodOfContext returns the context that v asks by the named method, or nil.
func methodOfContext(v ssa.Value, name string) ssa.Value {
	call, ok := v.(*ssa.Call)
	if !ok {
		return nil
	}
	if call.Common().IsInvoke() && call.Common().Method.Name() == name && IsContext(call.Common().Value.Type()) {
		return call.Common().Value
	}
	if name == "Err" && isNamed(call.Common().StaticCallee(), "context", "Cause") {
		return call.Common().Args[0]
	}
	return nil
}
