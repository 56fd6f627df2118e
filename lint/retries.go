package lint

import (
	"go/ast"
	"go/token"
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

// position returns where the loop begins: at its for, or, where a goto makes
// it, at the call.
func position(file *ast.File, retry retryloop.Retry) token.Pos {
	pos := retry.Call.Pos()
	if retry.IsFor {
		inner := 0
		if retry.OfItems {
			inner = 1
		}
		if loop := loopAround(file, pos, inner); loop != pos {
			return loop
		}
	}
	return callStart(file, pos)
}
