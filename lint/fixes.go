package lint

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/token"
	"go/types"
	"go/version"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// callAt returns the call whose parenthesis stands at a place.
func callAt(file *ast.File, paren token.Pos) *ast.CallExpr {
	path, _ := astutil.PathEnclosingInterval(file, paren, paren)
	for _, n := range path {
		if call, ok := n.(*ast.CallExpr); ok && call.Lparen == paren {
			return call
		}
	}
	return nil
}

// nameAt returns the name by which a context is known at a place. The same name
// may stand for another there.
func nameAt(pass *analysis.Pass, ctx ssa.Value, pos token.Pos) (string, bool) {
	p, ok := ctx.(*ssa.Parameter)
	if !ok {
		return "", false
	}
	_, obj := pass.Pkg.Scope().Innermost(pos).LookupParent(p.Name(), pos)
	name := p.Name()
	if !vocab.IsContext(p.Type()) {
		name += ".Context()"
	}
	return name, obj != nil && obj == p.Object()
}

// contextFix gives a call that retries a context: the retries end when that does, and nothing
// else changes.
func contextFix(pass *analysis.Pass, file *ast.File, r *retrier, live ssa.Value) []analysis.SuggestedFix {
	call := callAt(file, r.call.Common().Pos())
	if call == nil {
		return nil
	}
	name, ok := nameAt(pass, live, call.Pos())
	if !ok {
		return nil
	}
	var edit analysis.TextEdit
	switch p := r.plan; {
	case r.ctx != nil:
		edit, ok = replaceRoot(file, call, r.ctx, name)
	case p == nil || p.With == "":
		return nil
	case types.IsInterface(p.args[p.Policy].Type()):
		edit, ok = wrapPolicy(pass, call, p, name)
	default:
		edit, ok = addOption(call, p, name)
	}
	if !ok {
		return nil
	}
	return []analysis.SuggestedFix{{Message: "End the retries with " + name, TextEdits: []analysis.TextEdit{edit}}}
}

// replaceRoot replaces context.Background() as an argument of a call, perhaps of an argument.
func replaceRoot(file *ast.File, call *ast.CallExpr, given ssa.Value, name string) (analysis.TextEdit, bool) {
	if !isGivenRoot(given) {
		return analysis.TextEdit{}, false
	}
	old := callAt(file, given.Pos())
	if old == nil || old.Pos() < call.Pos() || call.End() < old.End() {
		return analysis.TextEdit{}, false
	}
	return analysis.TextEdit{Pos: old.Pos(), End: old.End(), NewText: []byte(name)}, true
}

// wrapPolicy wraps the policy of a call by one with a context.
func wrapPolicy(pass *analysis.Pass, call *ast.CallExpr, p *plan, name string) (analysis.TextEdit, bool) {
	pkg := qualifier(call)
	if pkg == "" || len(call.Args) <= p.Policy {
		return analysis.TextEdit{}, false
	}
	policy := call.Args[p.Policy]
	var b strings.Builder
	if err := format.Node(&b, pass.Fset, policy); err != nil {
		return analysis.TextEdit{}, false
	}
	return analysis.TextEdit{Pos: policy.Pos(), End: policy.End(),
		NewText: fmt.Appendf(nil, "%s.%s(%s, %s)", pkg, p.With, &b, name)}, true
}

// addOption adds the option that gives a call a context.
func addOption(call *ast.CallExpr, p *plan, name string) (analysis.TextEdit, bool) {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && p.Recv != "" {
		// Have: retry.New(options...).Do(op), of which the first call is given options.
		if call, ok = ast.Unparen(sel.X).(*ast.CallExpr); !ok {
			return analysis.TextEdit{}, false
		}
	} else if len(call.Args) < 2 {
		return analysis.TextEdit{}, false
	}
	pkg := qualifier(call)
	if pkg == "" || call.Ellipsis.IsValid() {
		return analysis.TextEdit{}, false
	}
	text, at := fmt.Sprintf("%s.%s(%s)", pkg, p.With, name), call.Rparen
	if n := len(call.Args); n > 0 {
		text, at = ", "+text, call.Args[n-1].End()
	}
	return analysis.TextEdit{Pos: at, End: at, NewText: []byte(text)}, true
}

