package lint

import (
	"fmt"
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// HiddenExhaustion reports exhausted retries that return no error (RL109).
var HiddenExhaustion = newRule("hiddenexhaustion", runHiddenExhaustion, []string{"RL109"}, attempts)

func runHiddenExhaustion(pass *analysis.Pass, r *report) {
	if !informs("RL109") {
		return
	}
	reported := map[*ssa.Return]bool{} // several calls of one loop may be retried
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		file := fileOf(pass, t.Pos())
		if file == nil || ast.IsGenerated(file) {
			continue
		}
		for _, h := range t.Hidden() {
			variable := returnedVariable(file, h.Return)
			if reported[h.Return] || !h.Told && variable == "" {
				continue
			}
			reported[h.Return] = true
			pos := loopStart(file, t.Loop, t.Op)
			if h.ByContext && !h.Polled && variable == "" {
				pos = h.Return.Pos()
			}
			r.at(pos, token.NoPos, Named, "RL109", "%s", howHidden(pass.Fset, t.Name(), h, variable))
		}
	}
}

// howHidden describes what a function returns in place of the error of an operation.
func howHidden(fset *token.FileSet, op string, h attempt.Hidden, variable string) string {
	line := fset.Position(h.Return.Pos()).Line
	switch {
	case h.Polled && variable != "":
		return fmt.Sprintf("when the poll of %[1]s is exhausted, the function returns the error of the last %[1]s at line "+
			"%[2]d, which is nil after any answer: return an error", op, line)
	case h.Polled:
		return fmt.Sprintf("when the poll of %s is exhausted, the function returns nil at line %d, as on success: return "+
			"an error", op, line)
	case variable != "":
		return fmt.Sprintf("when the retries of %s are exhausted, the function returns %s at line %d, which is never set: "+
			"assign the last error to it", op, variable, line)
	case h.ByContext:
		return fmt.Sprintf("this returns nil although %s has not succeeded: return an error", op)
	}
	return fmt.Sprintf("when the retries of %s are exhausted, the function returns nil at line %d: return the last error",
		op, line)
}

// returnedVariable returns the name of the variable that is the last result of a return, or "".
func returnedVariable(file *ast.File, ret *ssa.Return) string {
	path, _ := astutil.PathEnclosingInterval(file, ret.Pos(), ret.Pos())
	for _, n := range path {
		if stmt, ok := n.(*ast.ReturnStmt); ok && len(stmt.Results) > 0 {
			if name, ok := stmt.Results[len(stmt.Results)-1].(*ast.Ident); ok && name.Name != "nil" {
				return name.Name
			}
		}
	}
	return ""
}
