package lint

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"reflect"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// timedFields finds the fields of structures that a package gives constant times with a
// unit, and multiplies with none: they hold times, and no number of seconds.
var timedFields = &analysis.Analyzer{
	Name:       "timedfields",
	Doc:        "timedfields: find the fields that hold times with a unit",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	FactTypes:  []analysis.Fact{new(timed)},
	ResultType: reflect.TypeFor[fieldUnits](),
	Run: func(pass *analysis.Pass) (any, error) {
		units := fieldUnits{map[*types.Var]bool{}, map[*types.Var]bool{}, func(field *types.Var) bool {
			return pass.ImportObjectFact(field, new(timed))
		}}
		root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
		copies := map[types.Object]*types.Var{}
		for cur := range root.Preorder((*ast.AssignStmt)(nil)) {
			maps.Insert(copies, copiedFields(pass, cur.Node().(*ast.AssignStmt)))
		}
		for cur := range root.Preorder((*ast.BinaryExpr)(nil), (*ast.AssignStmt)(nil)) {
			if field := scaledField(pass, cur.Node(), copies); field != nil {
				units.scaled[field] = true
			}
		}
		for cur := range root.Preorder((*ast.CompositeLit)(nil), (*ast.AssignStmt)(nil)) {
			for field, value := range fieldsSet(pass, cur.Node()) {
				if d, ok := constantTime(pass, value); ok && d >= int64(time.Millisecond) && !units.scaled[field] {
					units.timed[field] = true
				}
			}
		}
		for field := range units.timed {
			if field.Pkg() == pass.Pkg {
				pass.ExportObjectFact(field, new(timed))
			}
		}
		return units, nil
	},
}

// timed is a fact about a field: it holds a time with a unit.
type timed struct{}

// AFact marks a fact.
func (*timed) AFact() {}

// String shows the fact to tests.
func (*timed) String() string { return "timed" }

// fieldUnits says which fields a package gives times with a unit, and which it multiplies
// with one.
type fieldUnits struct {
	timed, scaled map[*types.Var]bool
	known         func(*types.Var) bool // of other packages: timed
}

// delays reports whether a field is a time to wait by its name, and by what it is given.
func (u fieldUnits) delays(field *types.Var) bool {
	return vocab.IsDelay(field.Name()) && !u.scaled[field] && (u.timed[field] || u.known(field))
}

// copiedFields yields the variables that an assignment sets to fields.
func copiedFields(pass *analysis.Pass, assign *ast.AssignStmt) iter.Seq2[types.Object, *types.Var] {
	return func(yield func(types.Object, *types.Var) bool) {
		for i, lhs := range assign.Lhs {
			name, ok := lhs.(*ast.Ident)
			if !ok || len(assign.Lhs) != len(assign.Rhs) || pass.TypesInfo.ObjectOf(name) == nil {
				continue // the blank identifier is no variable
			}
			if field := fieldOf(pass, assign.Rhs[i], nil); field != nil && !yield(pass.TypesInfo.ObjectOf(name), field) {
				return
			}
		}
	}
}

// scaledField returns the field that a product, or x *= y, multiplies with a unit of time,
// by itself or in one of its copies, or nil.
func scaledField(pass *analysis.Pass, product ast.Node, copies map[types.Object]*types.Var) *types.Var {
	var x, y ast.Expr
	switch product := product.(type) {
	case *ast.BinaryExpr:
		if product.Op == token.MUL {
			x, y = product.X, product.Y
		}
	case *ast.AssignStmt:
		if product.Tok == token.MUL_ASSIGN {
			x, y = product.Lhs[0], product.Rhs[0]
		}
	}
	if x == nil {
		return nil
	}
	for _, sides := range [][2]ast.Expr{{x, y}, {y, x}} {
		if unit, ok := constantTime(pass, sides[0]); !ok || unit < int64(time.Microsecond) {
			continue
		}
		factor := ast.Unparen(sides[1])
		if conv, ok := factor.(*ast.CallExpr); ok && len(conv.Args) == 1 && pass.TypesInfo.Types[conv.Fun].IsType() {
			factor = conv.Args[0]
		}
		return fieldOf(pass, factor, copies)
	}
	return nil
}

// fieldOf returns the field that an expression selects, or is a copy of, or nil.
func fieldOf(pass *analysis.Pass, expr ast.Expr, copies map[types.Object]*types.Var) *types.Var {
	switch expr := ast.Unparen(expr).(type) {
	case *ast.SelectorExpr:
		return fieldNamed(pass, expr.Sel)
	case *ast.Ident:
		return copies[pass.TypesInfo.Uses[expr]]
	}
	return nil
}

// constantTime returns the value of an expression that is a constant time.Duration.
func constantTime(pass *analysis.Pass, expr ast.Expr) (int64, bool) {
	v := pass.TypesInfo.Types[expr]
	if v.Value == nil || !vocab.IsDuration(v.Type) {
		return 0, false
	}
	return constant.Int64Val(v.Value)
}

// fieldsSet yields the fields that a literal or an assignment sets, and to what.
func fieldsSet(pass *analysis.Pass, n ast.Node) iter.Seq2[*types.Var, ast.Expr] {
	return func(yield func(*types.Var, ast.Expr) bool) {
		switch n := n.(type) {
		case *ast.CompositeLit:
			for _, elt := range n.Elts {
				if kv, ok := elt.(*ast.KeyValueExpr); ok {
					if field := fieldNamed(pass, kv.Key); field != nil && !yield(field, kv.Value) {
						return
					}
				}
			}
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				if field := fieldOf(pass, lhs, nil); field != nil && n.Tok == token.ASSIGN && len(n.Lhs) == len(n.Rhs) &&
					!yield(field, n.Rhs[i]) {
					return
				}
			}
		}
	}
}

// fieldNamed returns the field that an identifier names, or nil.
func fieldNamed(pass *analysis.Pass, expr ast.Expr) *types.Var {
	id, ok := expr.(*ast.Ident)
	if !ok {
		return nil
	}
	field, ok := pass.TypesInfo.Uses[id].(*types.Var)
	if !ok || !field.IsField() {
		return nil
	}
	return field.Origin()
}
