package lint

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// bindings is a fact about a package: the functions that its policies bind, sorted by name.
// Each is a function of the package itself, or a method of a type of another package.
type bindings struct{ List []binding }

// A binding connects a function that a policy binds, identified by its full name, with its
// generated wrapper.
type binding struct {
	Function string
	Wrapper  string
	IsMethod bool // the wrapper is a method of the same type as the function
}

// AFact marks bindings as a fact.
func (*bindings) AFact() {}

// String formats the fact for tests.
func (b *bindings) String() string {
	text := "wrappers"
	for _, bound := range b.List {
		text += " " + bound.Wrapper
	}
	return text
}

// of returns the binding of a function, or nil.
func (b *bindings) of(fn *types.Func) *binding {
	name := fn.Origin().FullName()
	if i := slices.IndexFunc(b.List, func(bound binding) bool { return bound.Function == name }); i >= 0 {
		return &b.List[i]
	}
	return nil
}

// boundFunctions finds the functions that the policies of a package bind. It recognizes them by
// their generated wrappers.
var boundFunctions = &analysis.Analyzer{
	Name:       "boundfunctions",
	Doc:        "boundfunctions: find the functions that have generated wrappers",
	Requires:   []*analysis.Analyzer{ssaForm},
	FactTypes:  []analysis.Fact{new(bindings)},
	ResultType: reflect.TypeFor[wrappers](),
	Run: func(pass *analysis.Pass) (any, error) {
		own := ownBindings(pass)
		if len(own.List) > 0 {
			pass.ExportPackageFact(own)
		}
		return wrappers{pass, own}, nil
	},
}

// ownBindings returns the bindings of the policies of the analyzed package.
func ownBindings(pass *analysis.Pass) *bindings {
	found := new(bindings)
	if !imports(pass, runtimePath) {
		return found
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		if file := fileOf(pass, fn.Pos()); fn.Object() == nil || file == nil || !ast.IsGenerated(file) {
			continue
		}
		if bound := boundBy(fn); bound != nil {
			found.List = append(found.List,
				binding{bound.Origin().FullName(), fn.Name(), fn.Signature.Recv() != nil})
		}
	}
	slices.SortFunc(found.List, func(a, b binding) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Wrapper, b.Wrapper))
	})
	return found
}

// boundBy returns the function that a wrapper retries, or nil. It is the only function that is
// called in a loop or in a function literal of the wrapper, that takes all operands of the
// wrapper, and that returns the same results.
func boundBy(wrapper *ssa.Function) (bound *types.Func) {
	for _, fn := range appendWithin(nil, wrapper) {
		for _, call := range callsOf(fn) {
			callee, _ := flow.StaticCallee(call.Common())
			if callee == nil || fn == wrapper && !inCycle(call.Block()) || !isPassedOn(wrapper, call) {
				continue
			}
			if bound != nil && bound != callee {
				return nil
			}
			bound = callee
		}
	}
	return bound
}

// isPassedOn reports whether the operands and the results of a call have the same types as the
// parameters and the results of fn.
func isPassedOn(fn *ssa.Function, call *ssa.Call) bool {
	operands := call.Call.Args
	if call.Call.IsInvoke() {
		operands = append([]ssa.Value{call.Call.Value}, operands...)
	}
	return slices.EqualFunc(fn.Params, operands, func(p *ssa.Parameter, operand ssa.Value) bool {
		return types.Identical(p.Type(), operand.Type())
	}) && types.Identical(fn.Signature.Results(), call.Call.Signature().Results())
}

// wrappers looks up the generated wrappers that the analyzed package can call.
type wrappers struct {
	pass *analysis.Pass // the pass of boundFunctions
	own  *bindings
}

// of returns the name of the wrapper to call in place of a function, as the analyzed package
// writes it. The wrapper is in this package, or in the package that declares the function. If
// there is none, of returns "".
func (w wrappers) of(fn *types.Func) string {
	if bound := w.own.of(fn); bound != nil {
		return bound.Wrapper
	}
	others := new(bindings)
	if fn.Pkg() == nil || !w.pass.ImportPackageFact(fn.Pkg(), others) {
		return ""
	}
	switch bound := others.of(fn); {
	case bound == nil || !token.IsExported(bound.Wrapper):
		return ""
	case bound.IsMethod:
		return bound.Wrapper
	default:
		return fn.Pkg().Name() + "." + bound.Wrapper
	}
}
