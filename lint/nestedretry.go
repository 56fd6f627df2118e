package lint

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/policy/rules"
)

// NestedRetry reports retries inside retries (RL401) and loops around generated wrappers
// (RL402).
var NestedRetry = newRule("nestedretry", runNestedRetry, []string{"RL401", "RL402"}, retryingFunctions)

func runNestedRetry(pass *analysis.Pass, r *report) {
	n := pass.ResultOf[retryingFunctions].(*nesting)
	most := amplification(pass.Pkg)
	for _, fn := range n.fns {
		w, wraps := n.wraps[fn]
		for _, call := range callsOf(fn) {
			if wraps && w.attempts > 1 && inCycle(call.Block()) {
				r.wrapped(n, fn, call, most)
			}
			file := handwritten(pass, call.Pos())
			l := n.levels[call]
			if file == nil || l == nil {
				continue
			}
			if l.op != nil {
				r.counted(n, l, file, most)
			}
			if l.around > 1 {
				r.nested(n, l, file, most)
			}
		}
	}
}

// multiplied is the message for attempts of an operation that makes several attempts itself.
const multiplied = "%d attempts of %s, which makes %d at %s, are %d calls: retry in one place"

// counted reports a library call whose attempts multiply with those of the function that it
// retries.
func (r *report) counted(n *nesting, l *level, file *ast.File, most int) {
	inner := n.facts[l.op]
	if inner == nil || inner.Attempts <= 1 || inner.Hidden || l.within*inner.Attempts <= most {
		return
	}
	r.at(callStart(file, l.call.Pos()), l.call.Pos(), Proven, "RL401", multiplied,
		l.within, nameOfFunction(l.op), inner.Attempts, inner.Where, l.within*inner.Attempts)
}

// nested reports loops around a call whose attempts, multiplied with each other or with the
// attempts in the called function, exceed most.
func (r *report) nested(n *nesting, l *level, file *ast.File, most int) {
	callee, inner := l.call.Call.StaticCallee(), n.tries[l.call]
	pos, evidence := loopStart(file, l.outermost().Loop, l.call), Proven
	if l.isSelective() {
		evidence = Named
	}
	switch {
	case callee != nil && callee == l.call.Parent():
	case callee != nil && inner.Attempts > 1 && !inner.Hidden && l.around*inner.Attempts > most:
		r.at(pos, token.NoPos, evidence, "RL401", multiplied,
			l.around, nameOfFunction(callee), inner.Attempts, inner.Where, l.around*inner.Attempts)
	case l.around > most && len(l.loops) > 1 && !l.loops[0].StaysInside():
		outer := l.outermost().Limit()
		r.at(pos, token.NoPos, evidence, "RL401",
			"%d attempts in this loop of %d of %s in the inner one are %d calls: retry in one loop",
			outer, l.around/outer, l.loops[0].Name(), l.around)
	case callee != nil && inner.Attempts > 1 && inner.Wrapper:
		r.at(pos, token.NoPos, Proven, "RL402",
			"%s already retries by its policy: remove this loop, and set max_attempts in the policy", callee.Name())
	}
}

// wrapped reports a wrapper that retries a function which itself retries. The report is at the
// hand-written code that starts the inner retries.
func (r *report) wrapped(n *nesting, fn *ssa.Function, call *ssa.Call, most int) {
	callee, inner := call.Call.StaticCallee(), n.tries[call]
	total := n.wraps[fn].around(inner, "").Attempts
	origin := n.origins[callee]
	if origin == nil || total <= most || inner.Again <= 1 {
		return
	}
	file := handwritten(n.pass, origin.Pos())
	if file == nil {
		return
	}
	at := callStart(file, origin.Pos())
	if l := n.levels[origin]; l != nil && l.around > 1 {
		at = loopStart(file, l.outermost().Loop, origin)
	}
	r.at(at, token.NoPos, Proven, "RL401",
		"%s makes %d attempts of %s, which makes %d here, %d calls in all: retry in one place",
		declaredAround(fn).Name(), n.wraps[fn].attempts, nameOfFunction(callee), inner.Attempts, total)
}

// declaredAround returns the declared function that contains a function literal.
func declaredAround(fn *ssa.Function) *ssa.Function {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	return fn
}

// nameOfFunction returns the name of a function in the source code.
func nameOfFunction(fn *ssa.Function) string {
	if outer := fn.Parent(); outer != nil {
		return "the function literal in " + nameOfFunction(outer)
	}
	// The SSA form adds a suffix to the name of a method value and to that of an instance of a
	// generic function.
	name, _, _ := strings.Cut(flow.Generic(fn).Name(), "$")
	return name
}

// amplification returns the maximum number of calls to which nested retries in a package may
// multiply. Generated code sets it by a constant; otherwise the default applies.
func amplification(pkg *types.Package) int {
	if c, ok := pkg.Scope().Lookup("retryAmplification").(*types.Const); ok {
		if n, exact := constant.Int64Val(constant.ToInt(c.Val())); exact {
			return int(n)
		}
	}
	return rules.DefaultAmplification
}
