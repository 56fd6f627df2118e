package lint

import (
	"fmt"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// contextLimit is a fact about a function: the context that it returns has a
// timeout, whatever it is given.
type contextLimit struct {
	Index   int // of the result
	Timeout time.Duration
}

// AFact marks a fact.
func (*contextLimit) AFact() {}

// String shows the fact to tests.
func (l *contextLimit) String() string { return fmt.Sprintf("limits(%d, %v)", l.Index, l.Timeout) }

// result returns the limit of a context that a function of ours makes.
func (f timeoutFlow) result(call *ssa.Call, index int, open map[ssa.Value]bool) (limit, bool) {
	callee := call.Call.StaticCallee()
	if callee == nil {
		return limit{}, false
	}
	if len(callee.Blocks) > 0 {
		l, ok := f.returned(callee, index, open)
		return limit{l.d, call.Pos()}, ok
	}
	var fact contextLimit
	if callee.Object() == nil || !f.pass.ImportObjectFact(callee.Object(), &fact) || fact.Index != index {
		return limit{}, false
	}
	return limit{fact.Timeout, call.Pos()}, true
}

// returned returns the limit of a result, whichever return it comes from.
func (f timeoutFlow) returned(fn *ssa.Function, index int, open map[ssa.Value]bool) (limit, bool) {
	var values []ssa.Value
	for ret := range flow.Returns(fn) {
		values = append(values, ret.Results[index])
	}
	return f.greatest(values, open)
}

// exportLimits tells importing packages of the contexts that functions return.
func (f timeoutFlow) exportLimits(fns []*ssa.Function) {
	for _, fn := range fns {
		if fn.Object() == nil || fn.Object().Pkg() != f.pass.Pkg || !fn.Object().Exported() {
			continue
		}
		for i := range fn.Signature.Results().Len() {
			if !vocab.IsContext(fn.Signature.Results().At(i).Type()) {
				continue
			}
			if l, ok := f.returned(fn, i, map[ssa.Value]bool{}); ok {
				f.pass.ExportObjectFact(fn.Object(), &contextLimit{i, l.d})
			}
		}
	}
}
