package durablerun

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Step is a call that executes a step of the run in its context.
type Step struct {
	Call     ssa.CallInstruction
	Context  ssa.Value
	ID       []ssa.Value // the values that identify the step in its run, in addition to the scopes in Context
	Compared []ssa.Value // the values that are recorded, and must be the same in each execution of the run
	Body     ssa.Value   // the function that is not executed again after its success, or nil
	Traits

	of    *Step  // the same step in the summary of the function that Call calls, or before the step was summarized
	cause *Cause // why another package calls it differently in each execution, or nil
}

// Traits contains properties that are true for all calls of a step.
type Traits struct {
	Needs  bool // it fails without a run
	Once   bool // it fails if it is called again after a success
	Always bool // each call of its function executes it, unless the function fails before
	Fixed  bool // only ID identifies the step
}

// A Fact describes a function for the packages that import its package. Parameters are counted
// from the receiver.
type Fact struct {
	Steps []Portable
	Run   int // the index of the parameter with the function that is executed with the context of a run; 0: none
}

// A Portable is a step that a function calls in the run of its context argument.
type Portable struct {
	Context      int
	ID, Compared []int  // indexes of parameters
	Cause        *Cause // why the function calls it differently in each execution, or nil
	Traits
}

// AFact marks Fact as a fact.
func (*Fact) AFact() {}

// A summary contains what is known about a function of the package.
type summary struct {
	fn    *ssa.Function
	steps []*Step // in terms of the parameters of fn, and of the variables that it captures
	run   int     // as in a Fact
}

// maxSteps is the maximum number of steps that are recorded for a function.
const maxSteps = 16

// Fact returns the fact about a function, or nil if it calls no step.
func (p *Package) Fact(fn *ssa.Function) *Fact {
	s := p.summary(fn)
	if s == nil {
		return nil
	}
	f := &Fact{Run: s.run}
	for _, step := range s.steps {
		if ctx := indexes(fn, []ssa.Value{step.Context}); len(ctx) > 0 {
			f.Steps = append(f.Steps, Portable{ctx[0], indexes(fn, step.ID), indexes(fn, step.Compared), p.causeOf(step),
				step.Traits})
		}
	}
	if len(f.Steps) == 0 && f.Run == 0 {
		return nil
	}
	return f
}

// indexes returns the indexes of those parameters of a function that are in values.
func indexes(fn *ssa.Function, values []ssa.Value) (all []int) {
	for _, v := range values {
		if i := slices.IndexFunc(fn.Params, func(p *ssa.Parameter) bool { return p == v }); i >= 0 {
			all = append(all, i)
		}
	}
	return all
}

// importedFact returns the fact about a function of another package, or nil.
func (p *Package) importedFact(obj *types.Func) *Fact {
	if obj == nil || p.facts == nil {
		return nil
	}
	return p.facts(obj.Origin())
}

// stepsOf returns the steps that a call executes.
func (p *Package) stepsOf(call ssa.CallInstruction) []*Step {
	c := call.Common()
	fn := effect.Callee(c)
	if fn == nil {
		return nil
	}
	obj, _ := fn.Object().(*types.Func)
	if obj != nil {
		if d := vocab.DurableOf(obj); d != nil {
			return p.called(call, d)
		}
	}
	if fn.Signature.Recv() != nil && len(c.Args) == fn.Signature.Params().Len() {
		return nil // a method value, which is bound to its receiver
	}
	var steps []*Step
	if s := p.summary(fn); s != nil {
		for _, step := range s.steps {
			steps = append(steps, step.calledBy(call, fn))
		}
	} else if fact := p.importedFact(obj); fact != nil {
		for _, portable := range fact.Steps {
			steps = append(steps, &Step{Call: call, Context: c.Args[portable.Context], ID: pick(c.Args, portable.ID),
				Compared: pick(c.Args, portable.Compared), Traits: portable.Traits, cause: portable.Cause})
		}
	}
	return steps
}

// calledBy returns a step of a function from the perspective of a call of the function.
func (s *Step) calledBy(call ssa.CallInstruction, fn *ssa.Function) *Step {
	given := func(values ...ssa.Value) (all []ssa.Value) {
		for _, v := range values {
			if i := slices.IndexFunc(fn.Params, func(p *ssa.Parameter) bool { return p == v }); i >= 0 {
				v = call.Common().Args[i]
			}
			all = append(all, v)
		}
		return all
	}
	return &Step{Call: call, Context: given(s.Context)[0], ID: given(s.ID...), Compared: given(s.Compared...),
		Traits: s.Traits, of: s}
}

// pick returns the elements of values at the given indexes.
func pick(values []ssa.Value, indexes []int) (picked []ssa.Value) {
	for _, i := range indexes {
		if i < len(values) {
			picked = append(picked, values[i])
		}
	}
	return picked
}

