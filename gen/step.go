package gen

import (
	"slices"
	"strings"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
)

// step returns the durable step for calls of s. It reports the problems of a step
// that depend on Go symbols: P906, P916, P917 and P918.
func (r *resolver) step(use policy.Use, target *bind.Target, s served) *emit.Step {
	symbol := target.Name + "." + s.fn.Name
	step := &emit.Step{Idempotent: use.Idempotent, Repeat: s.step.Repeat, Var: emit.StepVar(target.Name, s.fn.Name)}
	if target.Kind == bind.Function {
		symbol, step.Var = s.fn.Name, emit.StepVar(s.fn.Name)
	}
	if s.step.Default {
		s.step.Name.Name = target.Home + "." + symbol
	}
	step.Name, step.Function = s.step.Name.Name, target.Path+"."+symbol
	for _, older := range s.step.Formerly {
		step.Formerly = append(step.Formerly, older.Name)
	}
	for _, id := range s.step.ID {
		step.ID = append(step.ID, id.Name)
		r.checkID(id, target, s)
	}
	if r.claimStepNames(s, step.Function) {
		r.claim(s.pos, step.Var, "the durable step of "+s.symbol, "rename one of the two")
	}
	switch {
	case s.fn.CtxType != "":
		r.problem(s.pos, "P906",
			"policy %s is durable, but the context of an attempt cannot be passed to %s, which takes %s: take a "+
				"context.Context",
			s.policy.Name, s.symbol, s.fn.CtxType)
	case !s.fn.TakesContext():
		r.problem(s.pos, "P906",
			"policy %s is durable, but %s takes no context.Context to identify the run: add the parameter",
			s.policy.Name, s.symbol)
	}
	r.checkResults(s)
	return step
}

// checkResults reports results that cannot be recorded.
func (r *resolver) checkResults(s served) {
	switch {
	case s.fn.Command:
		r.problem(s.pos, "P916",
			"the result of %s holds its error, and cannot be recorded: bind a function that returns the value and "+
				"the error",
			s.symbol)
		return
	case !s.fn.HasError:
		r.problem(s.pos, "P916",
			"policy %s is durable, but no result of %s can hold the error of a call without a run: return an error",
			s.policy.Name, s.symbol)
		return
	}
	for _, result := range s.fn.Results[:len(s.fn.Results)-1] {
		if why := result.NoRecord(); why != "" {
			r.problem(s.pos, "P916", "%s returns %s, which %s: return what JSON writes and reads back",
				s.symbol, result.Plain(), why)
			return
		}
	}
}

// checkID reports a parameter, or a field of the receiver, that cannot be a part of the id of s.
func (r *resolver) checkID(id policy.Symbol, target *bind.Target, s served) {
	if name, ok := strings.CutPrefix(id.Name, policy.ReceiverPrefix); ok {
		switch field, err := target.Field(name); {
		case err != nil:
			r.problem(id.Pos, "P917", "the receiver of %s %v", s.symbol, err)
		case field.NoID() != "":
			r.problem(id.Pos, "P917", "field %s of the receiver of %s %s", name, s.symbol, field.NoID())
		}
		return
	}
	params := s.fn.Params
	i := slices.IndexFunc(params, func(p bind.Param) bool { return p.Name == id.Name })
	switch {
	case i < 0 && id.Name == target.Recv.Name:
		r.problem(id.Pos, "P917", "%s is the receiver of %s: name a parameter, or receiver.FIELD", id.Name, s.symbol)
	case i < 0 && s.method != "":
		r.problem(id.Pos, "P917", "%s has no parameter %s: write the id of the method under methods", s.symbol, id.Name)
	case i < 0:
		var names []string
		for _, p := range params {
			names = append(names, p.Name)
		}
		r.problem(id.Pos, "P917", "%s has no parameter %s%s", s.symbol, id.Name, bind.DidYouMean(id.Name, names))
	case s.fn.Variadic && i == len(params)-1:
		r.problem(id.Pos, "P917", "%s takes any number of %s: an id has one value of each parameter", s.symbol, id.Name)
	default:
		if why := params[i].NoID(); why != "" {
			r.problem(id.Pos, "P917", "parameter %s of %s %s", id.Name, s.symbol, why)
		}
	}
}

// A namedStep is a durable step with its present name.
type namedStep struct {
	name     string
	symbol   string     // the function of the step
	function string     // with its import path
	pos      policy.Pos // of the name in the policy file
}

// claimStepNames reserves the names of a step. If another step has one of them,
// it reports a problem and returns false. The names of the steps of a bound type
// are known only here, since they depend on its methods.
func (r *resolver) claimStepNames(s served, function string) bool {
	step := &namedStep{s.step.Name.Name, s.symbol, function, s.step.Name.Pos}
	for _, name := range append([]policy.Symbol{s.step.Name}, s.step.Formerly...) {
		if other := r.steps[name.Name]; other != nil {
			r.problem(name.Pos, "P918", "%s is a name of the durable step of %s, too: give each step names of its own",
				name.Name, other.symbol)
			return false
		}
		r.steps[name.Name] = step
	}
	return true
}
