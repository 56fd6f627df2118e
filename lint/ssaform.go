package lint

import (
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/ssa"
)

// ssaForm wraps buildssa. It returns an empty result for packages on which buildssa panics, so
// that nothing is reported about them. It also does so for dependencies, because drivers ask
// for the facts of all imported packages. SrcFuncs also contains the function that initializes
// the package variables, with its literals.
var ssaForm = &analysis.Analyzer{
	Name:       "retryssa",
	Doc:        "retryssa: build the SSA form of a package, if that can be done",
	Requires:   []*analysis.Analyzer{ctrlflow.Analyzer},
	ResultType: reflect.TypeFor[*buildssa.SSA](),
	Run: func(pass *analysis.Pass) (result any, err error) {
		if isDependency(pass) {
			return new(buildssa.SSA), nil
		}
		defer func() {
			if recover() != nil {
				result, err = new(buildssa.SSA), nil
			}
		}()
		built, err := buildssa.Analyzer.Run(pass)
		if err != nil {
			return nil, err
		}
		form := built.(*buildssa.SSA)
		if initializer := form.Pkg.Func("init"); initializer != nil {
			form.SrcFuncs = appendWithin(form.SrcFuncs, initializer)
		}
		return form, nil
	},
}

// appendWithin appends a function and the literals in it.
func appendWithin(fns []*ssa.Function, fn *ssa.Function) []*ssa.Function {
	fns = append(fns, fn)
	for _, in := range fn.AnonFuncs {
		fns = appendWithin(fns, in)
	}
	return fns
}
