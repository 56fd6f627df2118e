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

// hurriedCalls finds the calls of helpers that try a remote operation again at
// once: because they never wait, or are told not to.
var hurriedCalls = &analysis.Analyzer{
	Name:       "hurriedcalls",
	Doc:        "hurriedcalls: find calls of helpers that retry without a delay",
	Requires:   []*analysis.Analyzer{ssaForm, retries, remoteFunctions},
	FactTypes:  []analysis.Fact{new(hurrying)},
	ResultType: reflect.TypeFor[[]*ssa.Call](),
	Run:        runHurriedCalls,
}

// hurrying is a fact about a function: it retries one of its parameters, and waits
// in between for as long as another tells, or not at all.
type hurrying struct {
	Op    int // the index of the parameter that is retried
	Delay int // the index of that which tells how long to wait, or -1
}

// AFact marks a fact.
func (*hurrying) AFact() {}

// String shows the fact to tests.
func (h *hurrying) String() string { return fmt.Sprintf("hurries(%d, after %d)", h.Op, h.Delay) }

func runHurriedCalls(pass *analysis.Pass) (any, error) {
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	network := pass.ResultOf[remoteFunctions].(retryloop.Network)
	helpers := map[*ssa.Function]*hurrying{}
	for _, r := range pass.ResultOf[retries].([]retryloop.Retry) {
		fn, op := r.Call.Parent(), r.Through()
		if delay, ok := r.Hurries(); ok && op.Parent() == fn && helpers[fn] == nil {
			helpers[fn] = &hurrying{slices.Index(fn.Params, op), slices.Index(fn.Params, delay)}
		}
	}
	var found []*ssa.Call
	// A helper may call helpers that come later.
	for grown := true; grown; {
		grown, found = false, nil
		for _, fn := range fns {
			for _, call := range callsOf(fn) {
				h := hurryingCallee(pass, helpers, call)
				if h == nil {
					continue
				}
				var delay ssa.Value
				if h.Delay >= 0 {
					delay = call.Call.Args[h.Delay]
				}
				op := origin(call.Call.Args[h.Op])
				told, _ := delay.(*ssa.Parameter)
				if given, ok := op.(*ssa.Parameter); ok && given.Parent() == fn && (delay == nil || told != nil || isZero(delay)) {
					if helpers[fn] == nil {
						helpers[fn], grown = &hurrying{slices.Index(fn.Params, given), slices.Index(fn.Params, told)}, true
					}
					continue
				}
				if tried := operation(op); tried != nil && network.AsksAtOnce(tried) && !givesUp(op) &&
					(delay == nil || isZero(delay)) {
					found = append(found, call)
				}
			}
		}
	}
	for fn, h := range helpers {
		if fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), h)
		}
	}
	return found, nil
}

func hurryingCallee(pass *analysis.Pass, helpers map[*ssa.Function]*hurrying, call *ssa.Call) *hurrying {
	callee := call.Call.StaticCallee()
	if callee == nil {
		return nil
	}
	if l := libraryOf(&call.Call); l != nil {
		// RL201 says it of one that never stops retrying.
		if _, ctx, _, endless := endlessCall(pass, nil, call); l.atOnce == nil || !l.atOnce(call.Call.Args) ||
			endless && (ctx == nil || retryloop.NeverEnds(ctx)) {
			return nil
		}
		return &hurrying{l.op, -1}
	}
	return helperFact(pass, helpers, callee)
}
