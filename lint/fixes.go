package lint

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// nameAt returns the name of a context at a position, and whether the name refers to that
// context there. The same name may refer to another variable.
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

// contextFix passes a context to a call that retries, so that the retries end when the context
// ends. The fix changes nothing else.
func contextFix(pass *analysis.Pass, file *ast.File, r *retrier, live ssa.Value) []analysis.SuggestedFix {
	call, _ := callAt(file, r.call.Common().Pos())
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

// replaceRoot replaces context.Background() among the arguments of a call, or among those of a
// nested call.
func replaceRoot(file *ast.File, call *ast.CallExpr, given ssa.Value, name string) (analysis.TextEdit, bool) {
	if !isGivenRoot(given) {
		return analysis.TextEdit{}, false
	}
	old, _ := callAt(file, given.Pos())
	if old == nil || old.Pos() < call.Pos() || call.End() < old.End() {
		return analysis.TextEdit{}, false
	}
	return analysis.TextEdit{Pos: old.Pos(), End: old.End(), NewText: []byte(name)}, true
}

// wrapPolicy wraps the policy argument of a call in a policy that has a context.
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

// addOption adds the option that passes a context to a call.
func addOption(call *ast.CallExpr, p *plan, name string) (analysis.TextEdit, bool) {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && p.Recv != "" {
		// Have: retry.New(options...).Do(op). The options are arguments of the first call.
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

// qualifier returns the package name with which a call qualifies its function, or "".
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

// called returns the function expression of a call, without type arguments.
func called(call *ast.CallExpr) ast.Expr {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		return index.X
	}
	return fun
}

// indentOf returns the tabs before a statement that begins its line. It uses the position in
// the file itself, not one that a //line comment gives.
func indentOf(fset *token.FileSet, stmt ast.Stmt) string {
	return strings.Repeat("\t", fset.PositionFor(stmt.Pos(), false).Column-1)
}
