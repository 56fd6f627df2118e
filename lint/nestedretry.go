package lint

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/policy/rules"
)

// NestedRetry reports RL401 and RL402.
var NestedRetry = newRule("nestedretry", runNestedRetry, []string{"RL401", "RL402"}, retryingFunctions)

func runNestedRetry(pass *analysis.Pass, r *report) {
	n := pass.ResultOf[retryingFunctions].(*nesting)
	most := amplification(pass.Pkg)
	for _, fn := range n.fns {
		for _, l := range n.levels[fn] {
			if file := handwritten(pass, l.call.Pos()); file != nil {
				r.nested(n, l, file, most)
			}
		}
	}
	for _, fn := range n.fns {
		for _, call := range callsOf(fn) {
			if c, ok := n.counted[call]; ok {
				r.counted(n, call, c, most)
			}
		}
		n.wrapped(r, fn, most)
	}
}

// counted reports a call of a library that multiplies with the attempts of what it tries.
func (r *report) counted(n *nesting, call *ssa.Call, c counted, most int) {
	file, inner := handwritten(r.pass, call.Pos()), n.of(c.op)
	if file == nil || inner == nil || inner.Attempts <= 1 || c.attempts*inner.Attempts <= most {
		return
	}
	r.at(callStart(file, call.Pos()), call.Pos(), Proven, "RL401",
		"%d attempts of %s, which makes %d at %s, are %d calls: retry in one place",
		c.attempts, nameOfFunction(c.op), inner.Attempts, inner.Where, c.attempts*inner.Attempts)
}

// nested reports a level of loops that multiply to more than most attempts, by themselves or
// with those of what they call.
func (r *report) nested(n *nesting, l level, file *ast.File, most int) {
	callee := l.call.Call.StaticCallee()
	pos, inner, evidence := loopStart(file, l.outermost().Loop, l.call), n.attempts(l.call), Proven
	if l.isSelective() {
		evidence = Named
	}
	switch {
	case callee != nil && callee == l.call.Parent():
	case callee != nil && l.attempts*inner.Attempts > most && inner.Attempts > 1:
		r.at(pos, token.NoPos, evidence, "RL401", "%d attempts of %s, which makes %d at %s, are %d calls: retry in one place",
			l.attempts, nameOfFunction(callee), inner.Attempts, inner.Where, l.attempts*inner.Attempts)
	case l.attempts > most && len(l.loops) > 1 && !l.loops[0].StaysInside():
		outer := l.outermost().Limit()
		r.at(pos, token.NoPos, evidence, "RL401",
			"%d attempts in this loop of %d of %s in the inner one are %d calls: retry in one loop",
			outer, l.attempts/outer, l.loops[0].Name(), l.attempts)
	case callee != nil && inner.Wrapper:
		r.at(pos, token.NoPos, Proven, "RL402",
			"%s already retries by its policy: remove this loop, and set max_attempts in the policy", callee.Name())
	}
}

// wrapped reports what a wrapper retries although it retries itself, where
// hand-written code of the package begins to.
func (n *nesting) wrapped(r *report, fn *ssa.Function, most int) {
	w, ok := n.wraps[fn]
	if !ok {
		return
	}
	for _, call := range tried(fn) {
		callee := call.Call.StaticCallee()
		inner, total := n.attempts(call), w.around(n.attempts(call), "").Attempts
		origin, known := n.origin(callee)
		if !known || total <= most || w.attempts == 1 || inner.Again == 1 {
			continue
		}
		at := origin.call.Pos()
		file := handwritten(n.pass, at)
		if file == nil {
			continue
		}
		if at = callStart(file, at); len(origin.loops) > 0 {
			at = loopStart(file, origin.outermost().Loop, origin.call)
		}
		r.at(at, token.NoPos, Proven, "RL401",
			"%s makes %d attempts of %s, which makes %d here, %d calls in all: retry in one place",
			declaredAround(fn).Name(), w.attempts, nameOfFunction(callee), inner.Attempts, total)
	}
}

// declaredAround returns the declared function that a literal is part of.
func declaredAround(fn *ssa.Function) *ssa.Function {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	return fn
}

// nameOfFunction returns what a function is called in the code.
func nameOfFunction(fn *ssa.Function) string {
	if outer := fn.Parent(); outer != nil {
		return "the function literal in " + nameOfFunction(outer)
	}
	// What stands for a method value adds to its name, and an instance of a generic function.
	name, _, _ := strings.Cut(flow.Generic(fn).Name(), "$")
	return name
}

// amplification returns the most attempts that retries may multiply to in a
// package: what its generated code says, or the default.
func amplification(pkg *types.Package) int {
	if c, ok := pkg.Scope().Lookup("retryAmplification").(*types.Const); ok {
		if n, exact := constant.Int64Val(constant.ToInt(c.Val())); exact {
			return int(n)
		}
	}
	return rules.DefaultAmplification
}

// short names a place by its file and line.
func short(at token.Position) string {
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}
