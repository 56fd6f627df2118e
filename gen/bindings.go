package gen

import (
	"errors"
	"go/types"
	"slices"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
)

// This file finds what bindings name, and claims the names of its wrappers.

// bind adds the wrapper of one binding.
func (r *resolver) bind(b policy.Binding) {
	target, ok := r.lookup(b)
	if !ok {
		return
	}
	r.constraints = append(r.constraints, target.Constraint)
	w := emit.Wrapper{Target: target, Name: emit.WrapperName(target.Name), Group: r.group(b.Group.Name)}
	switch {
	case w.Group != nil && target.IsWhole():
		r.problem(b.Group.Pos, "P904", "%s is a whole type: a group serves functions and methods", b.Symbol)
		return
	case w.Group != nil:
		r.bindInGroup(b, &w)
		return
	case target.IsWhole():
		r.bindType(b, &w)
	case target.Kind == bind.MethodOf:
		r.bindMethod(b, &w)
	default:
		r.claim(b.Pos, w.Name, "the wrapper of "+b.Symbol, renaming(target))
		r.bindSingle(b, &w, w.Name)
	}
	r.checkTypeParams(b, w)
	r.file.Wrappers = append(r.file.Wrappers, w)
}

// lookup returns the symbol of a binding. It reports why the symbol cannot be bound.
func (r *resolver) lookup(b policy.Binding) (target *bind.Target, ok bool) {
	target, err := r.unit.pkg.Lookup(b.Symbol)
	if err != nil {
		pos := b.Pos
		if of, ok := errors.AsType[*bind.MethodError](err); ok {
			if entry, _ := b.MethodFor(of.Method); entry != nil {
				pos = entry.Pos
			}
		}
		r.problem(pos, "P904", "%s cannot be bound: %v", b.Symbol, err)
		return nil, false
	}
	if why := target.Func.NoFailure; !target.IsWhole() && why != "" && b.Check.Name == "" {
		r.problem(b.Pos, "P904", "%s cannot be bound: %s", b.Symbol, why)
		return nil, false
	}
	return target, true
}

// renaming says what to do if the wrapper of a target needs a name that is taken.
func renaming(target *bind.Target) string {
	if target.Pkg != "" {
		return "bind one of the two in another package"
	}
	return "rename one of the two"
}

// bindType claims the names of the decorator of a type, and sets the policies of its
// methods.
func (r *resolver) bindType(b policy.Binding, w *emit.Wrapper) {
	w.New = emit.ConstructorName(w.Name)
	r.serveMethods(b, w)
	fix := renaming(w.Target)
	free := r.claim(b.Pos, w.Name, "the wrapper of "+b.Symbol, fix) &&
		r.claim(b.Pos, w.New, "the constructor of "+w.Name, fix)
	if w.Target.Kind != bind.Concrete {
		return
	}
	w.Iface = emit.MethodsName(w.Target.Name)
	if free {
		r.claim(b.Pos, w.Iface, "the interface with the methods of "+b.Symbol, fix)
	}
}

// bindMethod claims the name of the wrapper of one method, which is a method itself
// if this package declares the type.
func (r *resolver) bindMethod(b policy.Binding, w *emit.Wrapper) {
	target := w.Target
	if target.Pkg != "" {
		w.Name = emit.WrapperName(target.Name + target.Func.Name)
		r.claim(b.Pos, w.Name, "the wrapper of "+b.Symbol, renaming(target))
		r.bindSingle(b, w, w.Name)
		return
	}
	w.Name = emit.WrapperName(target.Func.Name)
	full := target.Name + "." + w.Name
	if at, taken := r.unit.pkg.HasMember(target.Name, w.Name); taken {
		r.problem(b.Pos, "P904", "the wrapper of %s needs the name %s, which %s has at %s: %s", b.Symbol, w.Name,
			target.Name, at, renaming(target))
	} else {
		r.claim(b.Pos, full, "the wrapper of "+b.Symbol, "bind it once")
	}
	r.bindSingle(b, w, full)
}

