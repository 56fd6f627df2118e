package lint

import (
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// retries finds the retry loops of a package, in the order of its functions.
// Most rules ask for them, and finding them is most of the work.
var retries = &analysis.Analyzer{
	Name:       "retries",
	Doc:        "retries: find the retry loops of a package",
	Requires:   []*analysis.Analyzer{ssaForm},
	ResultType: reflect.TypeFor[[]retryloop.Retry](),
	Run: func(pass *analysis.Pass) (any, error) {
		var found []retryloop.Retry
		for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
			found = append(found, retryloop.Find(fn)...)
		}
		return found, nil
	},
}
