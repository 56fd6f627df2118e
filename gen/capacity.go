package gen

import (
	"cmp"
	"slices"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
)

// This file collects what limits attempts, and decides what can be hedged.

// ruleHedge is the rule about functions that cannot be hedged.
const ruleHedge = "P927"

// gates collects the limiters, rates and throttles that policies use.
func (r *resolver) gates(uses func(func(*emit.Policy) bool) bool) {
	file := r.unit.file
	for _, l := range file.Concurrency {
		if uses(func(p *emit.Policy) bool { return p.Concurrency == l.Name }) {
			r.part(l.Pos, "concurrency limit "+l.Name, l.From, emit.Part{
				Field: emit.LimiterField(l.Name), Pkg: emit.CapacityPath, Type: "Limiter", Settings: l.LimiterPolicy,
			})
		}
	}
	for _, rate := range file.Rates {
		if uses(func(p *emit.Policy) bool { return p.Rate == rate.Name }) {
			r.part(rate.Pos, "rate "+rate.Name, rate.From, emit.Part{
				Field: emit.RateField(rate.Name), Pkg: emit.CapacityPath, Type: "Rate", Settings: rate.RatePolicy,
				Store: rate.Store,
			})
		}
	}
	for _, t := range file.Throttles {
		if uses(func(p *emit.Policy) bool { return p.Throttle == t.Name }) {
			r.part(t.Pos, "throttle "+t.Name, t.From, emit.Part{
				Field: emit.ThrottleField(t.Name), Pkg: emit.CapacityPath, Type: "Throttle", Settings: t.ThrottlePolicy,
			})
		}
	}
}

// part adds something that calls share, and claims its name in the type Shared.
func (r *resolver) part(pos policy.Pos, what string, from policy.Symbol, part emit.Part) {
	r.claim(pos, emit.SharedType+"."+part.Field, what, "rename one of the two")
	if part.From = r.from(from, part.Pkg, part.Type); part.From != nil {
		part.Settings = nil
	}
	r.file.Parts = append(r.file.Parts, part)
}

// onlyLimited reports whether a limit that does not change is all that may refuse an
// attempt of a policy.
func (r *resolver) onlyLimited(p *policy.Policy) bool {
	return p.Breaker == "" && p.Rate == "" && p.Throttle == "" &&
		slices.ContainsFunc(r.unit.file.Concurrency, func(l policy.Limiter) bool {
			return l.Name == p.Concurrency && l.Target == 0 && l.From.Name == ""
		})
}

// release returns the function that releases the results of s that are not used.
func (r *resolver) release(s served, target *bind.Target) (release bind.Check) {
	if s.use.Release.Name == "" {
		return release
	}
	release, err := r.unit.pkg.Release(s.use.Release.Name, s.fn, target.TypeParams)
	r.constraints = append(r.constraints, release.Constraint)
	if err != nil {
		r.problem(s.use.Release.Pos, "P904", "the release of %s: %v", s.symbol, err)
	}
	return release
}

// hedge returns the name of the hedge of a function, and adds it to what calls share. It
// returns "" if the policy has none, or if the function cannot be hedged, which it
// reports.
func (r *resolver) hedge(s served) string {
	if s.policy.Hedge == nil || s.policy.Durable != nil {
		if release := s.use.Release; release.Name != "" {
			r.problem(release.Pos, "P109",
				"release is not read without hedge, and policy %s has none: remove it, or use another policy", s.policy.Name)
		}
		return ""
	}
	if why, instead := s.notHedged(); why != "" {
		r.problem(s.pos, ruleHedge, "policy %s hedges %s, %s: %s, or use a policy without hedge",
			s.policy.Name, s.symbol, why, instead)
		return ""
	}
	settings := *s.policy.Hedge
	settings.Name = s.symbol
	field := emit.HedgeField(s.symbol)
	r.part(s.pos, "the hedge of "+s.symbol, policy.Symbol{},
		emit.Part{Field: field, Pkg: emit.HedgePath, Type: "Hedge", Settings: settings})
	return field
}

// notHedged returns why a function cannot be hedged, and what to bind instead. Both
// requests are made at the same time, so that they must share nothing that either
// changes; the context of the slower one ends; and one of two results is dropped.
func (s *served) notHedged() (why, instead string) {
	fn := &s.fn
	switch {
	case fn.Ctx < 0 || fn.CtxType != "":
		return "but the function has no context.Context with which to end the second request", "add the parameter"
	case !fn.HasError:
		return "but the function returns no error that shows whether a request has failed",
			"bind a function that returns an error"
	case fn.Stream != "":
		return "but the result " + fn.Stream + " uses the context after the call", "bind a function that reads it"
	case fn.Closes != "" && s.use.Release.Name == "":
		return "and nothing would close the " + fn.Closes + " of the request that is not used", "write release: FUNCTION"
	case fn.Carried != bind.Stateless:
		return "and both requests would change its receiver at the same time", "bind a function that makes its own"
	case len(fn.Inputs) > 0:
		return "and both requests would use " + cmp.Or(fn.Inputs[0].Text, "its argument") + " at the same time",
			"bind a function that makes its own"
	}
	return "", ""
}
