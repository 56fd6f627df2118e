package gen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// resolver resolves the bindings of one policy file to the symbols of its
// package.
type resolver struct {
	unit     *unit
	file     emit.File
	policies map[string]*emit.Policy
	wrapped  map[string]bool
	steps    map[string]*namedStep // by their current and older names
	names    map[string]string     // purpose of each generated name
	bound    []Bound
	coverage []Coverage
	problems []policy.Problem

	constraints []string // build constraints of the symbols that the output refers to
}

// resolve resolves a unit, and returns the resolver with the results. It reports
// the problems that depend on Go symbols: P904, P906, P910, P912 to P914, P916 to
// P918, P921, P925 to P927, and P930.
func resolve(u *unit) *resolver {
	r := &resolver{
		unit: u, policies: map[string]*emit.Policy{}, wrapped: map[string]bool{}, steps: map[string]*namedStep{},
		names: map[string]string{},
	}
	r.file = emit.File{Package: u.pkg.Name, Path: u.pkg.Path, Source: SourceName, Text: string(u.text)}
	r.file.Taken = u.pkg.Taken
	for _, p := range u.file.Policies {
		r.policies[p.Name] = r.policy(p)
	}
	if n := u.file.Amplification; n != rules.DefaultAmplification {
		r.file.Amplification = n
		r.claim(policy.Pos{Line: 1, Col: 1}, emit.AmplificationConst, "limits.amplification", "rename it")
	}
	r.errors()
	r.grpc()
	r.clients()
	r.shared()
	for _, b := range u.file.Bindings {
		r.bind(b)
	}
	r.claimShared()
	if r.file.HasSteps() {
		for _, g := range u.file.Groups { // for durable.Group, whose units no binding names
			r.group(g.GroupPolicy.Name)
		}
	}
	if r.file.HasSteps() && r.file.NamesErrors() {
		r.claim(u.file.Errors[0].Pos, emit.StepErrors, "the list of errors of durable steps", "rename it")
	}
	if len(u.file.Policies) > 0 {
		r.claim(policy.Pos{Line: 1, Col: 1}, emit.PoliciesFunc, "the list of policies", "rename it")
	}
	for _, p := range u.file.Policies {
		r.addPolicy(p)
	}
	if r.file.HasLive() {
		r.claim(policy.Pos{Line: 1, Col: 1}, emit.LiveFunc, "the list of policies that may change", "rename it")
		r.claim(policy.Pos{Line: 1, Col: 1}, emit.TextVar, "the text of the policy file", "rename it")
	}
	r.file.Constraint = bind.And(r.constraints...)
	r.hints()
	r.problems = u.file.Suppress(r.problems)
	return r
}

// policy returns a policy as the file declares it, without a budget that a group
// counts. Durable steps use breakers and budgets in a store by their records.
func (r *resolver) policy(p policy.Policy) *emit.Policy {
	file := r.unit.file
	if file.Counts(p.Budget) {
		p.Budget = ""
	}
	one := &emit.Policy{Policy: p, Var: emit.VarName(p.Name), OnlyLimited: r.onlyLimited(&p)}
	if p.Durable == nil {
		return one
	}
	if slices.ContainsFunc(file.Breakers, func(b policy.Breaker) bool { return b.Store && b.Name == p.Breaker }) {
		one.Breaker, one.StoredBreaker = "", p.Breaker
	}
	if slices.ContainsFunc(file.Budgets, func(b policy.Budget) bool { return b.Store && b.Name == p.Budget }) {
		one.Budget, one.StoredBudget = "", p.Budget
	}
	return one
}

