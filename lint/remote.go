package lint

import (
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// remoteFunctions marks the functions that reach the network although they are
// given neither a context nor a connection.
var remoteFunctions = &analysis.Analyzer{
	Name:       "remotefunctions",
	Doc:        "remotefunctions: find the functions that reach the network",
	Requires:   []*analysis.Analyzer{ssaForm},
	FactTypes:  []analysis.Fact{new(remote)},
	ResultType: reflect.TypeFor[retryloop.Network](),
	Run: func(pass *analysis.Pass) (any, error) {
		fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
		network := retryloop.NewNetwork(fns, func(fn *types.Func) bool {
			return fn.Pkg() != pass.Pkg && pass.ImportObjectFact(fn, new(remote))
		})
		for _, fn := range fns {
			if fn.Object() != nil && fn.Object().Exported() && network.Reaches(fn) {
				pass.ExportObjectFact(fn.Object(), new(remote))
			}
		}
		return network, nil
	},
}

// remote is a fact about a function: it reaches the network.
type remote struct{}

// AFact marks a fact.
func (*remote) AFact() {}

// String shows the fact to tests.
func (*remote) String() string { return "remote" }
