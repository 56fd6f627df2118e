package lint

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// SharedBackOff reports stateful backoffs that calls share (RL208).
var SharedBackOff = newRule("sharedbackoff", runSharedBackOff, []string{"RL208"}, ssaForm)

func runSharedBackOff(pass *analysis.Pass, r *report) {
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	for _, fn := range fns {
		for _, call := range callsOf(fn) {
			p, file := planOf(&call.Call), handwritten(pass, call.Pos())
			if p == nil || file == nil || !p.isShared(call, fns, pass.Pkg.Name() != "main") {
				continue
			}
			text := "all calls share this backoff, which is never reset: create one for each call"
			if p.Resets {
				text = "concurrent calls share this backoff, and each resets it: create one for each call"
			}
			r.at(callStart(file, call.Pos()), call.Pos(), Library, "RL208", "%s", text)
		}
	}
}

// isShared reports whether other calls use a stateful part of this call's policy. If each call
// resets the state, only concurrent calls matter. Functions of a library may be called
// concurrently.
func (p *plan) isShared(call *ssa.Call, fns []*ssa.Function, library bool) bool {
	if slices.ContainsFunc(p.variables, func(variable ssa.Value) bool {
		_, global := variable.(*ssa.Global)
		return (!p.Resets || global && library) && !isOnce(call) && isStateful(fns, variable)
	}) {
		return true
	}
	return slices.ContainsFunc(p.stateful, func(part ssa.Value) bool {
		switch made := part.(ssa.Instruction); made.Parent() {
		case call.Parent():
			loop := flow.Around(call)
			return !p.Resets && (loop != nil && !loop.Has(made.Block()) || isUsedBefore(part, call))
		case call.Parent().Parent():
			return isStartedAgain(call.Parent(), made)
		}
		return false
	})
}

// isUsedBefore reports whether every path to a call contains another call that uses the same
// stateful part of a policy.
func isUsedBefore(part ssa.Value, call *ssa.Call) bool {
	return slices.ContainsFunc(callsOf(call.Parent()), func(earlier *ssa.Call) bool {
		p := planOf(&earlier.Call)
		return p != nil && earlier != call && slices.Contains(p.stateful, part) && flow.Precedes(earlier, call)
	})
}

// isOnce reports whether a call is made only once, when the program starts.
func isOnce(call *ssa.Call) bool {
	name := call.Parent().Name()
	return call.Parent().Signature.Recv() == nil &&
		(name == "main" || name == "init" || strings.HasPrefix(name, "init#")) && flow.Around(call) == nil
}

// isStartedAgain reports whether a loop starts goroutines with a function literal, by a go
// statement or a method named Go, after the value made was created before the loop.
func isStartedAgain(fn *ssa.Function, made ssa.Instruction) bool {
	isLiteral := func(v ssa.Value) bool {
		c, ok := v.(*ssa.MakeClosure)
		return ok && c.Fn == fn
	}
	for start := range startedBy(made.Parent()) {
		callee, _ := flow.StaticCallee(start.Common())
		if _, ok := start.(*ssa.Go); !(ok && isLiteral(start.Common().Value)) &&
			!(callee != nil && callee.Name() == "Go" && slices.ContainsFunc(start.Common().Args, isLiteral)) {
			continue
		}
		if loop := flow.Around(start); loop != nil && !loop.Has(made.Block()) {
			return true
		}
	}
	return false
}

// isStateful reports whether every known value that functions store in a variable or field
// keeps state between calls.
func isStateful(fns []*ssa.Function, variable ssa.Value) bool {
	counts := false
	for _, fn := range fns {
		for instr := range flow.Instructions(fn.Blocks) {
			store, ok := instr.(*ssa.Store)
			if !ok || !isSameVariable(store.Addr, variable) {
				continue
			}
			s := newSettings()
			if s.read(store.Val); len(s.stateful) == 0 && len(s.variables) == 0 {
				return false
			}
			counts = counts || len(s.stateful) > 0
		}
	}
	return counts
}

// isSameVariable reports whether two addresses refer to the same package variable or the same
// field.
func isSameVariable(a, b ssa.Value) bool {
	x, ok := a.(*ssa.FieldAddr)
	y, also := b.(*ssa.FieldAddr)
	return a == b || ok && also && flow.FieldOf(x) == flow.FieldOf(y)
}
