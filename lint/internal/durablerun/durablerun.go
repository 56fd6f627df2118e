// Package durablerun finds durable runs: the functions that runs execute, the steps that these
// functions call, and the values that the steps depend on.
//
// # Steps
//
// A [Step] is a call that executes a step, or may do so: a call of package durable, of a
// generated wrapper, or of any function that calls a step in the run of its context argument.
// All three are described in the same way: by the values that identify the step in its run, by
// the values that are compared with the record, and by the function that is not executed again.
// A [Fact] describes the steps of a function for packages that import its package. A wrapper
// therefore needs no special treatment.
//
// # Runs
//
// A context belongs to a run if it is a parameter of a function that a run executes, or if a
// caller in the package passes such a context to its function. It belongs to no run if it is
// derived from context.Background, or if it is the context of a request that a server handles.
// Nothing is known about other contexts.
//
// Rules are queries: [Package.IsRepeated], [Package.LacksRun], [Package.Difference],
// [Package.Decisions], [Package.Lost] and [Package.Outlives].
package durablerun

import (
	"go/types"
	"iter"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Package holds the steps and the runs of one package. It must not be used concurrently.
type Package struct {
	Steps []*Step     // in the order of the functions
	Runs  []*Executed // calls that execute a function as a run, or that pass it to such a call

	facts     func(*types.Func) *Fact
	flow      *flow.Program
	summaries map[*ssa.Function]*summary
	policies  map[*ssa.Global]settings
	runs      map[*ssa.Parameter]bool // contexts of runs
	bodies    map[*ssa.Function]bool  // functions that are executed as steps
}

// An Executed is a call with a function argument that is executed with the context of a run.
type Executed struct {
	Call  *ssa.Call
	Fn    ssa.Value // the function
	Units bool      // the function is executed for the units of a group, in the run of the caller
	Waits bool      // the call returns after the function has returned, or its result is recorded
}

// New finds the steps and runs of the functions of a package. facts returns what is known about
// a function of another package, or nil.
func New(fns []*ssa.Function, facts func(*types.Func) *Fact) *Package {
	p := &Package{facts: facts, flow: flow.NewProgram(nil), summaries: map[*ssa.Function]*summary{},
		policies: map[*ssa.Global]settings{}, runs: map[*ssa.Parameter]bool{}, bodies: map[*ssa.Function]bool{}}
	p.readPolicies(fns)
	for _, fn := range fns {
		p.summary(fn)
		for instr := range flow.Instructions(fn.Blocks) {
			if call, ok := instr.(ssa.CallInstruction); ok {
				p.find(call)
			}
		}
	}
	p.findRuns(fns)
	return p
}

// find records the steps and the runs of a call.
func (p *Package) find(call ssa.CallInstruction) {
	for _, s := range p.stepsOf(call) {
		p.Steps = append(p.Steps, s)
		if body := functionOf(s.Body); body != nil {
			p.bodies[body] = true
		}
	}
	value, ok := call.(*ssa.Call)
	if fn := p.runBy(call.Common()); ok && fn != nil {
		obj, _ := flow.StaticCallee(call.Common())
		d := vocab.DurableOf(obj)
		p.Runs = append(p.Runs, &Executed{value, fn, d != nil && d.Needs, d != nil && !d.Later})
	}
}

// functionOf returns the function that a value denotes, or nil. For a method value, it is the
// method.
func functionOf(v ssa.Value) *ssa.Function {
	if v == nil {
		return nil
	}
	return effect.Callee(&ssa.CallCommon{Value: v})
}

// runBy returns the function that a call executes as a run, or nil.
func (p *Package) runBy(call *ssa.CallCommon) ssa.Value {
	obj, fn := flow.StaticCallee(call)
	if obj == nil {
		return nil
	}
	i := 0
	if d := vocab.DurableOf(obj); d != nil {
		i = d.Run
	} else if s := p.summary(fn); s != nil {
		i = s.run
	} else if fact := p.importedFact(obj); fact != nil {
		i = fact.Run
	}
	if i <= 0 || i >= len(call.Args) {
		return nil
	}
	return call.Args[i]
}

// findRuns finds the parameters that are contexts of runs: first those of functions that are
// executed as runs, and then those of the functions that they call.
func (p *Package) findRuns(fns []*ssa.Function) {
	for changed := true; changed; {
		changed = false
		for _, r := range p.Runs {
			if r.Units && p.RunOf(r.Call.Call.Args[0]) != Within {
				continue
			}
			if fn := functionOf(r.Fn); fn != nil && p.mark(contextOf(fn)) {
				changed = true
			}
		}
		for _, fn := range fns {
			for instr := range flow.Instructions(fn.Blocks) {
				if call, ok := instr.(ssa.CallInstruction); ok && p.passOn(call) {
					changed = true
				}
			}
		}
	}
}

// mark records that a parameter is the context of a run, and reports whether this is new.
func (p *Package) mark(ctx *ssa.Parameter) bool {
	if ctx == nil || p.runs[ctx] || p.isInStep(ctx.Parent()) {
		return false
	}
	p.runs[ctx] = true
	return true
}

// passOn marks the parameter that receives the context of a run in a call, and reports whether
// this is new.
func (p *Package) passOn(call ssa.CallInstruction) bool {
	callee := effect.Callee(call.Common())
	if callee == nil || len(callee.Blocks) == 0 || len(callee.Params) != len(call.Common().Args) {
		return false
	}
	ctx := contextOf(callee)
	if ctx == nil || p.runs[ctx] {
		return false
	}
	return p.RunOf(call.Common().Args[slices.Index(callee.Params, ctx)]) == Within && p.mark(ctx)
}

// contextOf returns the first parameter of a function that is a context, or nil.
func contextOf(fn *ssa.Function) *ssa.Parameter {
	if i := slices.IndexFunc(fn.Params, func(p *ssa.Parameter) bool { return vocab.IsContext(p.Type()) }); i >= 0 {
		return fn.Params[i]
	}
	return nil
}

// isInStep reports whether a function, or a function around it, is executed as a step.
func (p *Package) isInStep(fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if p.bodies[fn] {
			return true
		}
	}
	return false
}

