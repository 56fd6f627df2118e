package lint

import (
	"fmt"
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// DeadBound reports RL105.
var DeadBound = &analysis.Analyzer{
	Name:       "deadbound",
	Doc:        docOf("deadbound", "RL105"),
	URL:        pageOf("RL105"),
	Requires:   []*analysis.Analyzer{ssaForm, retries, directiveIndex},
	ResultType: used,
	Run:        runDeadBound,
}

func runDeadBound(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, cond := range retryloop.Frozen(fn) {
			file := fileOf(pass, cond.Pos())
			if file == nil || ast.IsGenerated(file) {
				continue
			}
			r.at(loopAround(file, cond.Pos(), 0), token.NoPos, Named, "RL105",
				"this loop never assigns the error in its condition: repeat the call in the loop, and limit the attempts")
		}
	}
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		cmp, grows, past := retry.MissedLimit()
		if cmp == nil {
			continue
		}
		if file := fileOf(pass, cmp.Pos()); file != nil && !ast.IsGenerated(file) {
			d := analysis.Diagnostic{
				Pos:     cmp.Pos(),
				Message: fmt.Sprintf("the attempt counter of %s skips this value: compare with < or >=", retry.Name()),
			}
			if !past { // there an order would end the retry before it begins
				d.SuggestedFixes = orderFix(file, cmp, grows)
			}
			r.finding(d, Named, "RL105")
		}
	}
	return r.used, nil
}

// orderFix compares a counter by order in place of equality.
func orderFix(file *ast.File, cmp *ssa.BinOp, grows bool) []analysis.SuggestedFix {
	path, _ := astutil.PathEnclosingInterval(file, cmp.Pos(), cmp.Pos())
	for _, n := range path {
		expr, ok := n.(*ast.BinaryExpr)
		if !ok || expr.OpPos != cmp.Pos() {
			continue
		}
		if _, swapped := expr.X.(*ast.BasicLit); swapped || expr.Op != cmp.Op {
			return nil
		}
		op := map[bool]token.Token{true: token.LSS, false: token.GTR}[grows]
		if expr.Op == token.EQL {
			op = map[bool]token.Token{true: token.GEQ, false: token.LEQ}[grows]
		}
		return []analysis.SuggestedFix{{
			Message:   "Compare with " + op.String(),
			TextEdits: []analysis.TextEdit{{Pos: expr.OpPos, End: expr.OpPos + 2, NewText: []byte(op.String())}},
		}}
	}
	return nil
}
