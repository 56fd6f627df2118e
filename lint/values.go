package lint

import (
	"go/constant"
	"go/types"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// elements returns the values in a slice of variadic arguments.
func elements(v ssa.Value) (found []ssa.Value) {
	slice, ok := v.(*ssa.Slice)
	if !ok {
		return nil
	}
	for _, ref := range flow.Refs(slice.X) {
		if at, ok := ref.(*ssa.IndexAddr); ok {
			for _, use := range *at.Referrers() {
				if store, ok := use.(*ssa.Store); ok {
					found = append(found, store.Val)
				}
			}
		}
	}
	return found
}

// origin returns the original of a value that was converted, or stored in a variable that is
// assigned only once.
func origin(v ssa.Value) ssa.Value { return flow.Source(v, flow.Boxed|flow.Renamed|flow.Kept) }

// isZero reports whether v is the number 0.
func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && (c.Value.Kind() == constant.Int || c.Value.Kind() == constant.Float) &&
		constant.Sign(c.Value) == 0
}

// isCallOf reports whether v is a call of a function with one of the names in the package at
// path.
func isCallOf(v ssa.Value, path string, names ...string) bool {
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	fn, _ := flow.StaticCallee(&call.Call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == path && slices.Contains(names, fn.Name())
}

// isRootContext reports whether a call creates a context that is not derived from another one.
func isRootContext(call *ssa.Call) bool {
	return flow.Known(&call.Call).Is(vocab.Roots) && len(call.Call.Args) == 0
}

// durationOf returns the constant number of nanoseconds of a value, if it is constant.
func durationOf(v ssa.Value) (time.Duration, bool) {
	d, ok := flow.IntOf(v)
	return time.Duration(d), ok && flow.IsBasic(v.Type(), types.IsInteger)
}
