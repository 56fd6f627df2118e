package lint

import (
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/effect"
)

// attempts finds what the functions of a package retry. It exports facts with what the callers
// of these functions have to know.
var attempts = &analysis.Analyzer{
	Name:       "attempts",
	Doc:        "attempts: find what is retried",
	Requires:   []*analysis.Analyzer{ssaForm, effects},
	FactTypes:  []analysis.Fact{new(attempt.Summary)},
	ResultType: reflect.TypeFor[*attempt.Package](),
	Run: func(pass *analysis.Pass) (any, error) {
		imported := func(fn *types.Func) *attempt.Summary {
			s := new(attempt.Summary)
			if fn.Pkg() == pass.Pkg || !pass.ImportObjectFact(fn, s) {
				return nil
			}
			return s
		}
		p := attempt.Find(pass.Pkg, pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs,
			pass.ResultOf[effects].(*effect.Package), imported)
		for fn, s := range p.Exported() {
			pass.ExportObjectFact(fn, s)
		}
		return p, nil
	},
}
