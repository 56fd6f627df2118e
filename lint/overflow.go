package lint

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"go/version"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Overflow reports delays that overflow (RL107).
var Overflow = newRule("backoffoverflow", runOverflow, []string{"RL107"}, attempts)

func runOverflow(pass *analysis.Pass, r *report) {
	var order []ssa.Value
	best := map[ssa.Value]Evidence{}
	fixes := map[ssa.Value][]analysis.SuggestedFix{}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		if t.Change != attempt.Same || t.Exits()&(attempt.Count|attempt.Clock|attempt.Item) != 0 {
			continue // the loop may end before the delay overflows
		}
		for _, delay := range delaysIn(t) {
			o := t.Overflow(delay)
			if o == nil || handwritten(pass, o.At.Pos()) == nil {
				continue
			}
			if _, known := best[o.At]; !known {
				order = append(order, o.At)
				fixes[o.At] = clampFix(pass, o)
			}
			best[o.At] = max(best[o.At], t.Evidence)
		}
	}
	for _, power := range order {
		r.finding(analysis.Diagnostic{
			Pos:            power.Pos(),
			Message:        "this delay overflows after many attempts: limit the exponent, not the result",
			SuggestedFixes: fixes[power],
		}, best[power], "RL107")
	}
}

// delaysIn returns the durations that a loop computes and passes to calls, except to calls that
// compute another duration.
func delaysIn(t *attempt.Attempt) (delays []ssa.Value) {
	for instr := range flow.Instructions(t.Loop.List) {
		call, ok := instr.(*ssa.Call)
		if !ok || !t.Run.IsReached(call.Block()) || vocab.IsDuration(call.Type()) {
			continue
		}
		for _, arg := range call.Call.Args {
			if vocab.IsDuration(arg.Type()) && t.Loop.Contains(arg) {
				delays = append(delays, arg)
			}
		}
	}
	return delays
}

// clampFix limits the exponent of a shift to the greatest value that does not overflow. Smaller
// delays do not change.
func clampFix(pass *analysis.Pass, o *attempt.Overflow) []analysis.SuggestedFix {
	path, _ := astutil.PathEnclosingInterval(fileOf(pass, o.At.Pos()), o.At.Pos(), o.At.Pos())
	i := slices.IndexFunc(path, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		return ok && b.Op == token.SHL && b.OpPos == o.At.Pos()
	})
	if i < 0 || o.Greatest == 0 || version.Compare(pass.Pkg.GoVersion(), "go1.21") < 0 {
		return nil
	}
	exponent := path[i].(*ast.BinaryExpr).Y
	if _, obj := pass.Pkg.Scope().Innermost(exponent.Pos()).LookupParent("min",
		exponent.Pos()); obj != types.Universe.Lookup("min") {
		return nil
	}
	var text strings.Builder
	if err := format.Node(&text, pass.Fset, ast.Unparen(exponent)); err != nil {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message: "Cap the exponent",
		TextEdits: []analysis.TextEdit{{Pos: exponent.Pos(), End: exponent.End(),
			NewText: fmt.Appendf(nil, "min(%s, %d)", &text, o.Greatest)}},
	}}
}
