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

// RebuiltBudget reports RL106.
var RebuiltBudget = &analysis.Analyzer{
	Name:       "rebuiltbudget",
	Doc:        docOf("rebuiltbudget", "RL106"),
	URL:        pageOf("RL106"),
	Requires:   []*analysis.Analyzer{ssaForm, retries, directiveIndex},
	ResultType: used,
	Run:        runRebuiltBudget,
}

func runRebuiltBudget(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	seen, said := map[token.Pos]bool{}, map[*ssa.BinOp]bool{}
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		if file := fileOf(pass, retry.Call.Pos()); file != nil && goesOnForEver(retry) {
			said[restarted(file, retry)] = true // with RL101
		}
		budget := retry.RebuiltBudget()
		if budget == nil || seen[budget.Pos()] {
			continue
		}
		seen[budget.Pos()] = true
		if file := fileOf(pass, budget.Pos()); file != nil && !ast.IsGenerated(file) {
			r.finding(analysis.Diagnostic{
				Pos: budget.Pos(),
				Message: fmt.Sprintf("retry of %s re-creates its limit on each attempt: create it before the loop",
					retry.Name()),
				SuggestedFixes: hoistFix(pass, file, budget),
			}, Named, "RL106")
		}
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for cmp, step := range retryloop.Restarted(fn) {
			if file := fileOf(pass, cmp.Pos()); file != nil && !ast.IsGenerated(file) && !said[cmp] &&
				isCounting(file, step.Pos()) {
				r.at(cmp.Pos(), token.NoPos, Named, "RL106",
					"this counter is reset on each iteration and never reaches its limit: declare it before the loop")
			}
		}
	}
	return r.used, nil
}

// restarted returns the comparison by which a retry is to end, of a counter that each round
// sets anew, or nil.
func restarted(file *ast.File, retry retryloop.Retry) *ssa.BinOp {
	loop := retryloop.Around(retry.Call)
	for cmp, step := range retryloop.Restarted(retry.Call.Parent()) {
		if loop[cmp.Block()] && isCounting(file, step.Pos()) {
			return cmp
		}
	}
	return nil
}

// isCounting reports whether a statement steps a variable at a place: an expression that
// adds two constants does not.
func isCounting(file *ast.File, pos token.Pos) bool {
	path, _ := astutil.PathEnclosingInterval(file, pos, pos)
	for _, n := range path {
		switch n := n.(type) {
		case *ast.IncDecStmt:
			return true
		case *ast.AssignStmt:
			return (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && pos < n.Rhs[0].Pos()
		case *ast.BinaryExpr, ast.Stmt:
			return false
		}
	}
	return false
}
