package policy

import (
	"go/token"
	"regexp"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// A Binding is an entry in the section bind. It applies policies to calls of a Go symbol.
type Binding struct {
	Symbol string // symbol as go doc writes it: F, T.M, T or example.com/pkg.T.M
	Pos    Pos
	Use
	Group   Symbol // the group in which each call is one unit, or empty
	Unit    Symbol // the parameter that names the unit
	Methods []Method
}

// A Use contains the policy and the options of a bound symbol or method.
type Use struct {
	Policy     string // name of the policy; if "", calls are passed through, or only Methods have policies
	Idempotent rules.Idempotency
	Fallback   Symbol // function that is called with the same arguments and the error, or empty
	Check      Symbol // function that is called with the results and returns an error or nil, or empty
	Release    Symbol // function that is called with the results of a request if they are not used, or empty

	// These fields have the values written in the file. [Binding.Step] resolves them.
	ID       []Symbol // parameters; nil if not written
	StepName Symbol   // name of the step, or empty
	Formerly []Symbol // older names of the step; nil if not written
	Repeat   *bool    // whether the step may be called repeatedly; nil if not written
}

var symbolName = regexp.MustCompile(`^(?:[^\s"'\x60=]+/)?[\pL_][\pL_\p{Nd}\-]*(?:\.[\pL_\p{Nd}\-]+)*$`)

// decoration matches the parts of a Go declaration that are not part of the
// symbol as go doc writes it.
var decoration = regexp.MustCompile(`^func\s+|^\s+|\s+$|\[.*\]|\([^*)]*\)$|[*()]`)

var (
	methodKeys  = []string{"policy", "idempotent", "fallback", "check", "release", "id", "step", "formerly", "repeat"}
	bindingKeys = append([]string{"group", "unit", "methods"}, methodKeys...)
)

// bindings reads the section bind.
func (d decoder) bindings(root *syntax.Node) (list []Binding) {
	e := root.Get("bind")
	if e == nil || e.Value.IsNull() || !d.isMap(e.Value, "bind") {
		return nil
	}
	for _, e := range e.Value.Entries {
		list = append(list, d.binding(e))
	}
	return list
}

func (d decoder) binding(e syntax.Entry) Binding {
	r := Binding{Symbol: e.Key, Pos: posOf(e.At)}
	if !symbolName.MatchString(e.Key) {
		as := "it as go doc does: Func, Type.Method, Interface"
		if plain := decoration.ReplaceAllString(e.Key, ""); symbolName.MatchString(plain) {
			as = plain
		}
		if e.Key == "" {
			d.problem(e.At, "P904", "the name of the symbol is empty: write %s", as)
		} else {
			d.problem(e.At, "P904", "%s is not a Go symbol: write %s", syntax.Quote(e.Key), as)
		}
	}
	if !e.Value.IsMap() {
		r.Policy = d.policyName(e.Value, false)
		return r
	}
	unknown := d.unknownKeys(e.Value, "binding", bindingKeys...) // one may be the policy
	if p := e.Value.Get("policy"); p != nil {
		r.Policy = d.policyName(p.Value, false)
	}
	d.use(e.Value, &r.Use)
	d.groupUnit(e.Value, &r)
	if m := e.Value.Written("methods"); m != nil && d.isMap(m.Value, "methods") {
		for _, e := range m.Value.Entries {
			r.Methods = append(r.Methods, d.method(e))
		}
	}
	if !unknown && r.Policy == "" && e.Value.Get("policy") == nil && len(r.Methods) == 0 &&
		e.Value.Written("methods") == nil {
		d.problem(e.At, "P102", "%s is bound to no policy: write policy: NAME", e.Key)
	}
	if e.Value.Get("policy") == nil {
		d.withoutPolicy(e.Value, "write it under the methods")
	}
	return r
}

// groupUnit reads group and unit, the parameter that names the unit. Each
// requires the other.
func (d decoder) groupUnit(n *syntax.Node, r *Binding) {
	g, u := n.Written("group"), n.Written("unit")
	if g != nil {
		name, _ := d.reference("groups", "a group")(g)
		r.Group = Symbol{name, posOf(g.Value.Span)}
	}
	if u != nil {
		name, ok := u.Value.Value.(string)
		if !ok || !token.IsIdentifier(name) {
			d.problem(u.Value.Span, "P102", "unit is the name of a parameter, not %s", u.Value.Describe())
		}
		r.Unit = Symbol{name, posOf(u.Value.Span)}
	}
	switch {
	case g != nil && u == nil:
		d.problem(g.At, "P102", "group needs the parameter that names the unit: add unit: PARAMETER")
	case g == nil && u != nil:
		d.problem(u.At, "P102", "unit needs a group: add group: NAME")
	}
}

// withoutPolicy reports the keys of a binding or a method that have no effect
// without a policy.
func (d decoder) withoutPolicy(n *syntax.Node, fix string) {
	for _, key := range []string{"fallback", "check", "release"} {
		if e := n.Written(key); e != nil {
			d.problem(e.At, "P102", "%s needs a policy: %s", key, fix)
		}
	}
}

// use reads the options of a binding or a method, except the policy.
func (d decoder) use(n *syntax.Node, u *Use) {
	if e := n.Get("idempotent"); e != nil && !e.Value.IsNull() {
		switch e.Value.Value {
		case true:
			u.Idempotent = rules.Idempotent
		case false:
			u.Idempotent = rules.NotIdempotent
		case "key":
			u.Idempotent = rules.IdempotentByKey
		default:
			d.problem(e.Value.Span, "P102", "idempotent is true, false or key, not %s", e.Value.Describe())
		}
	}
	d.step(n, u)
	u.Fallback = d.function(n, "fallback",
		"the name of a function of the package, or of a method of the same type, with the parameters of what is bound and "+
			"the error")
	u.Check = d.function(n, "check",
		"the name of a function of the package that takes the results of what is bound and returns an error")
	u.Release = d.function(n, "release",
		"the name of a function of the package that takes the results of what is bound, without the error, and returns "+
			"nothing")
}

// function reads the name of a Go function under key.
func (d decoder) function(n *syntax.Node, key, what string) Symbol {
	e := n.Written(key)
	if e == nil {
		return Symbol{}
	}
	name, ok := e.Value.Value.(string)
	if !ok || !token.IsIdentifier(name) {
		d.problem(e.Value.Span, "P102", "%s is %s, not %s", key, what, e.Value.Describe())
	}
	return Symbol{name, posOf(e.Value.Span)}
}

// policyName reads the name of a policy. It returns "" for none, which is a
// problem unless allowNone is set.
func (d decoder) policyName(n *syntax.Node, allowNone bool) string {
	s, ok := n.Value.(string)
	switch {
	case !ok:
		d.problem(n.Span, "P102", "this is the name of a policy, not %s", n.Describe())
	case s == "none" && allowNone:
		return ""
	case s == "none":
		d.problem(n.Span, "P102", "none is for methods of an interface: remove this binding")
	case d.defined["policies"][s]:
		return s
	default:
		d.undefined(n, "policies", "policy")
	}
	return ""
}