// called returns the step of a call of the durable runtime.
func (p *Package) called(call ssa.CallInstruction, d *vocab.Durable) []*Step {
	args := call.Common().Args
	if d.Scopes || !d.Needs && len(d.ID) == 0 {
		return nil
	}
	s := &Step{Call: call, Context: args[0], ID: pick(args, d.ID), Compared: pick(args, d.Compared),
		Traits: Traits{Needs: d.Needs, Once: d.Once, Always: true, Fixed: len(d.ID) > 0}}
	if d.Step > 0 {
		s.Body = args[d.Step]
	}
	if d.Policy > 0 {
		policy, _ := args[d.Policy].(*ssa.Global)
		set := p.policies[policy]
		s.Once = s.Once && policy != nil && !set.repeatable
		if policy == nil || set.lenient {
			s.Compared = nil
		}
	}
	return []*Step{s}
}

// settings contains what the policy of a generated step allows.
type settings struct {
	repeatable bool
	lenient    bool
}

// readPolicies reads which fields the policies of generated steps set.
func (p *Package) readPolicies(fns []*ssa.Function) {
	for _, fn := range fns {
		if fn.Object() != nil || fn.Parent() != nil {
			continue // this is not the function that initializes the package variables
		}
		for instr := range flow.Instructions(fn.Blocks) {
			store, ok := instr.(*ssa.Store)
			if !ok {
				continue
			}
			if policy, ok := store.Addr.(*ssa.Global); ok {
				p.policies[policy] = settingsOf(flow.Source(store.Val, flow.Loaded))
			}
		}
	}
}

// settingsOf reads which fields a struct literal sets.
func settingsOf(literal ssa.Value) (set settings) {
	for _, ref := range flow.Refs(literal) {
		if field, ok := ref.(*ssa.FieldAddr); ok && flow.FieldOf(field) != nil && flow.UseOf(field)&flow.Assigned != 0 {
			name := flow.FieldOf(field).Name()
			set.repeatable = set.repeatable || vocab.IsRepeatable(name)
			set.lenient = set.lenient || vocab.IsLenient(name)
		}
	}
	return set
}

// summary returns the summary of a function of the package, or nil for other functions.
func (p *Package) summary(fn *ssa.Function) *summary {
	if fn == nil || len(fn.Blocks) == 0 {
		return nil
	}
	if s := p.summaries[fn]; s != nil {
		return s // in a recursion, this is what is known so far
	}
	s := &summary{fn: fn}
	p.summaries[fn] = s
	for instr := range flow.Instructions(fn.Blocks) {
		call, ok := instr.(*ssa.Call)
		if !ok {
			continue
		}
		if run, ok := p.runBy(&call.Call).(*ssa.Parameter); ok {
			s.run = slices.Index(fn.Params, run)
		}
		for _, step := range p.stepsOf(call) {
			if within := p.within(step, fn); within != nil && len(s.steps) < maxSteps {
				s.steps = append(s.steps, within)
			}
		}
	}
	return s
}

// within returns a step from the perspective of its function's callers, or nil if the function
// creates the step's context.
func (p *Package) within(s *Step, fn *ssa.Function) *Step {
	id := p.trace(s.ID...)
	id.all(slices.Collect(scopesOf(s.Context))...)
	context := rootOf(s.Context)
	if request, ok := context.(*ssa.Call); ok && len(request.Call.Args) == 1 {
		context = request.Call.Args[0] // the request that has the context
	}
	if i, ok := context.(ssa.Instruction); ok && i.Parent() == fn {
		return nil
	}
	t := s.Traits
	t.Always = t.Always && isAlwaysCalled(s.Call)
	t.Fixed = t.Fixed && id.isKnown && flow.Around(s.Call) == nil
	return &Step{Call: s.Call, Context: context, ID: id.leaves(), Compared: p.trace(s.Compared...).leaves(), Traits: t,
		of: s}
}

// isAlwaysCalled reports whether a function returns without making a call only if something
// else has failed.
func isAlwaysCalled(call ssa.CallInstruction) bool {
	fn := call.Parent()
	if call.Block() == fn.Blocks[0] {
		return true
	}
	without := flow.Reachable(fn.Blocks[0], func(b *ssa.BasicBlock, k int) bool { return b.Succs[k] != call.Block() })
	for ret := range flow.Returns(fn) {
		if without[ret.Block()] && !hasFailed(ret) {
			return false
		}
	}
	return true
}

// hasFailed reports whether a return instruction is executed only after a failure, and returns
// its error.
func hasFailed(ret *ssa.Return) bool {
	if len(ret.Results) == 0 {
		return false
	}
	err := ret.Results[len(ret.Results)-1]
	for b := ret.Block(); b != nil; b = b.Idom() {
		if flow.IsError(err.Type()) && flow.IsFailure(err, b) {
			return true
		}
	}
	return false
}

// Name returns the name of the function that the call of a step calls.
func (s *Step) Name() string {
	if fn := effect.Callee(s.Call.Common()); fn != nil {
		if fn.Object() != nil {
			return fn.Object().Name()
		}
		if name, _, literal := strings.Cut(fn.Name(), "$"); !literal {
			return name
		}
	}
	return "this function"
}
