package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// DeafWait reports waits between attempts that ignore a context (RL102).
var DeafWait = newRule("deafwait", runDeafWait, []string{"RL102"}, attempts)

// deafWaits are the waits between attempts of one loop that continue although a context has
// ended, or although a channel that asks the loop to stop was closed.
type deafWaits struct {
	loop     *flow.Loop
	ctx      ssa.Value     // or nil
	stop     *attempt.Stop // set only if ctx is nil
	waits    []ssa.Instruction
	evidence Evidence
}

func runDeafWait(pass *analysis.Pass, r *report) {
	for _, d := range findDeafWaits(pass.ResultOf[attempts].(*attempt.Package)) {
		d.waits = slices.DeleteFunc(d.waits, func(wait ssa.Instruction) bool {
			return handwritten(pass, wait.Pos()) == nil
		})
		if len(d.waits) == 0 {
			continue
		}
		first := d.waits[0]
		file := fileOf(pass, first.Pos())
		diagnostic := analysis.Diagnostic{
			Pos: waitStart(file, first), End: first.Pos(),
		}
		if d.ctx != nil {
			diagnostic.Message = fmt.Sprintf("this wait continues after %s has ended: use a select with its Done channel",
				nameOfContext(d.ctx))
			diagnostic.SuggestedFixes = selectFix(pass, file, first, d.ctx)
		} else {
			diagnostic.Message = fmt.Sprintf("this wait continues after %s is closed: wait in a select with it",
				cmp.Or(d.stop.Name, "the channel that stops the loop"))
		}
		for _, more := range d.waits[1:] {
			diagnostic.Related = append(diagnostic.Related, analysis.RelatedInformation{
				Pos: waitStart(file, more), End: more.Pos(), Message: "so does this wait",
			})
		}
		r.finding(diagnostic, d.evidence, "RL102")
	}
}

// waitStart returns the position at which a wait begins.
func waitStart(file *ast.File, wait ssa.Instruction) token.Pos {
	if _, call := wait.(*ssa.Call); call {
		return callStart(file, wait.Pos())
	}
	return wait.Pos()
}

// findDeafWaits returns the waits between attempts that continue after a context has ended,
// grouped by loop and in source order.
func findDeafWaits(p *attempt.Package) (found []*deafWaits) {
	known := map[ssa.Instruction]bool{}
	for _, t := range slices.Concat(p.Attempts, p.Recursions) {
		for _, w := range t.Waits {
			if known[w.At] || !isDeaf(t, w) {
				continue
			}
			d := &deafWaits{loop: t.Loop, ctx: t.Context()}
			if d.ctx != nil {
				d.ctx, d.evidence = attempt.Root(d.ctx), p.EndEvidence(d.ctx)
			} else if d.stop = t.Stop(); d.stop == nil || w.Heeds {
				continue
			} else {
				d.evidence = d.stop.Evidence
			}
			known[w.At] = true
			i := slices.IndexFunc(found, func(d *deafWaits) bool { return d.loop == t.Loop })
			if i < 0 {
				i, found = len(found), append(found, d)
			}
			d = found[i]
			d.waits = append(d.waits, w.At)
			d.evidence = min(d.evidence, t.Evidence, w.Evidence, evidenceOf(t, w, d.stop))
		}
	}
	for _, d := range found {
		slices.SortFunc(d.waits, func(a, b ssa.Instruction) int { return cmp.Compare(a.Pos(), b.Pos()) })
	}
	return found
}

// isDeaf reports whether a wait between attempts is long and does not end when a context ends.
func isDeaf(t *attempt.Attempt, w attempt.Wait) bool {
	longest := w.Max
	if w.Heeds {
		longest = t.Interrupts(w)
	}
	return longest >= shortestDelay && !t.IsInterval(w) && !t.AfterEnd(w.At.Block()) && !isGivenTest(t.Fn)
}

// evidenceOf returns how certain it is that the operation is retried and that the wait is long.
// Asking a person, or receiving the next item, is not a retry. A short wait, or one that ends
// early for another reason, is weaker evidence.
func evidenceOf(t *attempt.Attempt, w attempt.Wait, stop *attempt.Stop) Evidence {
	const soon = time.Second // as a delay after the end of the context
	switch {
	case t.Known().Is(vocab.Asks | vocab.Receives | vocab.Random):
		return Named
	case w.Max == attempt.NoLimit && w.Unit() < time.Millisecond:
		return Named
	case w.Max < soon && (t.AsksContext() || stop != nil && stop.Always):
		return Named
	case w.Heeds:
		return Library // the other event that ends the wait is not a request to stop
	}
	return Proven
}

