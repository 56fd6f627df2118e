package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// UnboundedLibrary reports libraries and helpers that retry without a limit (RL201), and
// retries that continue after their context has ended (RL202).
var UnboundedLibrary = newRule("unboundedlibrary", runUnboundedLibrary,
	[]string{"RL201", "RL202"}, ssaForm, retrierCalls)

func runUnboundedLibrary(pass *analysis.Pass, r *report) {
	all := pass.ResultOf[retrierCalls].(*retriers)
	deaf := map[*ssa.Function][]deafCall{}
	for _, c := range all.calls {
		file := fileOf(pass, c.call.Common().Pos())
		switch call, ok := c.call.(*ssa.Call); {
		case file == nil || ast.IsGenerated(file):
		case all.isUnlimited(c):
			r.unlimited(file, all.found, c)
		case !ok || inTest(pass, call.Pos()):
		case c.helper != nil && c.isDeaf():
			if live := all.continuesAfter(c); live != nil && isOfModule(pass, call.Call.StaticCallee()) {
				callee := flow.Generic(call.Call.StaticCallee())
				deaf[callee] = append(deaf[callee], deafCall{call, live, min(c.evidence(), all.found.EndEvidence(live))})
			}
		default:
			if live := all.continuesAfter(c); live != nil {
				r.continues(file, call, live, all.found.EndEvidence(live), c.advice(), contextFix(pass, file, c, live))
			}
		}
	}
	for _, calls := range slices.SortedFunc(maps.Values(deaf), func(a, b []deafCall) int {
		return cmp.Compare(a[0].Pos(), b[0].Pos())
	}) {
		r.deaf(calls)
	}
	r.plainRequests(pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs, all.found)
}

// unlimited reports a call that retries without a limit.
func (r *report) unlimited(file *ast.File, found *attempt.Package, c *retrier) {
	common := c.call.Common()
	limit := "a limit"
	if c.Limit != "" {
		limit += " (" + c.Limit + ")"
	}
	text, rules := "pass "+limit, []string{"RL201"}
	if stop := stopChannel(c.call); stop != "" {
		text = fmt.Sprintf("end it when %s is closed, or pass %s", stop, limit)
	}
	var fixes []analysis.SuggestedFix
	// If the call already takes the context for another purpose, passing it again does not
	// help.
	ctx := found.LiveContext(c.call)
	takes := c.helper == nil || c.ctx != nil || c.fn != nil && found.Operation(c.fn).Context != nil
	if ctx != nil && takes && !slices.Contains(common.Args, ctx) {
		text, rules = fmt.Sprintf("pass %s, or %s", nameOfContext(ctx), limit), append(rules, "RL202")
		fixes = contextFix(r.pass, file, c, ctx)
	}
	evidence := Library
	if inTest(r.pass, common.Pos()) || isGivenTest(c.call.Parent()) {
		evidence = Named // the go command limits the time of tests
	}
	name := ""
	if common.IsInvoke() {
		name = common.Method.Name()
	} else {
		name = nameOfFunction(common.StaticCallee())
	}
	r.finding(analysis.Diagnostic{
		Pos: callStart(file, common.Pos()), End: common.Pos(),
		Message:        fmt.Sprintf("%s retries until it succeeds, without a limit: %s", name, text),
		SuggestedFixes: fixes,
	}, evidence, rules...)
}

// stopChannel returns the name of a parameter of the calling function, or of a function around
// it, that asks the function to stop and that the call does not use: a channel without values.
// It returns "" if there is none.
func stopChannel(call ssa.CallInstruction) string {
	for fn := call.Parent(); fn != nil; fn = fn.Parent() {
		for _, p := range fn.Params {
			if vocab.IsStopChannel(p.Type()) && !slices.Contains(call.Common().Args, ssa.Value(p)) {
				return p.Name()
			}
		}
	}
	return ""
}

// continues reports a call that continues after a context has ended.
func (r *report) continues(file *ast.File, call *ssa.Call, live ssa.Value, evidence Evidence, advice string,
	fixes []analysis.SuggestedFix) {
	r.finding(analysis.Diagnostic{
		Pos: callStart(file, call.Pos()), End: call.Pos(),
		Message:        fmt.Sprintf("%s continues after %s has ended: %s", attempt.Name(call), nameOfContext(live), advice),
		SuggestedFixes: fixes,
	}, min(Library, evidence), "RL202")
}

// advice returns what to do so that a context ends the retries of a call.
func (c *retrier) advice() string {
	twin := c.twin(c.call.Common())
	if twin == "" {
		return "pass it that context"
	}
	return "call " + twin + " instead"
}

// A deafCall is a call of a helper that takes no context. The helper must change, not the call.
type deafCall struct {
	*ssa.Call
	live     ssa.Value // the context after whose end the call continues
	evidence Evidence
}

// deaf reports a helper that takes no context. The report is at its first call in the package,
// and has the strongest evidence of all calls.
func (r *report) deaf(calls []deafCall) {
	first, evidence, more := calls[0], calls[0].evidence, ""
	for _, c := range calls {
		evidence = max(evidence, c.evidence)
		if c.Pos() < first.Pos() {
			first = c
		}
	}
	switch n := len(calls) - 1; n {
	case 0:
	case 1:
		more = ", as in another call in this package"
	default:
		more = fmt.Sprintf(", as in %d more calls in this package", n)
	}
	r.at(callStart(fileOf(r.pass, first.Pos()), first.Pos()), first.Pos(), evidence, "RL202",
		"%s continues after %s has ended%s: add a context parameter that ends its waits", attempt.Name(first.Call),
		nameOfContext(first.live), more)
}

// givesUp reports whether an operation marks errors that end its retries.
func givesUp(op ssa.Value) bool {
	fn := operation(op)
	return fn != nil && slices.ContainsFunc(callsOf(fn), func(call *ssa.Call) bool {
		callee, _ := flow.StaticCallee(&call.Call)
		return callee != nil && vocab.SaysFinal(callee)
	})
}
