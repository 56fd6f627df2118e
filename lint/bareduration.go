package lint

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// BareDuration reports RL207.
var BareDuration = newRule("bareduration", runBareDuration, []string{"RL207"}, inspect.Analyzer, timedFields)

func runBareDuration(pass *analysis.Pass, r *report) {
	units := pass.ResultOf[timedFields].(fieldUnits)
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	for cur := range root.Preorder((*ast.CallExpr)(nil), (*ast.CompositeLit)(nil), (*ast.AssignStmt)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.CallExpr:
			if takesDurations(pass, n) {
				for _, arg := range n.Args {
					r.bareDuration(arg)
				}
			}
		default:
			for field, value := range fieldsSet(pass, n) {
				if isTimeLimit(field) || units.delays(field) {
					r.bareDuration(value)
				}
			}
		}
	}
}

// bareDuration reports a duration that is a number of another unit than nanoseconds, or looks like
// one.
func (r *report) bareDuration(expr ast.Expr) {
	if handwritten(r.pass, expr.Pos()) == nil {
		return
	}
	if unit := unitTaken(r.pass, expr); unit != "" {
		r.at(expr.Pos(), expr.End(), Proven, "RL207",
			"this uses a number of %s as nanoseconds: pass the duration itself", unit)
		return
	}
	lit, ok := ast.Unparen(expr).(*ast.BasicLit)
	if !ok || lit.Kind != token.INT {
		return
	}
	v := r.pass.TypesInfo.Types[lit]
	if !vocab.IsDuration(v.Type) {
		return // it may be that of a fraction
	}
	if n, exact := constant.Int64Val(v.Value); exact && n >= 2 && n < int64(time.Millisecond) {
		r.at(lit.Pos(), lit.End(), Proven, "RL207",
			"this is %[1]d nanoseconds: write %[1]d*time.Second or %[1]d*time.Millisecond", n)
	}
}

// unitTaken returns in what units a duration was counted that is then converted to one of as many
// nanoseconds, or "".
func unitTaken(pass *analysis.Pass, expr ast.Expr) string {
	conv, ok := ast.Unparen(expr).(*ast.CallExpr)
	if !ok || len(conv.Args) != 1 || !pass.TypesInfo.Types[conv.Fun].IsType() ||
		!vocab.IsDuration(pass.TypesInfo.TypeOf(conv)) {
		return ""
	}
	count, ok := ast.Unparen(conv.Args[0]).(*ast.CallExpr)
	if !ok {
		return ""
	}
	fn := typeutil.StaticCallee(pass.TypesInfo, count)
	if fn == nil || fn.Signature().Recv() == nil || !vocab.IsDuration(fn.Signature().Recv().Type()) ||
		!slices.Contains([]string{"Hours", "Minutes", "Seconds", "Milliseconds", "Microseconds"}, fn.Name()) {
		return ""
	}
	return strings.ToLower(fn.Name())
}

// isTimeLimit reports whether a field is of a package that waits as long as it says.
func isTimeLimit(field *types.Var) bool {
	return field.Pkg() != nil && slices.Contains([]string{"net", "net/http", "os/exec"}, field.Pkg().Path())
}

// takesDurations reports whether a call waits for, or limits by, a duration that it is
// given.
func takesDurations(pass *analysis.Pass, call *ast.CallExpr) bool {
	fn := typeutil.StaticCallee(pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	k := vocab.Of(fn)
	return k.Evidence >= vocab.Library && (k.Is(vocab.Waits|vocab.Clock) && k.Duration >= 0 || k.Is(vocab.Limits)) ||
		vocab.IsRetryPackage(fn.Pkg().Path())
}