// qualifier returns the name of the package that a call names, or "".
func qualifier(call *ast.CallExpr) string {
	sel, ok := called(call).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return pkg.Name
}

// called returns the function of a call, without its type arguments.
func called(call *ast.CallExpr) ast.Expr {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		return index.X
	}
	return fun
}

// clampFix keeps the exponent of a shift below what overflows: all delays that
// did not overflow stay what they are.
func clampFix(pass *analysis.Pass, file *ast.File, shift ssa.Value) []analysis.SuggestedFix {
	path, _ := astutil.PathEnclosingInterval(file, shift.Pos(), shift.Pos())
	i := slices.IndexFunc(path, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		return ok && b.Op == token.SHL && b.OpPos == shift.Pos()
	})
	if i < 0 || version.Compare(pass.Pkg.GoVersion(), "go1.21") < 0 {
		return nil
	}
	expr := path[i].(*ast.BinaryExpr)
	if _, obj := pass.Pkg.Scope().Innermost(expr.Pos()).LookupParent("min",
		expr.Pos()); obj != types.Universe.Lookup("min") {
		return nil
	}
	greatest, ok := greatestShift(pass, path[i:])
	whole := outermost(path[i:])
	if !ok || growsOn(shift, whole) {
		return nil
	}
	var exponent strings.Builder
	if err := format.Node(&exponent, pass.Fset, ast.Unparen(expr.Y)); err != nil {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message: "Cap the exponent",
		TextEdits: []analysis.TextEdit{{Pos: expr.Y.Pos(), End: expr.Y.End(),
			NewText: fmt.Appendf(nil, "min(%s, %d)", &exponent, greatest)}},
	}}
}

// outermost returns the largest expression that the one that path begins with is a part of.
func outermost(path []ast.Node) ast.Node {
	whole := path[0]
	for _, n := range path[1:] {
		if _, ok := n.(ast.Expr); !ok {
			break
		}
		whole = n
	}
	return whole
}

// greatestShift returns how far the constant that path begins with can be
// shifted until it, or what it is multiplied with around, overflows.
func greatestShift(pass *analysis.Pass, path []ast.Node) (n int, ok bool) {
	number := func(expr ast.Expr) uint64 {
		v := pass.TypesInfo.Types[expr].Value
		if v == nil {
			return 0
		}
		n, exact := constant.Int64Val(constant.ToInt(v))
		if !exact || n < 0 {
			return 0
		}
		return uint64(n)
	}
	child := path[0].(ast.Expr)
	factor := number(child.(*ast.BinaryExpr).X)
	for _, n := range path[1:] {
		switch n := n.(type) {
		case *ast.ParenExpr:
		case *ast.BinaryExpr:
			other := n.X
			if other == child {
				other = n.Y
			}
			if n.Op != token.MUL {
				return shiftsOf(factor)
			}
			high, low := bits.Mul64(factor, number(other))
			if high != 0 {
				return 0, false
			}
			factor = low
		case *ast.CallExpr:
			if !pass.TypesInfo.Types[n.Fun].IsType() {
				return shiftsOf(factor)
			}
		default:
			return shiftsOf(factor)
		}
		child, ok = n.(ast.Expr)
		if !ok {
			return shiftsOf(factor)
		}
	}
	return 0, false
}

func shiftsOf(factor uint64) (int, bool) {
	return 63 - bits.Len64(factor), factor > 0 && factor < 1<<62
}

// indentOf returns the tabs before a statement that begins its line. Where a line comment
// says that it comes from is another place.
func indentOf(fset *token.FileSet, stmt ast.Stmt) string {
	return strings.Repeat("\t", fset.PositionFor(stmt.Pos(), false).Column-1)
}