// errors finds the Go symbols of the file's error classes, where a policy needs
// them.
func (r *resolver) errors() {
	if !r.unit.file.NeedsErrors() {
		return
	}
	r.claim(r.unit.file.Errors[0].Pos, emit.ClassesVar, "the list of error classes", "rename it")
	for _, c := range r.unit.file.Errors {
		class := emit.ErrorClass{ErrorClass: c}
		find := func(list []policy.Symbol, lookup func(string) (bind.Ref, error)) (refs []bind.Ref) {
			for _, s := range list {
				ref, err := lookup(s.Name)
				if err != nil {
					r.problem(s.Pos, "P904", "%s cannot be used: %v", s.Name, err)
				}
				refs = append(refs, ref)
				r.constraints = append(r.constraints, ref.Constraint)
			}
			return refs
		}
		class.IsRefs, class.AsRefs = find(c.Is, r.unit.pkg.ErrorVar), find(c.As, r.unit.pkg.ErrorType)
		for _, path := range emit.GRPCPackages {
			if len(c.GRPC) == 0 {
				break
			}
			if err := r.unit.pkg.Has(path); err != nil {
				r.problem(c.GRPC[0].Pos, "P904", "gRPC codes cannot be used: %v", err)
				break
			}
		}
		if len(c.GRPC) > 0 && !r.file.GRPC {
			r.file.GRPC = true
			r.claim(c.Pos, emit.CodesFunc, "the test for gRPC codes", "rename it")
		}
		r.file.Errors = append(r.file.Errors, class)
	}
}

// grpc decides whether policies classify errors by gRPC status codes: in every
// package whose errors may have them, since it or something that it binds
// depends on gRPC.
func (r *resolver) grpc() {
	others := slices.DeleteFunc(slices.Clone(r.unit.foreign), func(path string) bool {
		return slices.Contains(emit.GRPCPackages, path)
	})
	if !r.file.GRPC && len(r.unit.file.Policies) > 0 {
		r.file.GRPC = r.unit.pkg.DependsOn(emit.GRPCStatus, others)
	}
	if r.file.GRPC {
		r.file.RetryInfo = r.unit.pkg.CanImport(emit.RetryInfo, others)
		r.claim(policy.Pos{Line: 1, Col: 1}, emit.GRPCReader, "the reader of gRPC errors", "rename it")
	}
}

// shared collects the breakers and budgets that policies use.
func (r *resolver) shared() {
	uses := func(is func(*emit.Policy) bool) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(r.policies)), is)
	}
	for _, b := range r.unit.file.Breakers {
		if uses(func(p *emit.Policy) bool { return p.StoredBreaker == b.Name }) {
			r.claim(b.Pos, emit.BreakerVar(b.Name), "breaker "+b.Name, "rename one of the two")
			r.file.StoredBreakers = append(r.file.StoredBreakers, b)
		}
		if uses(func(p *emit.Policy) bool { return p.Breaker == b.Name }) {
			r.claim(b.Pos, emit.SharedType+"."+emit.BreakerField(b.Name), "breaker "+b.Name, "rename one of the two")
			from := r.from(b.From, emit.BreakerPath, "Breaker")
			r.file.Breakers = append(r.file.Breakers, emit.Breaker{Breaker: b, From: from})
		}
	}
	for _, b := range r.unit.file.Budgets {
		if uses(func(p *emit.Policy) bool { return p.StoredBudget == b.Name }) {
			r.claim(b.Pos, emit.BudgetVar(b.Name), "budget "+b.Name, "rename one of the two")
			r.file.StoredBudgets = append(r.file.StoredBudgets, b)
		}
		if uses(func(p *emit.Policy) bool { return p.Budget == b.Name }) {
			r.claim(b.Pos, emit.SharedType+"."+emit.BudgetField(b.Name), "budget "+b.Name, "rename one of the two")
			from := r.from(b.From, emit.BudgetPath, "Budget")
			r.file.Budgets = append(r.file.Budgets, emit.Budget{Budget: b, From: from})
		}
	}
	r.gates(uses)
}

// claimShared claims the names of the set of all that calls share.
func (r *resolver) claimShared() {
	if !r.file.HasShared() {
		return
	}
	for _, name := range []string{emit.SharedType, emit.SharedNew, emit.SharedDefault} {
		r.claim(policy.Pos{Line: 1, Col: 1}, name, "the set of all that calls share", "rename it")
	}
}

// from finds the Go variable that holds a shared breaker or budget. Its type is
// typ of the package at path. It returns nil if s is empty.
func (r *resolver) from(s policy.Symbol, path, typ string) *bind.Ref {
	if s.Name == "" {
		return nil
	}
	ref, err := r.unit.pkg.SharedVar(s.Name, path, typ, emit.Constructor(path, typ), typ == "Breaker")
	if err != nil {
		r.problem(s.Pos, "P904", "%s cannot be shared: %v", s.Name, err)
	}
	r.constraints = append(r.constraints, ref.Constraint)
	return &ref
}

