package lint

import (
	"fmt"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// cancellableCalls finds the calls of helpers of this module that retry what they are
// given, and leave when a context ends, as libraries of which the same is known.
var cancellableCalls = &analysis.Analyzer{
	Name:       "cancellablecalls",
	Doc:        "cancellablecalls: find calls of helpers that retry until a context ends",
	Requires:   []*analysis.Analyzer{ssaForm, retries},
	FactTypes:  []analysis.Fact{new(cancellable)},
	ResultType: reflect.TypeFor[map[*ssa.Call]*library](),
	Run:        runCancellableCalls,
}

// cancellable is a fact about a function: it retries one of its parameters, and leaves
// when one of its contexts ends, whatever else ends it, or has a twin that does.
type cancellable struct {
	Op      int    // the index of the parameter that is retried
	Context int    // the index of the context, or -1
	Twin    string // the function of its package that it gives a context which never ends
}

// AFact marks a fact.
func (*cancellable) AFact() {}

// String shows the fact to tests.
func (c *cancellable) String() string {
	return fmt.Sprintf("leaves(%d, with %d %s)", c.Op, c.Context, c.Twin)
}

func runCancellableCalls(pass *analysis.Pass) (any, error) {
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	helpers := map[*ssa.Function]*cancellable{}
	for _, r := range pass.ResultOf[retries].([]retryloop.Retry) {
		fn, op, ctx := r.Call.Parent(), r.Through(), r.Until()
		if op != nil && ctx != nil && op.Parent() == fn && ctx.Parent() == fn && helpers[fn] == nil {
			helpers[fn] = &cancellable{Op: slices.Index(fn.Params, op), Context: slices.Index(fn.Params, ctx)}
		}
	}
	found := map[*ssa.Call]*library{}
	// A helper may call helpers that come later.
	for grown := true; grown; {
		grown = false
		for _, fn := range fns {
			for _, call := range callsOf(fn) {
				c := cancellableCallee(pass, helpers, call)
				if c == nil {
					continue
				}
				found[call] = &library{op: c.Op, ctx: c.Context}
				if c.Twin != "" {
					found[call].twins = []string{c.Twin}
				}
				if made := c.handedOn(fn, call); made != nil && helpers[fn] == nil {
					helpers[fn], grown = made, true
				}
			}
		}
	}
	for fn, c := range helpers {
		if fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), c)
		}
	}
	return found, nil
}

// handedOn returns what fn is if it has a helper retry a parameter of its own: until a context
// of its own ends, or, where the helper is of the same package, never.
func (c *cancellable) handedOn(fn *ssa.Function, call *ssa.Call) *cancellable {
	op := slices.Index(fn.Params, retryloop.HandsOn(origin(call.Call.Args[c.Op])))
	if op < 0 || c.Context < 0 {
		return nil
	}
	switch ctx := call.Call.Args[c.Context].(type) {
	case *ssa.Parameter:
		if k := slices.Index(fn.Params, ctx); k >= 0 {
			return &cancellable{Op: op, Context: k}
		}
	case *ssa.Call:
		twin := retryloop.Generic(call.Call.StaticCallee())
		if twin.Pkg == fn.Pkg && twin.Signature.Recv() == nil && twin.Parent() == nil && isRootContext(ctx) {
			return &cancellable{Op: op, Context: -1, Twin: twin.Name()}
		}
	}
	return nil
}

func cancellableCallee(pass *analysis.Pass, helpers map[*ssa.Function]*cancellable, call *ssa.Call) *cancellable {
	return helperFact(pass, helpers, call.Call.StaticCallee())
}
