package lint

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// BareDuration reports durations without a unit (RL207).
var BareDuration = newRule("bareduration", runBareDuration, []string{"RL207"}, inspect.Analyzer)

func runBareDuration(pass *analysis.Pass, r *report) {
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	for cur := range root.Preorder((*ast.CallExpr)(nil), (*ast.KeyValueExpr)(nil), (*ast.AssignStmt)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.CallExpr:
			if takesDurations(pass, n) {
				for _, arg := range n.Args {
					r.bareDuration(arg)
				}
			}
		case *ast.KeyValueExpr:
			if isTimeLimit(pass, n.Key) {
				r.bareDuration(n.Value)
			}
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				if field, ok := lhs.(*ast.SelectorExpr); ok && n.Tok == token.ASSIGN && len(n.Lhs) == len(n.Rhs) &&
					isTimeLimit(pass, field.Sel) {
					r.bareDuration(n.Rhs[i])
				}
			}
		}
	}
}

// bareDuration reports a duration literal that was probably not meant in nanoseconds.
func (r *report) bareDuration(expr ast.Expr) {
	lit, ok := ast.Unparen(expr).(*ast.BasicLit)
	if !ok || lit.Kind != token.INT || handwritten(r.pass, expr.Pos()) == nil {
		return
	}
	v := r.pass.TypesInfo.Types[lit]
	if !vocab.IsDuration(v.Type) {
		return // it may be part of a fraction
	}
	if n, exact := constant.Int64Val(v.Value); exact && n >= 2 && n < int64(time.Millisecond) {
		r.at(lit.Pos(), lit.End(), Proven, "RL207",
			"this is %[1]d nanoseconds: write %[1]d*time.Second or %[1]d*time.Millisecond", n)
	}
}

// isTimeLimit reports whether an expression names a field of a package that is known to use its
// durations as time limits. Duration fields of other packages may count seconds.
func isTimeLimit(pass *analysis.Pass, expr ast.Expr) bool {
	name, ok := expr.(*ast.Ident)
	if !ok {
		return false
	}
	field, ok := pass.TypesInfo.Uses[name].(*types.Var)
	return ok && field.IsField() && field.Pkg() != nil &&
		slices.Contains([]string{"net", "net/http", "os/exec"}, field.Pkg().Path())
}

// takesDurations reports whether a call waits for a duration that it is given, or uses it as a
// limit.
func takesDurations(pass *analysis.Pass, call *ast.CallExpr) bool {
	fn := typeutil.StaticCallee(pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	k := vocab.Of(fn)
	return k.Evidence >= vocab.Library && (k.Is(vocab.Waits|vocab.Clock) && k.Duration >= 0 || k.Is(vocab.Limits)) ||
		vocab.IsRetryPackage(fn.Pkg().Path())
}
