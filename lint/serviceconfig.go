package lint

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// CheckServiceConfig reports the problems in a gRPC service config. For each problem, it
// reports the position in the text (starting at 1, columns in bytes), the rule and the
// message. Programs set it before they run the suite. If it is nil, service configs are
// not checked, because this package does not import the parsers for policies.
var CheckServiceConfig func(text []byte, report func(line, col, width int, rule, text string))

const grpcPath = "google.golang.org/grpc"

// serviceConfigs reports the problems in the constant gRPC service configs of a package.
func (r *report) serviceConfigs(root inspector.Cursor) {
	if CheckServiceConfig == nil || !imports(r.pass, grpcPath) {
		return
	}
	checked := map[ast.Expr]bool{}
	values := assignments(r.pass, root)
	for cur := range root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		fn := typeutil.StaticCallee(r.pass.TypesInfo, call)
		if fn == nil || fn.FullName() != grpcPath+".WithDefaultServiceConfig" || inTest(r.pass, call.Pos()) {
			continue
		}
		// Have: grpc.WithDefaultServiceConfig(text)
		text := onlyValue(r.pass, values, call.Args[0])
		v := r.pass.TypesInfo.Types[text].Value
		if v == nil || v.Kind() != constant.String || checked[text] {
			continue
		}
		checked[text] = true
		CheckServiceConfig([]byte(constant.StringVal(v)), func(line, col, width int, rule, problem string) {
			pos, end := r.within(text, line, col, width)
			r.at(pos, end, Library, rule, "%s", problem)
		})
	}
}

// within returns the position, in the source code, of a problem in a text. In a raw string
// literal that is the exact position. For other expressions it is the whole expression.
func (r *report) within(text ast.Expr, line, col, width int) (pos, end token.Pos) {
	lit, ok := ast.Unparen(text).(*ast.BasicLit)
	if !ok || !strings.HasPrefix(lit.Value, "`") {
		return text.Pos(), text.End()
	}
	pos = lit.Pos() + 1
	if line > 1 {
		file := r.pass.Fset.File(lit.Pos())
		pos = file.LineStart(file.PositionFor(lit.Pos(), false).Line + line - 1)
	}
	pos += token.Pos(col - 1)
	return pos, pos + token.Pos(width)
}

// onlyValue returns the expression that defines a constant or variable of the package, if expr
// is its name and nothing else can set it. Otherwise it returns expr.
func onlyValue(pass *analysis.Pass, values map[types.Object][]ast.Expr, expr ast.Expr) ast.Expr {
	id, ok := ast.Unparen(expr).(*ast.Ident)
	if !ok {
		return expr
	}
	obj := pass.TypesInfo.ObjectOf(id)
	if _, isVar := obj.(*types.Var); isVar && obj.Exported() || len(values[obj]) != 1 || values[obj][0] == nil {
		return expr // other packages may set it, or its value is unknown
	}
	return values[obj][0]
}

// assignments returns the values that the variables, constants and fields of a package are set
// to outside of literals. A value is nil if it is unknown, such as where the address is taken.
func assignments(pass *analysis.Pass, root inspector.Cursor) map[types.Object][]ast.Expr {
	all := map[types.Object][]ast.Expr{}
	for cur := range root.Preorder((*ast.ValueSpec)(nil), (*ast.AssignStmt)(nil), (*ast.IncDecStmt)(nil),
		(*ast.UnaryExpr)(nil), (*ast.RangeStmt)(nil)) {
		var names, values []ast.Expr
		switch n := cur.Node().(type) {
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names = append(names, name)
			}
			values = n.Values
		case *ast.AssignStmt:
			names, values = n.Lhs, n.Rhs
		case *ast.IncDecStmt:
			names = []ast.Expr{n.X}
		case *ast.RangeStmt:
			names = []ast.Expr{n.Key, n.Value}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				names = []ast.Expr{n.X}
			}
		}
		for i, name := range names {
			if sel, ok := ast.Unparen(name).(*ast.SelectorExpr); ok {
				name = sel.Sel
			}
			id, ok := ast.Unparen(name).(*ast.Ident)
			if !ok {
				continue
			}
			var value ast.Expr
			if len(names) == len(values) {
				value = values[i]
			}
			all[pass.TypesInfo.ObjectOf(id)] = append(all[pass.TypesInfo.ObjectOf(id)], value)
		}
	}
	return all
}