// bindSingle sets the policy of a function or of one method, whose wrapper has a
// name.
func (r *resolver) bindSingle(b policy.Binding, w *emit.Wrapper, name string) {
	r.serveSingle(b, w)
	w.Job = r.job(w)
	r.addBound(Bound{Symbol: b.Symbol, Policy: b.Policy, Wrapper: name, Declared: w.Target.Pos}, w.Use, b.Pos)
}

// checkTypeParams reports a type parameter whose name hides a name that the
// wrapper needs.
func (r *resolver) checkTypeParams(b policy.Binding, w emit.Wrapper) {
	needs := map[string]bool{
		w.Target.Name: w.Target.Pkg == "", w.Name: true, w.Iface: true, emit.SharedType: r.file.HasShared(),
		emit.SharedDefault: r.file.HasShared(),
	}
	for _, use := range append(w.By, w.Use) {
		if use != nil {
			needs[use.Var], needs[use.Fallback], needs[use.Check.Name] = true, true, true
			needs[use.Release.Name] = true
			if use.Step != nil {
				needs[use.Step.Var] = true
			}
		}
	}
	for _, tp := range w.Target.TypeParams {
		if needs[tp.Name] || types.Universe.Lookup(tp.Name) != nil {
			r.problem(b.Pos, "P904", "the wrapper of %s needs %s, which its type parameter %s hides: rename the parameter",
				b.Symbol, tp.Name, tp.Name)
		}
	}
}

// bindInGroup adds the wrapper as a method of the type of its group.
func (r *resolver) bindInGroup(b policy.Binding, w *emit.Wrapper) {
	w.Name = w.Target.Name
	if w.Target.Kind == bind.MethodOf {
		w.Name += w.Target.Func.Name
	}
	if w.Name == "Unit" || w.Name == "Group" {
		r.problem(b.Pos, "P904", "the wrapper of %s needs the name %s, which every group has: rename it", b.Symbol, w.Name)
	}
	r.claim(b.Pos, w.Group.Name+"."+w.Name, "the wrapper of "+b.Symbol, "rename one of the two")
	if len(w.Target.TypeParams) > 0 {
		r.problem(b.Pos, "P904", "%s has type parameters, which a method of a group cannot have: bind a function without",
			b.Symbol)
		return
	}
	r.serveSingle(b, w)
	if w.Use == nil {
		return
	}
	name := w.Group.Name + "." + w.Name
	r.addBound(Bound{Symbol: b.Symbol, Policy: b.Policy, Wrapper: name, Declared: w.Target.Pos}, w.Use, b.Pos)
	params := w.Target.Func.Params
	if w.Use.HedgeField != "" {
		r.problem(b.Group.Pos, ruleHedge,
			"policy %s hedges %s, which group %s counts: use a policy without hedge", b.Policy, b.Symbol, b.Group.Name)
	}
	w.Use.Unit = slices.IndexFunc(params, func(p bind.Param) bool { return p.Name == b.Unit.Name })
	switch {
	case w.Use.Unit < 0:
		r.problem(b.Unit.Pos, "P904", "%s has no parameter %s", b.Symbol, b.Unit.Name)
	case params[w.Use.Unit].Type.String() != "string":
		r.problem(b.Unit.Pos, "P904", "the unit must be a string, and parameter %s of %s is not", b.Unit.Name, b.Symbol)
	}
	r.file.Wrappers = append(r.file.Wrappers, *w)
}

// serveSingle sets the policy of a function or of one method.
func (r *resolver) serveSingle(b policy.Binding, w *emit.Wrapper) {
	switch {
	case len(b.Methods) > 0:
		r.problem(b.Methods[0].Pos, "P904", "%s is not a type: methods is for types", b.Symbol)
	case b.Policy == "":
		r.problem(b.Pos, "P904", "%s is bound to no policy: write %s: POLICY", b.Symbol, b.Symbol)
	default:
		recv := ""
		if w.Target.Kind == bind.MethodOf && w.Target.Pkg == "" {
			recv = w.Target.Name
		}
		w.Use = r.serve(b.Use, w.Target, recv, served{fn: w.Target.Func, symbol: b.Symbol, pos: b.Pos, step: b.Step("")})
	}
}
