package lint

import (
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
)

// effects computes how the functions of a package use memory that other code can access. It
// exports the result for the packages that import this one.
var effects = &analysis.Analyzer{
	Name:       "effects",
	Doc:        "effects: find what functions read, write and decide by",
	Requires:   []*analysis.Analyzer{ssaForm},
	FactTypes:  []analysis.Fact{new(effect.Fact)},
	ResultType: reflect.TypeFor[*effect.Package](),
	Run: func(pass *analysis.Pass) (any, error) {
		fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
		p := effect.New(fns, func(fn *types.Func) *effect.Fact {
			fact := new(effect.Fact)
			if fn.Pkg() == pass.Pkg || !pass.ImportObjectFact(fn, fact) {
				return nil
			}
			return fact
		})
		for _, fn := range fns {
			if obj := fn.Object(); obj != nil && obj.Exported() {
				pass.ExportObjectFact(obj, p.Fact(fn))
			}
		}
		return p, nil
	},
}
