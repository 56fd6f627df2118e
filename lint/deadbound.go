package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ast/astutil"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// DeadBound reports RL105 where no attempt is left: UnboundedRetry reports it with RL101.
var DeadBound = newRule("deadbound", runDeadBound, []string{"RL105"}, ssaForm, attempts)

func runDeadBound(pass *analysis.Pass, r *report) {
	p := pass.ResultOf[attempts].(*attempt.Package)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, cond := range p.Frozen(fn) {
			file := fileOf(pass, cond.Pos())
			if file == nil || ast.IsGenerated(file) {
				continue
			}
			r.at(loopAround(file, cond.Pos()), token.NoPos, Proven, "RL105",
				"this loop never assigns the error in its condition: repeat the call in the loop, and limit the attempts")
		}
	}
}

// orderFix compares a counter by order in place of equality.
func orderFix(file *ast.File, missed *attempt.Missed) []analysis.SuggestedFix {
	cmp := missed.Cmp
	path, _ := astutil.PathEnclosingInterval(file, cmp.Pos(), cmp.Pos())
	for _, n := range path {
		expr, ok := n.(*ast.BinaryExpr)
		if !ok || expr.OpPos != cmp.Pos() {
			continue
		}
		if _, swapped := expr.X.(*ast.BasicLit); swapped || expr.Op != cmp.Op {
			return nil
		}
		op := map[bool]token.Token{true: token.LSS, false: token.GTR}[missed.Grows]
		if expr.Op == token.EQL {
			op = map[bool]token.Token{true: token.GEQ, false: token.LEQ}[missed.Grows]
		}
		return []analysis.SuggestedFix{{
			Message:   "Compare with " + op.String(),
			TextEdits: []analysis.TextEdit{{Pos: expr.OpPos, End: expr.OpPos + 2, NewText: []byte(op.String())}},
		}}
	}
	return nil
}