// group returns a group, and adds it to the file. It returns nil if the name is
// empty.
func (r *resolver) group(name string) *emit.Group {
	if name == "" {
		return nil
	}
	for i := range r.file.Groups {
		if r.file.Groups[i].GroupPolicy.Name == name {
			return &r.file.Groups[i]
		}
	}
	for _, g := range r.unit.file.Groups {
		if g.GroupPolicy.Name == name {
			one := emit.Group{Group: g, Name: emit.GroupName(name)}
			one.New = emit.ConstructorName(one.Name)
			if r.claim(g.Pos, one.Name, "the type of group "+name, "rename the group") {
				r.claim(g.Pos, one.New, "the constructor of group "+name, "rename the group")
			}
			r.file.Groups = append(r.file.Groups, one)
		}
	}
	return &r.file.Groups[len(r.file.Groups)-1]
}

// problem reports an error at pos.
func (r *resolver) problem(pos policy.Pos, rule, format string, args ...any) {
	r.report(pos, rule, rules.Error, fmt.Sprintf(format, args...))
}

// warning reports a warning at pos.
func (r *resolver) warning(pos policy.Pos, rule, format string, args ...any) {
	r.report(pos, rule, rules.Warning, fmt.Sprintf(format, args...))
}

// note reports a note at pos.
func (r *resolver) note(pos policy.Pos, rule, format string, args ...any) {
	r.report(pos, rule, rules.Info, fmt.Sprintf(format, args...))
}

// report reports a problem at pos.
func (r *resolver) report(pos policy.Pos, rule string, severity rules.Severity, text string) {
	r.problems = append(r.problems,
		policy.Problem{File: r.unit.source, Pos: pos, Rule: rule, Severity: severity, Text: text})
}

// paste adds lines of the policy file to the last problem.
func (r *resolver) paste(lines string) { r.problems[len(r.problems)-1].Paste = lines }

// addPolicy adds a policy to the file: its variable, and a generic function if
// nothing is bound to it.
func (r *resolver) addPolicy(p policy.Policy) {
	one := r.policies[p.Name]
	if !r.wrapped[p.Name] && (r.unit.file.Counts(p.Budget) || p.Durable != nil) {
		return // only a base for other policies: it needs a group or a step id
	}
	free := r.claim(p.Pos, one.Var, "policy "+p.Name, "rename the policy")
	if !r.wrapped[p.Name] {
		one.Func = emit.FuncName(p.Name)
		if p.Hedge != nil {
			r.problem(p.Pos, ruleHedge,
				"policy %s hedges, but no function is bound to it: bind one, since the durations of its attempts decide when "+
					"a second request is made", p.Name)
		}
		if free {
			r.claim(p.Pos, one.Func, "the generic function of policy "+p.Name, "rename the policy, or bind it to something")
		}
		r.addBound(Bound{Policy: p.Name, Wrapper: one.Func}, nil, p.Pos)
	}
	r.file.Policies = append(r.file.Policies, *one)
}

// addBound records a generated wrapper or function for a binding or a policy at
// pos. use is nil for calls without a policy and for generic functions.
func (r *resolver) addBound(b Bound, use *emit.Use, pos policy.Pos) {
	if use != nil && use.Step != nil {
		b.Step = use.Step.Name
	}
	b.At = fmt.Sprintf("%s:%d:%d", r.unit.source, pos.Line, pos.Col)
	r.bound = append(r.bound, b)
}

// claim reserves a package-level name for generated code. If the name is taken,
// claim reports a problem and returns false; callers then skip names that are
// derived from it, to report one problem only.
func (r *resolver) claim(pos policy.Pos, name, what, fix string) bool {
	clash, taken := r.unit.pkg.Clash(name)
	if other := r.names[name]; !taken && other != "" {
		clash, taken = other+" has already", true
	}
	if taken {
		r.problem(pos, "P904", "%s needs the name %s, which %s: %s", what, name, clash, fix)
	}
	r.names[name] = what
	return !taken
}
