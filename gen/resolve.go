package gen

import (
	"fmt"
	"slices"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// resolver brings the bindings of one policy file together with the symbols of
// its package.
type resolver struct {
	unit     *unit
	file     emit.File
	policies map[string]*emit.Policy
	wrapped  map[string]bool
	names    map[string]string // generated so far, and for what
	problems []policy.Problem
}

// resolve judges what needs the Go side: P904 to P906 and P910.
func resolve(u *unit) (emit.File, []policy.Problem) {
	r := resolver{unit: u, policies: map[string]*emit.Policy{}, wrapped: map[string]bool{}, names: map[string]string{}}
	if u.pkg == nil {
		r.problem(policy.Pos{Line: 1, Col: 1}, "P904", "no Go package stands beside this file: put it into the folder of the package that it serves")
		return r.file, r.problems
	}
	r.file = emit.File{Package: u.pkg.Name, Path: u.pkg.Path, Source: SourceName}
	r.file.Taken = func(name string) bool {
		_, taken := u.pkg.Declared(name)
		return taken
	}
	for _, p := range u.file.Policies {
		r.policies[p.Name] = &emit.Policy{Policy: p, Var: emit.VarName(p.Name)}
	}
	for _, b := range u.file.Bindings {
		r.bind(b)
	}
	for _, p := range u.file.Policies {
		r.use(p)
	}
	return r.file, r.problems
}

func (r *resolver) problem(pos policy.Pos, rule, format string, args ...any) {
	r.problems = append(r.problems, policy.Problem{
		File: r.unit.source, Pos: pos, Rule: rule, Severity: rules.Error, Text: fmt.Sprintf(format, args...),
	})
}

// use adds a policy to the file: its variable, and a generic function if
// nothing is bound to it.
func (r *resolver) use(p policy.Policy) {
	one := r.policies[p.Name]
	if !r.wrapped[p.Name] {
		one.Func = emit.FuncName(p.Name)
		r.claim(p.Pos, one.Func, "the generic function of policy "+p.Name, "rename the policy, or bind it to something")
	}
	r.claim(p.Pos, one.Var, "policy "+p.Name, "rename the policy")
	r.file.Policies = append(r.file.Policies, *one)
}

// claim takes a package-level name for generated code.
func (r *resolver) claim(pos policy.Pos, name, what, fix string) {
	if at, taken := r.unit.pkg.Declared(name); taken {
		r.problem(pos, "P904", "%s needs the name %s, which is declared at %s: %s", what, name, at, fix)
	} else if other := r.names[name]; other != "" {
		r.problem(pos, "P904", "%s needs the name %s, which %s has already: %s", what, name, other, fix)
	}
	r.names[name] = what
}

// bind adds the wrapper of one binding.
func (r *resolver) bind(b policy.Binding) {
	target, err := r.unit.pkg.Lookup(b.Symbol)
	if err != nil {
		r.problem(b.Pos, "P904", "%s cannot be bound: %v", b.Symbol, err)
		return
	}
	w := emit.Wrapper{Target: target, Name: emit.WrapperName(target.Name)}
	switch target.Kind {
	case bind.Interface:
		w.New = emit.ConstructorName(w.Name)
		r.methods(b, &w)
		r.claim(b.Pos, w.Name, "the wrapper of "+b.Symbol, "rename one of the two")
		r.claim(b.Pos, w.New, "the constructor of "+w.Name, "rename one of the two")
	case bind.MethodOf:
		w.Name = emit.WrapperName(target.Func.Name)
		if target.Pkg != "" {
			w.Name = emit.WrapperName(target.Name + target.Func.Name)
			r.claim(b.Pos, w.Name, "the wrapper of "+b.Symbol, "rename one of the two")
		} else if at, taken := r.unit.pkg.HasMember(target.Name, w.Name); taken {
			r.problem(b.Pos, "P904", "the wrapper of %s needs the name %s, which %s has at %s: rename one of the two", b.Symbol, w.Name, target.Name, at)
		}
		r.single(b, &w)
	default:
		r.claim(b.Pos, w.Name, "the wrapper of "+b.Symbol, "rename one of the two")
		r.single(b, &w)
	}
	r.file.Wrappers = append(r.file.Wrappers, w)
}

// single gives a function or method its policy.
func (r *resolver) single(b policy.Binding, w *emit.Wrapper) {
	switch {
	case len(b.Methods) > 0:
		r.problem(b.Methods[0].Pos, "P904", "%s is not an interface: methods is for interfaces", b.Symbol)
	case b.Policy == "":
		r.problem(b.Pos, "P904", "%s is bound to no policy: write %s: POLICY", b.Symbol, b.Symbol)
	default:
		w.Policy = r.serve(b.Policy, w.Target.Func, b.Pos, b.Symbol)
	}
}

// methods gives every method of an interface its policy.
func (r *resolver) methods(b policy.Binding, w *emit.Wrapper) {
	said := map[string]policy.Method{}
	for _, m := range b.Methods {
		if !slices.ContainsFunc(w.Target.Methods, func(t bind.Method) bool { return t.Name == m.Name }) {
			r.problem(m.Pos, "P904", "%s has no method %s", b.Symbol, m.Name)
		}
		said[m.Name] = m
	}
	for _, m := range w.Target.Methods {
		by, ok := said[m.Name]
		name, pos := b.Policy, b.Pos
		if ok {
			name, pos = by.Policy, by.Pos
		}
		var one *emit.Policy
		switch {
		case name == "" && !ok && m.HasError:
			r.problem(pos, "P904", "%s.%s returns an error and has no policy: write one under methods, or %s: none", b.Symbol, m.Name, m.Name)
		case name == "" || !ok && !m.HasError:
			// Forwarded as it is.
		case m.Err != "":
			r.problem(pos, "P904", "%s.%s cannot be bound: %s", b.Symbol, m.Name, m.Err)
		default:
			one = r.serve(name, m.Func, pos, b.Symbol+"."+m.Name)
		}
		w.By = append(w.By, one)
	}
}

// serve returns the policy called name if it can serve fn. That it is defined
// is known already.
func (r *resolver) serve(name string, fn bind.Func, pos policy.Pos, symbol string) *emit.Policy {
	p := r.policies[name]
	r.wrapped[name] = true
	limit, field := p.AttemptTimeout, "attempt_timeout"
	if p.Timeout > 0 {
		limit, field = p.Timeout, "timeout"
	}
	switch {
	case limit <= 0:
	case fn.Ctx < 0:
		r.problem(pos, "P906", "policy %s has a %s, but %s takes no context.Context through which to end it: add the parameter, or bind it to a policy without time limits", name, field, symbol)
	case fn.Stream != "":
		r.problem(pos, "P910", "policy %s has a %s, but %s returns a %s, which the end of the limit would cut off while it is read: bind a function that reads it to the end, or use a policy without time limits", name, field, symbol, fn.Stream)
	}
	return p
}