// leavesAtOnce reports whether the function does nothing after the loop around a statement, so
// that a return at the statement only ends the function earlier. path leads from the statement
// outwards. results reports whether the function has results: a return of nil after the loop
// may then be wrong when the context has ended.
func leavesAtOnce(path []ast.Node, results bool) bool {
	loop := slices.IndexFunc(path, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit:
			return true
		}
		return false
	})
	if loop < 0 {
		return false
	}
	if _, own := path[loop].(*ast.FuncLit); own {
		return false
	}
	for i, n := range path[loop+1:] {
		switch n := n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return true
		case *ast.LabeledStmt:
		case *ast.BlockStmt:
			rest := n.List[slices.Index(n.List, path[loop+i].(ast.Stmt))+1:]
			if len(rest) == 0 {
				continue
			}
			last, ok := rest[0].(*ast.ReturnStmt)
			if !ok || results && (len(last.Results) == 0 || isNil(last.Results[0])) {
				return false
			}
		default:
			return false // the loop is inside another statement, and code may follow that one
		}
	}
	return false
}

func isNil(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "nil"
}

// nameOfContext returns the expression by which the source code refers to a context.
func nameOfContext(v ssa.Value) string {
	switch p, ok := v.(*ssa.Parameter); {
	case ok && vocab.IsContext(p.Type()):
		return p.Name()
	case ok:
		return p.Name() + ".Context()"
	}
	return "the context"
}

// selectFix returns the fix that replaces a sleep by a select. It exists only if it is clear
// what to return when the context ends: nothing, or only its error.
func selectFix(pass *analysis.Pass, file *ast.File, wait ssa.Instruction, live ssa.Value) []analysis.SuggestedFix {
	call, ok := wait.(*ssa.Call)
	ctx, isParameter := live.(*ssa.Parameter)
	if !ok || !isParameter || ctx.Parent() != call.Parent() || !vocab.IsContext(ctx.Type()) {
		return nil
	}
	fn := call.Common().StaticCallee()
	if fn == nil || fn.Pkg == nil || fn.Signature.Recv() != nil || fn.Pkg.Pkg.Scope().Lookup("After") == nil {
		return nil // other clocks may have no channel to select on
	}
	path, _ := astutil.PathEnclosingInterval(file, call.Pos(), call.Pos())
	i := slices.IndexFunc(path, func(n ast.Node) bool { _, ok := n.(*ast.ExprStmt); return ok })
	if i < 0 {
		return nil
	}
	stmt := path[i].(*ast.ExprStmt)
	sleep, ok := stmt.X.(*ast.CallExpr)
	if !ok || sleep.Lparen != call.Pos() {
		return nil
	}
	// The same name may refer to another variable here.
	if _, obj := pass.Pkg.Scope().Innermost(stmt.Pos()).LookupParent(ctx.Name(), stmt.Pos()); obj != ctx.Object() {
		return nil
	}
	if !leavesAtOnce(path[i:], call.Parent().Signature.Results().Len() > 0) {
		return nil
	}
	leave := "return"
	switch results := call.Parent().Signature.Results(); {
	case results.Len() == 1 && types.Identical(results.At(0).Type(), types.Universe.Lookup("error").Type()):
		leave = "return " + ctx.Name() + ".Err()"
	case results.Len() > 0:
		return nil
	}
	var d strings.Builder
	if err := format.Node(&d, pass.Fset, sleep.Args[0]); err != nil {
		return nil
	}
	sel, ok := sleep.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return nil
	}
	indent := indentOf(pass.Fset, stmt)
	text := fmt.Sprintf("select {\n%[1]scase <-%[2]s.Done():\n%[1]s\t%[3]s\n%[1]scase <-%[4]s.After(%[5]s):\n%[1]s}",
		indent, ctx.Name(), leave, pkg.Name, &d)
	return []analysis.SuggestedFix{{
		Message:   "Wait in a select with " + ctx.Name() + ".Done()",
		TextEdits: []analysis.TextEdit{{Pos: stmt.Pos(), End: stmt.End(), NewText: []byte(text)}},
	}}
}