// A Membership describes whether a context belongs to a run.
type Membership uint8

// The memberships.
const (
	Unknown Membership = iota
	Within             // it is the context of a run, in at least one execution of its function
	Outside            // it never has a run
	InStep             // it is the context of an attempt of a step, or is used in one
)

// RunOf reports whether a context belongs to a run.
func (p *Package) RunOf(ctx ssa.Value) Membership { return p.runOf(ctx, map[ssa.Value]bool{}) }

func (p *Package) runOf(ctx ssa.Value, seen map[ssa.Value]bool) Membership {
	seen[ctx] = true
	switch root := rootOf(ctx).(type) {
	case *ssa.Phi:
		var all []Membership
		for _, e := range root.Edges {
			if !seen[e] {
				all = append(all, p.runOf(e, seen))
			}
		}
		if all = slices.Compact(all); len(all) == 1 {
			return all[0]
		}
	case *ssa.Parameter:
		switch {
		case p.isInStep(root.Parent()):
			return InStep
		case p.runs[root]:
			return Within
		}
	case *ssa.Call:
		if obj, _ := flow.StaticCallee(&root.Call); obj != nil && hasNoRun(root, obj) {
			return Outside
		}
	}
	return Unknown
}

// derivation yields a context, and then each context from which the previous one was derived
// together with its values.
func derivation(ctx ssa.Value) iter.Seq[ssa.Value] {
	return func(yield func(ssa.Value) bool) {
		for range maxDerivations { // a variable may be derived from itself
			if ctx == nil || !yield(ctx) {
				return
			}
			ctx = parentOf(ctx)
		}
	}
}

// maxDerivations limits how many derivations of a context are followed.
const maxDerivations = 32

// rootOf returns the context at the beginning of a derivation.
func rootOf(ctx ssa.Value) (root ssa.Value) {
	for root = range derivation(ctx) {
	}
	return flow.Source(root, contextSteps)
}

// scopesOf yields the names of the scopes that a context adds to its root.
func scopesOf(ctx ssa.Value) iter.Seq[ssa.Value] {
	return func(yield func(ssa.Value) bool) {
		for ctx := range derivation(ctx) {
			call, ok := flow.Source(ctx, contextSteps).(*ssa.Call)
			if !ok {
				continue
			}
			obj, _ := flow.StaticCallee(&call.Call)
			if obj == nil {
				continue
			}
			if d := vocab.DurableOf(obj); d != nil && d.Scopes && !yield(call.Call.Args[d.ID[0]]) {
				return
			}
		}
	}
}

const contextSteps = flow.Boxed | flow.Renamed | flow.Kept | flow.Captured

// parentOf returns the context from which another one is derived together with its values, or
// nil.
func parentOf(ctx ssa.Value) ssa.Value {
	call, ok := flow.Source(ctx, contextSteps|flow.Unpacked).(*ssa.Call)
	if !ok {
		return nil
	}
	obj, _ := flow.StaticCallee(&call.Call)
	if obj == nil || !vocab.KeepsValues(obj) && !vocab.Of(obj).Is(vocab.Derives) {
		return nil
	}
	if i := slices.IndexFunc(call.Call.Args, func(v ssa.Value) bool { return vocab.IsContext(v.Type()) }); i >= 0 {
		return call.Call.Args[i]
	}
	return nil
}

// hasNoRun reports whether a call returns a context without a run.
func hasNoRun(call *ssa.Call, obj *types.Func) bool {
	switch known := vocab.Of(obj); {
	case known.Is(vocab.Roots):
		return true
	case !known.Is(vocab.Attaches) || len(call.Call.Args) != 1:
		return false
	}
	request, ok := flow.Source(call.Call.Args[0], contextSteps).(*ssa.Parameter)
	return ok && vocab.IsRequest(request.Type()) && slices.ContainsFunc(request.Parent().Params,
		func(p *ssa.Parameter) bool { return vocab.IsResponseWriter(p.Type()) })
}
