package gen

import (
	"fmt"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// served is a function that a policy is to serve.
type served struct {
	policy *emit.Policy
	fn     bind.Func
	symbol string     // as the policy file has it, with the method
	pos    policy.Pos // in the policy file
	method string     // one of several of a bound type, or ""
	step   policy.Step
}

// serve says how fn of target is served, if it can be. recv is its receiver's
// type, if that is of this package. That the policy is defined is known already.
func (r *resolver) serve(use policy.Use, target *bind.Target, recv string, s served) *emit.Use {
	s.policy = r.policies[use.Policy]
	r.wrapped[use.Policy] = true
	u := &emit.Use{Policy: s.policy, Key: use.Idempotent == rules.IdempotentByKey, Fallback: use.Fallback.Name, Unit: -1}
	if s.policy.Durable != nil {
		u.Key = false // every durable step has one
		u.Step = r.step(use, target, s)
	}
	if u.Fallback != "" {
		isMethod, isGeneric, constraint, err := r.unit.pkg.Fallback(u.Fallback, s.fn, target.TypeParams, recv)
		r.constraints = append(r.constraints, constraint)
		if err != nil {
			r.problem(use.Fallback.Pos, "P904", "the fallback of %s: %v", s.symbol, err)
		}
		if u.FallbackMethod = isMethod; isGeneric {
			u.FallbackParams = target.TypeParams
		}
	}
	if use.Check.Name != "" {
		var err error
		u.Check, err = r.unit.pkg.Check(use.Check.Name, s.fn, target.TypeParams)
		r.constraints = append(r.constraints, u.Check.Constraint)
		if err != nil {
			r.problem(use.Check.Pos, "P904", "the check of %s: %v", s.symbol, err)
		}
	}
	if !s.fn.HasError && u.Breaker != "" && u.Fallback == "" && !(s.fn.Command && s.fn.TakesError) {
		r.problem(s.pos, "P904",
			"policy %s has a breaker, but no result of %s can hold its refusal: name a fallback, or use a policy "+
				"without a breaker",
			s.policy.Name, s.symbol)
	}
	if u.Key {
		r.key(s)
	}
	r.limit(s)
	if u.Retries() {
		r.inputs(s)
		if s.fn.Exchange && u.Check.Name == "" {
			r.warning(s.pos, "P914",
				"policy %s retries %s, which returns no error for status 503: use an httpretry.Transport, "+
					"or bind a function that checks the status",
				s.policy.Name, s.symbol)
		}
	}
	return u
}

// key reports a function that cannot be given an idempotency key.
func (r *resolver) key(s served) {
	switch {
	case s.fn.CtxType != "":
		r.problem(s.pos, "P906",
			"idempotent: key puts a key into the context, but that of %s is %s: take a context.Context, or write "+
				"idempotent: true",
			s.symbol, s.fn.CtxType)
	case !s.fn.TakesContext():
		r.problem(s.pos, "P906",
			"idempotent: key puts a key into the context, but %s takes no context.Context: add the parameter, or "+
				"write idempotent: true",
			s.symbol)
	}
}

// limit reports a function on which the policy's time limit cannot be put.
func (r *resolver) limit(s served) {
	limit, field := s.policy.AttemptTimeout, "attempt_timeout"
	if s.policy.Timeout > 0 {
		limit, field = s.policy.Timeout, "timeout"
	}
	switch {
	case limit <= 0:
	case s.policy.Durable != nil && !s.fn.TakesContext(): // is reported already
	case s.fn.CtxType != "":
		r.problem(s.pos, "P906",
			"policy %s has a %s, which cannot be put on the context of %s, %s: take a context.Context, or use a "+
				"policy without time limits",
			s.policy.Name, field, s.symbol, s.fn.CtxType)
	case !s.fn.TakesContext():
		r.problem(s.pos, "P906",
			"policy %s has a %s, but %s takes no context.Context: add the parameter, or use a policy without "+
				"time limits",
			s.policy.Name, field, s.symbol)
	case s.fn.Stream != "":
		r.problem(s.pos, "P910",
			"%s returns %s, which the %s of policy %s would cut off after the call: bind a function that "+
				"reads it, or use no time limits",
			s.symbol, s.fn.Stream, field, s.policy.Name)
	}
}

// inputs reports arguments that the attempts of a call use up, other than those
// that the wrapper rewinds.
func (r *resolver) inputs(s served) {
	reported := map[string]bool{} // one of each kind is enough
	for _, in := range s.fn.Inputs {
		rule, text := input(in, s)
		if rule == "" || reported[rule] {
			continue
		}
		reported[rule] = true
		if rule == "P912" {
			r.problem(s.pos, rule, "%s", text)
		} else {
			r.warning(s.pos, rule, "%s", text)
		}
	}
}

// input says what a retry of s does to an input.
func input(in bind.Input, s served) (rule, text string) {
	once := "use a policy with max_attempts: 1"
	if s.method != "" {
		once = "write " + s.method + ": none"
	}
	switch in.Kind {
	case bind.Seekable, bind.Request:
		if in.Rewinds() {
			return "", ""
		}
		return "P912", fmt.Sprintf(
			"policy %s retries %s, but the wrapper cannot rewind %s: make it a parameter of its own, or %s",
			s.policy.Name, s.symbol, in.Text, once)
	case bind.ReadOnce:
		return "P912", fmt.Sprintf(
			"policy %s retries %s, but its first attempt consumes %s: take []byte or an "+
				"io.ReadSeeker, or %s",
			s.policy.Name, s.symbol, in.Text, once)
	case bind.Written:
		return "P913", fmt.Sprintf(
			"policy %s retries %s, but a failed attempt may have written to %s: write after it succeeded, or "+
				"%s",
			s.policy.Name, s.symbol, in.Text, once)
	case bind.Channel:
		return "P913", fmt.Sprintf(
			"policy %s retries %s, but a failed attempt may have used %s: pass a slice, "+
				"or %s",
			s.policy.Name, s.symbol, in.Text, once)
	default: // bind.Sequence
		return "P913", fmt.Sprintf(
			"policy %s retries %s, but a failed attempt may have consumed %s: pass a slice, or %s",
			s.policy.Name, s.symbol, in.Text, once)
	}
}
