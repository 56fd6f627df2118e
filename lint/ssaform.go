package lint

import (
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
)

// ssaForm is buildssa, but for packages on which that panics: of them nothing
// is said.
var ssaForm = &analysis.Analyzer{
	Name:       "retryssa",
	Doc:        "retryssa: build the SSA form of a package, if that can be done",
	Requires:   []*analysis.Analyzer{ctrlflow.Analyzer},
	ResultType: reflect.TypeFor[*buildssa.SSA](),
	Run: func(pass *analysis.Pass) (result any, err error) {
		defer func() {
			if recover() != nil {
				result, err = new(buildssa.SSA), nil
			}
		}()
		return buildssa.Analyzer.Run(pass)
	},
}
