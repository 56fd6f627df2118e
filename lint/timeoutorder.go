package lint

import (
	"go/ast"
	"go/types"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// TimeoutOrder reports RL301.
var TimeoutOrder = newRule("timeoutorder", runTimeoutOrder, []string{"RL301"}, ssaForm, attempts)

func runTimeoutOrder(pass *analysis.Pass, r *report) {
	if !imports(pass, "context") {
		return
	}
	found := pass.ResultOf[attempts].(*attempt.Package)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range callsOf(fn) {
			if file := fileOf(pass, call.Pos()); file != nil && attempt.IsTimed(call) {
				r.timeout(file, call, found)
			}
		}
	}
}

// timeout reports a call that derives a context with a timeout from one that ends earlier.
func (r *report) timeout(file *ast.File, call *ssa.Call, found *attempt.Package) {
	say := func(format string, args ...any) {
		r.at(callStart(file, call.Pos()), call.Pos(), Proven, "RL301", format, args...)
	}
	parent := call.Call.Args[0]
	if found.HasEnded(parent, call) {
		if !inTest(r.pass, call.Pos()) && !ast.IsGenerated(file) {
			say("%s has ended here, so this context ends at once: derive it from the parent of %[1]s, or from "+
				"context.WithoutCancel", nameOfContext(parent))
		}
		return
	}
	inner, ok := attempt.Timeout(call)
	outer := found.Lifetime(parent)
	if !ok || outer.Limit == 0 || inner < outer.Limit {
		return
	}
	line := r.pass.Fset.Position(outer.At).Line
	switch {
	case attempt.IsDeferred(call.Parent()) && inner > outer.Limit:
		say("inner timeout %v exceeds the outer %v from line %d, which may have ended in this deferred call: derive it "+
			"from the parent of the outer context", inner, outer.Limit, line)
	case inner == outer.Limit:
		say("inner timeout %v equals the outer one from line %d, which began earlier and ends it: shorten it, or remove it",
			inner, line)
	default:
		say("inner timeout %v exceeds the outer %v from line %d, which ends it: shorten the inner timeout or raise the "+
			"outer one", inner, outer.Limit, line)
	}
}

// isRootContext reports whether a call makes a context that is derived from none.
func isRootContext(call *ssa.Call) bool {
	return flow.Known(&call.Call).Is(vocab.Roots) && len(call.Call.Args) == 0
}

// durationOf returns the constant number of nanoseconds that a value is.
func durationOf(v ssa.Value) (time.Duration, bool) {
	d, ok := flow.IntOf(v)
	return time.Duration(d), ok && flow.IsBasic(v.Type(), types.IsInteger)
}
