package lint

import (
	"fmt"
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// UnboundedRetry reports hand-written retries without a limit (RL101).
var UnboundedRetry = newRule("unboundedretry", runUnboundedRetry,
	[]string{"RL101", "RL104", "RL105", "RL106"}, ssaForm, attempts)

func runUnboundedRetry(pass *analysis.Pass, r *report) {
	var order []token.Pos
	best := map[token.Pos]*attempt.Endless{}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		file := fileOf(pass, t.Pos())
		if file == nil || ast.IsGenerated(file) {
			continue
		}
		if p := planOf(&t.Op.Call); p != nil && p.isEndless() {
			continue // RL201 reports libraries that retry without a limit
		}
		pos := loopStart(file, t.Loop, t.Op)
		if known := best[pos]; known != nil && known.Evidence == Proven {
			continue // no other operation of the loop can have better evidence
		}
		e := t.Endless()
		if e == nil {
			continue
		}
		switch {
		case best[pos] == nil:
			order = append(order, pos)
			best[pos] = e
		case best[pos].Evidence < e.Evidence:
			best[pos] = e // several operations of one loop
		}
	}
	for _, pos := range order {
		e := best[pos]
		why, rules := whyEndless(pass.Fset, e)
		if inTest(pass, pos) || isGivenTest(e.Fn) || pass.Pkg.Name() == "main" && !e.LeavesProcess() {
			e.Evidence = Named // the go command stops tests, and users stop programs that call nothing outside the process
		}
		d := analysis.Diagnostic{
			Pos:     pos,
			Message: fmt.Sprintf("retry of %s never stops: %s; limit the attempts or check ctx.Err()", e.Name(), why),
		}
		if e.Missed != nil && !e.Missed.Away {
			d.SuggestedFixes = orderFix(fileOf(pass, pos), e.Missed)
		}
		r.finding(d, e.Evidence, rules...)
	}
	reportFrozen(pass, r)
}

// whyEndless returns why a retry never ends, and which rules it violates.
func whyEndless(fset *token.FileSet, e *attempt.Endless) (why string, rules []string) {
	why, rules = "the loop ends only on success or on a different error", []string{"RL101"}
	if e.Hurried {
		why, rules = why+", and it retries without a wait", append(rules, "RL103")
	}
	if e.ContextEnd {
		why, rules = why+", and it retries the end of its context", append(rules, "RL104")
	}
	line := func(pos token.Pos) int { return fset.Position(pos).Line }
	switch c := e.Counter; {
	case e.Missed != nil && e.Missed.Away:
		why = fmt.Sprintf("%q moves away from the limit that it is compared with at line %d", e.Missed.Name,
			line(e.Missed.Cmp.Pos()))
		rules = append(rules, "RL105")
	case e.Missed != nil:
		why = fmt.Sprintf("%q skips the value that it is compared with at line %d", e.Missed.Name, line(e.Missed.Cmp.Pos()))
		rules = append(rules, "RL105")
	case e.DeadContext:
		why = "the context that it checks never ends"
	case e.Renewed != nil:
		why, rules = fmt.Sprintf("the limit that is checked at line %d is reset on each iteration",
			line(checkPos(e.Renewed))), append(rules, "RL106")
	case c != nil && c.Compared:
		why = fmt.Sprintf("%q is incremented at line %d but no exit depends on it", c.Name, line(c.Pos))
	case c != nil:
		why = fmt.Sprintf("%q is incremented at line %d but never compared", c.Name, line(c.Pos))
		rules = append(rules, "RL105")
	}
	return why, rules
}

// checkPos returns the position of a condition. The condition for a case of a select statement has
// none, and is at the case.
func checkPos(cond ssa.Value) token.Pos {
	cmp, ok := cond.(*ssa.BinOp)
	if !ok || cmp.Pos().IsValid() {
		return cond.Pos()
	}
	chosen, ok := cmp.X.(*ssa.Extract)
	if !ok {
		return cmp.Pos()
	}
	s, ok := chosen.Tuple.(*ssa.Select)
	if k, isCase := flow.IntOf(cmp.Y); ok && isCase && k >= 0 && k < int64(len(s.States)) {
		return s.States[k].Pos
	}
	return chosen.Tuple.Pos()
}

// reportFrozen reports loops whose condition checks an error that the loop never assigns. They
// repeat no operation, so they contain no attempt.
func reportFrozen(pass *analysis.Pass, r *report) {
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, cond := range pass.ResultOf[attempts].(*attempt.Package).Frozen(fn) {
			if file := fileOf(pass, cond.Pos()); file != nil && !ast.IsGenerated(file) {
				r.at(cond.Pos(), token.NoPos, Proven, "RL105",
					"this loop never assigns the error in its condition: repeat the call in the loop, and limit the attempts")
			}
		}
	}
}

// orderFix replaces a comparison of a counter for equality by a comparison of order.
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
