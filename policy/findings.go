package policy

import (
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// rules reports the findings about a policy whose settings have no errors. Each is
// reported where its field is written, or else at the policy's name.
func (d decoder) rules(r resolution, p *retry.Policy, known rules.Known) {
	findings := rules.Check(p, known)
	if len(findings) == 0 {
		return
	}
	inherited, own, defaults := r.merged.places(), r.own.places(), r.defaults.places()
	for _, f := range findings {
		written := own
		if r.byDefaults(f) {
			written = defaults
		}
		at, ok := written[f.Field]
		if !ok {
			// An inherited value may be right for other policies.
			at = r.entry.At
			if _, ok := inherited[f.Field]; ok {
				f.Text += " (" + string(f.Field) + " is inherited)"
			} else if other, ok := written[f.Else]; ok {
				at = other
				f.Text += " (" + string(f.Field) + " is the default)"
			}
		}
		d.add(at, f)
	}
}

// known returns a function that reports whether the value of a field is known. A
// field that refers to an entry with an error is not, and neither is the breaker:
// [rules.CheckFile] judges a policy together with its breaker.
func (p *Policy) known(r resolution, unknown unsound) rules.Known {
	isUnknown := func(c retry.Class) bool { return unknown.has("errors", string(c)) }
	return func(f rules.Field) bool {
		switch f {
		case "breaker":
			return p.Breaker == ""
		case "timeout":
			_, own := r.merged.values["timeout"]
			return own || !unknown.has("scopes", p.Scope)
		case "retry_on":
			return !slices.ContainsFunc(p.RetryOn, isUnknown)
		case "abort_on":
			return !slices.ContainsFunc(p.AbortOn, isUnknown)
		}
		return true
	}
}

// byDefaults reports whether a finding is about the defaults alone. It is then the
// same for every policy that does not change them.
func (r resolution) byDefaults(f rules.Finding) bool {
	changed := r.extended.places()
	return !slices.ContainsFunc(rules.ByID(f.Rule).Reads, func(field rules.Field) bool {
		_, set := changed[field]
		_, scoped := changed["scope"]
		return set || scoped && field == "timeout"
	})
}

// fileRules adds the findings about the file as a whole.
func (d decoder) fileRules(root *syntax.Node, resolved []resolution, f *File, unknown unsound) {
	d.countsOutsideGroups(root, f, unknown)
	if partial := unknown.partial(); !slices.Contains(partial, "bind") && !slices.Contains(partial, "policies") {
		d.countsUnbound(resolved, f)
	}
	for _, finding := range rules.CheckFile(f.model(root, resolved, unknown)) {
		d.add(place(root, finding), finding)
	}
}

// place returns where a finding is reported: at the value of its field, as far as
// that is written, or else at the key of the entry.
func place(root *syntax.Node, f rules.Finding) syntax.Span {
	e := root.Get(f.Section).Value.Get(f.Policy)
	n, at := e.Value, e.At
	for _, key := range keyPath(f.Field) {
		next := n.Get(key)
		if next == nil {
			return at
		}
		n, at = next.Value, next.Value.Span
		if n.IsMap() {
			at = next.At
		}
	}
	return at
}

// keyPath splits a field into the keys that lead to it.
func keyPath(f rules.Field) []string {
	if f == "" {
		return nil
	}
	return strings.Split(string(f), ".")
}

// countsOutsideGroups reports bindings whose policy has a budget that counts the
// retries of a job, but which are not in a group with that budget.
func (d decoder) countsOutsideGroups(root *syntax.Node, f *File, unknown unsound) {
	counts := f.countedPolicies()
	for _, b := range f.Bindings {
		if unknown.has("bind", b.Symbol) {
			continue
		}
		e := root.Get("bind").Value.Get(b.Symbol)
		for _, use := range b.uses() {
			budget := counts[use.Policy]
			switch {
			case budget == "":
			case b.Group.Name == "":
				d.problem(e.At, "P102", "budget %s of policy %s counts the retries of a job: bind %s in a group with that budget",
					budget, use.Policy, b.Symbol)
			case !slices.ContainsFunc(f.Groups, func(g Group) bool {
				return g.Name == b.Group.Name && g.Budget != nil && g.Budget.Name == budget
			}):
				d.problem(e.At, "P102", "policy %s has budget %s, but group %s has not: write budget: %s there", use.Policy, budget,
					b.Group.Name, budget)
			}
		}
	}
}

// countsUnbound reports policies whose budget counts the retries of a job,
// although nothing is bound to them: without a binding there is no job. It skips
// policies that others extend.
func (d decoder) countsUnbound(resolved []resolution, f *File) {
	counts := f.countedPolicies()
	if len(counts) == 0 {
		return
	}
	used := map[string]bool{}
	for _, b := range f.Bindings {
		for _, use := range b.uses() {
			used[use.Policy] = true
		}
	}
	for _, r := range resolved {
		used[parentOf(r.own)] = true
	}
	for _, r := range resolved {
		budget := counts[r.entry.Key]
		if budget == "" || used[r.entry.Key] {
			continue
		}
		at := r.entry.At
		if own, ok := r.own.values["budget"]; ok {
			at = own.at
		}
		d.problem(at, "P102",
			"budget %s of policy %s counts the retries of a job, but nothing is bound to %s: bind it in a group with that "+
				"budget", budget, r.entry.Key, r.entry.Key)
	}
}

// uses returns the Use of the symbol, then the Use of each method.
func (b *Binding) uses() []Use {
	list := []Use{b.Use}
	for _, m := range b.Methods {
		list = append(list, m.Use)
	}
	return list
}

// HasShared reports whether calls share anything within the process.
func (f *File) HasShared() bool {
	return len(f.Breakers)+len(f.Budgets)+len(f.Concurrency)+len(f.Rates)+len(f.Throttles) > 0 ||
		slices.ContainsFunc(f.Policies, func(p Policy) bool { return p.Hedge != nil })
}

// NeedsErrors reports whether any policy uses an error class that the file defines.
func (f *File) NeedsErrors() bool {
	return slices.ContainsFunc(f.Policies, func(p Policy) bool {
		return slices.ContainsFunc(p.Classes, func(c retry.ErrorClass) bool { return !IsPattern(c.Class) })
	})
}

// Counts reports whether the named budget counts the retries of jobs.
func (f *File) Counts(budget string) bool {
	return slices.ContainsFunc(f.Budgets, func(b Budget) bool { return b.Name == budget && b.Count != nil })
}

// countedPolicies maps each policy whose budget counts retries to that budget.
func (f *File) countedPolicies() map[string]string {
	counts := map[string]string{}
	for _, p := range f.Policies {
		if f.Counts(p.Budget) {
			counts[p.Name] = p.Budget
		}
	}
	return counts
}

// model returns the file in the form that package rules checks, without the
// entries that are not known.
func (f *File) model(root *syntax.Node, resolved []resolution, unknown unsound) *rules.File {
	m := &rules.File{Partial: unknown.partial()}
	for _, s := range f.Scopes {
		if !unknown.has("scopes", s.Name) {
			m.Scopes = append(m.Scopes, rules.Scope{
				Name: s.Name, Within: s.Within, Timeout: s.Timeout, HardLimit: s.HardLimit, Capture: s.Capture,
			})
		}
	}
	m.Errors = f.classModels(root, unknown)
	for _, b := range f.Breakers {
		switch {
		case unknown.has("breakers", b.Name):
		case b.From.Name != "":
			m.BreakersInGo = append(m.BreakersInGo, b.Name)
		default:
			m.Breakers = append(m.Breakers, b.Policy)
			if b.process {
				m.BreakersInProcess = append(m.BreakersInProcess, b.Name)
			}
		}
	}
	for _, b := range f.Budgets {
		if unknown.has("budgets", b.Name) {
			continue
		}
		m.Budgets = append(m.Budgets, b.Name)
		switch {
		case b.Count != nil:
			m.Counts = append(m.Counts, *b.Count)
		case b.Ratio != nil && b.From.Name == "":
			m.Buckets = append(m.Buckets, *b.Ratio)
		}
	}
	f.capacityModel(m, unknown)
	for _, g := range f.Groups {
		if !unknown.has("groups", g.Name) {
			m.Groups = append(m.Groups, g.GroupPolicy)
		}
	}
	for i := range f.Policies {
		if p := &f.Policies[i]; !p.Broken {
			m.Policies = append(m.Policies, p.model(root, resolved[i]))
		}
	}
	for i := range f.Bindings {
		if b := &f.Bindings[i]; !unknown.has("bind", b.Symbol) {
			m.Bindings = append(m.Bindings, b.model()...)
		}
	}
	return m
}

// classModels returns the classes that the file defines, in the order of the file,
// in the form that package rules checks.
func (f *File) classModels(root *syntax.Node, unknown unsound) (list []rules.ErrorClass) {
	e := root.Get("errors")
	if e == nil {
		return nil
	}
	known := f.Errors
	for _, entry := range e.Value.Entries {
		isNext := len(known) > 0 && known[0].Name == entry.Key
		switch {
		case unknown.has("errors", entry.Key):
			list = append(list, rules.ErrorClass{ErrorClass: retry.ErrorClass{Class: retry.Class(entry.Key)}, Unknown: true})
		case isNext:
			list = append(list, known[0].ruleModel())
		}
		if isNext {
			known = known[1:]
		}
	}
	return list
}

// ruleModel returns the class in the form that package rules checks.
func (c *ErrorClass) ruleModel() rules.ErrorClass {
	class := rules.ErrorClass{ErrorClass: c.model(), Unprocessed: c.Unprocessed, InGo: len(c.Is)+len(c.As) > 0}
	for _, code := range c.GRPC {
		class.GRPC = append(class.GRPC, uint32(slices.Index(grpcNames, code.Name)+1))
	}
	return class
}

// model returns the policy in the form that package rules checks.
func (p *Policy) model(root *syntax.Node, r resolution) rules.Policy {
	written := func(field rules.Field) bool {
		n := root.Get("policies").Value.Get(p.Name).Value
		for _, key := range keyPath(field) {
			e := n.Get(key)
			if e == nil {
				return false
			}
			n = e.Value
		}
		return true
	}
	return rules.Policy{
		Policy: &p.Policy, Breaker: p.Breaker, Budget: p.Budget, Written: written,
		Concurrency: p.Concurrency, Rate: p.Rate, Throttle: p.Throttle, Hedge: p.Hedge,
		Extends: parentOf(r.own), Durable: p.Durable, OnExhausted: p.OnExhausted, OnChanged: p.OnChanged,
	}
}

// model returns the binding and each of its methods in the form that package
// rules checks.
func (b *Binding) model() []rules.Binding {
	list := []rules.Binding{b.Use.model(b.Symbol, "", b.Step(""))}
	for _, m := range b.Methods {
		if m.Idempotent == rules.Unknown {
			m.Idempotent = b.Idempotent
		}
		step := b.Step(m.Name)
		if m.IsPattern() {
			step.Name.Name = ""
		}
		list = append(list, m.Use.model(b.Symbol, m.Name, step))
	}
	for i := range list {
		list[i].Group = b.Group.Name
	}
	return list
}

func (u *Use) model(symbol, method string, s Step) rules.Binding {
	b := rules.Binding{
		Symbol: symbol, Method: method, Policy: u.Policy, Idempotent: u.Idempotent,
		HasID: s.ID != nil,
	}
	if !s.Default { // otherwise only the generator knows the name
		b.Step = s.Name.Name
	}
	for _, older := range s.Formerly {
		b.Formerly = append(b.Formerly, older.Name)
	}
	if u.ID != nil {
		b.Written = append(b.Written, "id")
	}
	if u.StepName.Name != "" {
		b.Written = append(b.Written, "step")
	}
	if u.Formerly != nil {
		b.Written = append(b.Written, "formerly")
	}
	if u.Repeat != nil {
		b.Written = append(b.Written, "repeat")
	}
	return b
}
