package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// deafCalls are the calls in a package of a helper that takes no context, in the order of the
// source.
type deafCalls struct {
	callee *ssa.Function
	calls  []*ssa.Call
	live   ssa.Value // what the first goes on after
}

// deafHelpers reports the helpers that go on after a context has ended that what they retry is
// given, at the first call of each: the helper is what is to change.
func (r *report) deafHelpers(helpers map[*ssa.Call]*library) {
	for _, d := range deafCallsOf(r.pass, helpers) {
		more := ""
		if n := len(d.calls) - 1; n == 1 {
			more = ", as in another call in this package"
		} else if n > 1 {
			more = fmt.Sprintf(", as in %d more calls in this package", n)
		}
		first := d.calls[0].Pos()
		r.at(callStart(fileOf(r.pass, first), first), first, Library, "RL202",
			"%s continues after %s has ended%s: add a context parameter that ends its waits",
			retryloop.NameOf(d.calls[0]), nameOfContext(d.live), more)
	}
}

// deafCallsOf returns the calls of helpers that go on after a context, but for those of
// generated files and of tests.
func deafCallsOf(pass *analysis.Pass, helpers map[*ssa.Call]*library) (found []deafCalls) {
	known := map[ssa.CallInstruction]bool{} // RL201 tells of these
	for _, e := range pass.ResultOf[endlessRetries].([]endless) {
		known[e.call] = true
	}
	calls := slices.SortedFunc(maps.Keys(helpers), func(a, b *ssa.Call) int {
		at, other := pass.Fset.Position(a.Pos()), pass.Fset.Position(b.Pos())
		return cmp.Or(cmp.Compare(at.Filename, other.Filename), at.Offset-other.Offset)
	})
	for _, call := range calls {
		l, file := helpers[call], fileOf(pass, call.Pos())
		if !l.deaf || known[call] || file == nil || ast.IsGenerated(file) || inTest(pass, call.Pos()) {
			continue
		}
		live, callee := l.isDeafTo(call), retryloop.Generic(call.Call.StaticCallee())
		if live == nil {
			continue
		}
		i := slices.IndexFunc(found, func(d deafCalls) bool { return d.callee == callee })
		if i < 0 {
			i, found = len(found), append(found, deafCalls{callee: callee, live: live})
		}
		found[i].calls = append(found[i].calls, call)
	}
	return found
}

// isDeafTo returns the context that a call of what takes none goes on after, or nil.
func (l *library) isDeafTo(call *ssa.Call) ssa.Value {
	if !l.lacksContext(call.Call.Args) || retryloop.IsGoroutine(call.Parent()) {
		return nil // nobody waits for a goroutine
	}
	op := operation(origin(call.Call.Args[l.op]))
	live := contextFor(call, op)
	// What does not use it may be meant to go on, and what says when to go on may ask it.
	if live == nil || !retryloop.Gives(op, live) ||
		slices.ContainsFunc(call.Call.Args, func(arg ssa.Value) bool { return asksToStop(origin(arg)) }) {
		return nil
	}
	return live
}
