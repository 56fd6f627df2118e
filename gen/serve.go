package gen

import (
	"cmp"
	"fmt"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// served is a bound function or method and its policy.
type served struct {
	policy *emit.Policy
	fn     bind.Func
	symbol string     // as in the policy file, with the method
	pos    policy.Pos // in the policy file
	method string     // name of the method of a bound type, or ""
	step   policy.Step

	use policy.Use

	byPattern bool // no entry of the policy file has the name of the method
}

// isRepeatable reports whether the policy file says that two calls have the effect
// of one.
func (s *served) isRepeatable() bool { return s.use.Idempotent.Repeatable() }

// serve returns how a function of target is served, and reports problems with
// that. recv is the name of its receiver type if that is in this package. The
// policy of use must be defined.
func (r *resolver) serve(use policy.Use, target *bind.Target, recv string, s served) *emit.Use {
	s.policy, s.use = r.policies[use.Policy], use
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
	if has := u.Refuses(); !s.fn.HasError && has != "" && u.Fallback == "" && !s.fn.TakesError {
		r.problem(s.pos, "P904",
			"policy %s has a %s, but no result of %s can hold its refusal: name a fallback, or use a policy "+
				"without a %[2]s",
			s.policy.Name, has, s.symbol)
	}
	u.HedgeField, u.Release = r.hedge(s), r.release(s, target)
	if u.Key {
		r.checkKey(s)
	}
	r.checkLimit(s)
	if u.Retries() {
		if !r.checkCarried(s) {
			r.checkHeld(s)
		}
		r.checkInputs(s)
		r.checkWrite(s)
		r.checkMultiplied(s)
		if u.Check.Name == "" {
			r.checkStatus(s)
		}
	}
	return u
}

// checkKey reports a function to which no idempotency key can be passed.
func (r *resolver) checkKey(s served) {
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

// checkLimit reports a function to which the time limit of the policy cannot
// apply.
func (r *resolver) checkLimit(s served) {
	unlimited := "use a policy without time limits"
	if s.method != "" { // such as Close, which need not be retried with the others
		unlimited += ", or write " + s.method + ": none under methods"
	}
	limit, field := s.policy.AttemptTimeout, "attempt_timeout"
	if s.policy.Timeout > 0 {
		limit, field = s.policy.Timeout, "timeout"
	}
	switch {
	case limit <= 0:
	case s.policy.Durable != nil && !s.fn.TakesContext(): // is reported already
	case s.fn.CtxType != "":
		r.problem(s.pos, "P906",
			"policy %s has a %s, which cannot limit the context of %s, %s: take a context.Context, or %s",
			s.policy.Name, field, s.symbol, s.fn.CtxType, unlimited)
	case !s.fn.TakesContext():
		r.problem(s.pos, "P906",
			"policy %s has a %s, but %s takes no context.Context: add the parameter, or %s",
			s.policy.Name, field, s.symbol, unlimited)
	case s.fn.Stream != "":
		r.problem(s.pos, "P910",
			"%s returns %s, which the %s of policy %s would cut off after the call: bind a function that "+
				"reads it, or use no time limits",
			s.symbol, s.fn.Stream, field, s.policy.Name)
	}
}

// checkStatus reports a function that does not fail with status 503.
func (r *resolver) checkStatus(s served) {
	switch {
	case s.fn.Exchange:
		r.warning(s.pos, "P914",
			"policy %s retries %s, which returns no error for status 503: use an httpretry.Transport, "+
				"or bind a function that checks the status",
			s.policy.Name, s.symbol)
	case s.fn.Status != nil && s.fn.Status.Param != "":
		r.warning(s.pos, "P914",
			"policy %s retries %s, but not for the status in %s: bind a function that returns "+
				"httpretry.CheckStatus(%s%s) if there is no error",
			s.policy.Name, s.symbol, s.fn.Status.Param, s.fn.Status.Param, s.fn.Status.Member)
	case s.fn.Status != nil:
		r.warning(s.pos, "P914",
			"policy %s retries %s, but not for the status in its result %s: write a check",
			s.policy.Name, s.symbol, s.fn.Status.Type)
		r.paste(s.statusCheck())
	}
}

// statusCheck returns the entry of s with a check of the status in its result, and
// the check as a comment.
func (s *served) statusCheck() string {
	status := s.fn.Status
	body := "return httpretry.CheckStatus(r" + status.Member + ")"
	if status.Member == "" {
		body = "if r.IsError() { return an error with the status }; return nil"
	}
	return fmt.Sprintf("# func checkStatus(r %s) error { %s }\n", status.Type, body) + s.entry("checkStatus")
}

// entry returns the line of the policy file that binds s with a check.
func (s *served) entry(check string) string {
	return fmt.Sprintf("%s: {policy: %s, check: %s}\n", cmp.Or(s.method, s.symbol), s.policy.Name, check)
}

// checkHeld reports a builder whose context generated code cannot get, so that the
// end of the context would not end a wait.
func (r *resolver) checkHeld(s served) {
	held := s.fn.Held
	if held == nil || held.Member != "" {
		return
	}
	makes := "makes the call"
	if held.Setter != "" {
		makes = "passes it to " + held.Setter
	}
	r.problem(s.pos, "P906", "policy %s waits between the attempts of %s, but not under the context that %s holds: "+
		"bind a function that takes a context.Context and %s, or %s",
		s.policy.Name, s.symbol, held.Type, makes, s.once())
}

// carried describes, for each state of a receiver, what a method does, what a failed
// attempt of it leaves, and what to bind instead.
var carried = [...]struct{ does, leaves, instead string }{
	bind.Consumed: {"a read", "what a failed attempt has read is lost",
		"bind a function that opens and reads it"},
	bind.Partly: {"a write", "what a failed attempt has written is written again",
		"bind a function that opens and writes it"},
	bind.Transaction: {"a step of a transaction", "after a failure the transaction does not go on",
		"bind a function that runs all of it"},
	bind.Once: {"a run", "a second one fails because of the first, with another error",
		"bind a function that creates what runs"},
	bind.Queue: {"the commands of a queue", "the first attempt empties it, and the next one succeeds without any",
		"bind a function that fills it"},
}

// checkCarried reports a method whose receiver has another state after a failed
// attempt, and returns whether it is one.
func (r *resolver) checkCarried(s served) bool {
	if s.fn.Carried == bind.Stateless || s.isRepeatable() {
		return false
	}
	text := carried[s.fn.Carried]
	r.problem(s.pos, "P925", "policy %s retries %s, %s, but %s: %s, %s, or idempotent: true",
		s.policy.Name, text.does, s.symbol, text.leaves, text.instead, s.once())
	return true
}

// once returns what to write so that s is called once.
func (s *served) once() string {
	if s.method != "" {
		return "write " + s.method + ": none"
	}
	return "use a policy with max_attempts: 1"
}

// checkInputs reports arguments that an attempt uses up and the wrapper cannot
// rewind.
func (r *resolver) checkInputs(s served) {
	reported := map[string]bool{} // one of each kind is enough
	for _, in := range s.fn.Inputs {
		rule, text := inputProblem(in, s)
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

// usedInputs describes, for each kind of input, what a failed attempt leaves of it,
// and what to write instead. The format of the first takes the input.
var usedInputs = map[bind.InputKind]struct{ rule, left, instead string }{
	bind.Seekable: {"P912", "the wrapper cannot rewind %s", "make it a parameter of its own"},
	bind.Request:  {"P912", "the wrapper cannot rewind %s", "make it a parameter of its own"},
	bind.ReadOnce: {"P912", "its first attempt consumes %s", "take []byte or an io.ReadSeeker"},
	bind.Written:  {"P913", "a failed attempt may have written to %s", "write after it succeeded"},
	bind.Batch: {"P913", "a failed attempt may have sent a part of %s",
		"send again what the error lists, write idempotent: true"},
	bind.Begun: {"P913", "after a failed attempt the transaction %s does not go on",
		"bind a function that runs all of it"},
	bind.Channel:  {"P913", "a failed attempt may have used %s", "pass a slice"},
	bind.Sequence: {"P913", "a failed attempt may have consumed %s", "pass a slice"},
}

// inputProblem returns the rule and the text of the problem that a retry of s has
// with an input. They are empty if the wrapper rewinds it, or if the same batch may
// be sent again.
func inputProblem(in bind.Input, s served) (rule, text string) {
	if in.Rewinds() || in.Kind == bind.Batch && s.isRepeatable() {
		return "", ""
	}
	used := usedInputs[in.Kind]
	return used.rule, fmt.Sprintf("policy %s retries %s, but %s: %s, or %s",
		s.policy.Name, s.symbol, fmt.Sprintf(used.left, in.Text), used.instead, s.once())
}
