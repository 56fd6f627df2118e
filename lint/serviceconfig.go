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

// CheckServiceConfig reports the problems in a gRPC service config: where they are in the text,
// from 1 and in bytes, the rule and the message. Programs set it before they run the suite. If
// it is nil, service configs are not checked: this package does without the parsers of policies.
var CheckServiceConfig func(text []byte, report func(line, col, width int, rule, text string))

const grpcPath = "google.golang.org/grpc"

// serviceConfigs reports the problems in the constant gRPC service configs of a package.
func (r *report) serviceConfigs(root inspector.Cursor) {
	if CheckServiceConfig == nil || !imports(r.pass, grpcPath) {
		return
	}
	checked := map[ast.Expr]bool{}
	for cur := range root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		fn := typeutil.StaticCallee(r.pass.TypesInfo, call)
		if fn == nil || fn.FullName() != grpcPath+".WithDefaultServiceConfig" || inTest(r.pass, call.Pos()) {
			continue
		}
		// Have: grpc.WithDefaultServiceConfig(text)
		text := onlyValue(r.pass, root, call.Args[0])
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

// within returns where a problem of a text is in the expression that has the text: in a raw
// literal the same place, otherwise all of the expression.
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
func onlyValue(pass *analysis.Pass, root inspector.Cursor, expr ast.Expr) ast.Expr {
	id, ok := ast.Unparen(expr).(*ast.Ident)
	if !ok {
		return expr
	}
	obj := pass.TypesInfo.ObjectOf(id)
	if _, isVar := obj.(*types.Var); isVar && obj.Exported() {
		return expr // other packages may set it
	}
	var value ast.Expr
	sets := 0
	for cur := range root.Preorder((*ast.ValueSpec)(nil), (*ast.AssignStmt)(nil), (*ast.UnaryExpr)(nil),
		(*ast.RangeStmt)(nil)) {
		names, values := setBy(cur.Node())
		for i, name := range names {
			if set, ok := ast.Unparen(name).(*ast.Ident); !ok || pass.TypesInfo.ObjectOf(set) != obj {
				continue
			}
			if sets++; len(names) == len(values) {
				value = values[i]
			}
		}
	}
	if sets != 1 || value == nil {
		return expr
	}
	return value
}

// setBy returns what a node sets, or may set, and the values if it has them.
func setBy(n ast.Node) (names, values []ast.Expr) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for _, name := range n.Names {
			names = append(names, name)
		}
		return names, n.Values
	case *ast.AssignStmt:
		return n.Lhs, n.Rhs
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}, nil
	case *ast.RangeStmt:
		return []ast.Expr{n.Key, n.Value}, nil
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}, nil
		}
	}
	return nil, nil
}
