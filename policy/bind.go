package policy

import (
	"go/token"
	"regexp"

	"github.com/retrygen/retrygen/policy/rules"
)

// A Binding says how a Go symbol is served.
type Binding struct {
	Symbol string // as go doc writes it: F, T.M, T, example.com/pkg.T.M
	Pos    Pos
	Use
	Group   Symbol // whose unit one call is, or empty
	Unit    Symbol // the parameter that names the unit
	Methods []Method
}

// A Method says how one method of a bound interface is served.
type Method struct {
	Name string
	Pos  Pos
	Use
}

// A Use is what a symbol is served with.
type Use struct {
	Policy     string // "": the symbol is called as it is, or only Methods have any
	Idempotent rules.Idempotency
	Fallback   Symbol // called with the same arguments and the error, or empty
}

var symbolName = regexp.MustCompile(`^(?:[^\s"'\x60=]+/)?[\pL_][\pL_\p{Nd}\-]*(?:\.[\pL_\p{Nd}\-]+)*$`)

// decoration is what Go code has around a symbol and go doc does without.
var decoration = regexp.MustCompile(`^func\s+|^\s+|\s+$|\[.*\]|\([^*)]*\)$|[*()]`)

var (
	methodKeys  = []string{"policy", "idempotent", "fallback"}
	bindingKeys = append([]string{"group", "unit", "methods"}, methodKeys...)
)

// bindings reads the section bind.
func (d decoder) bindings(root *node) (list []Binding) {
	e := root.get("bind")
	if e == nil || e.value.isNull() || !d.isMap(e.value, "bind") {
		return nil
	}
	for _, e := range e.value.entries {
		list = append(list, d.binding(e))
	}
	return list
}

func (d decoder) binding(e entry) Binding {
	r := Binding{Symbol: e.key, Pos: e.at.Pos}
	if !symbolName.MatchString(e.key) {
		as := "it as go doc does: Func, Type.Method, Interface"
		if plain := decoration.ReplaceAllString(e.key, ""); symbolName.MatchString(plain) {
			as = plain
		}
		d.problem(e.at, "P904", "%s is not a Go symbol: write %s", quoteShort(e.key), as)
	}
	if !e.value.isMap() {
		r.Policy = d.policyName(e.value, false)
		return r
	}
	unknown := d.unknownKeys(e.value, "binding", bindingKeys...) // one may be the policy
	if p := e.value.get("policy"); p != nil {
		r.Policy = d.policyName(p.value, false)
	}
	d.use(e.value, &r.Use)
	d.groupUnit(e.value, &r)
	if m := e.value.written("methods"); m != nil && d.isMap(m.value, "methods") {
		for _, e := range m.value.entries {
			r.Methods = append(r.Methods, d.method(e))
		}
	}
	if !unknown && r.Policy == "" && e.value.get("policy") == nil && len(r.Methods) == 0 && e.value.written("methods") == nil {
		d.problem(e.at, "P102", "%s is bound to no policy: write policy: NAME", e.key)
	}
	if r.Policy == "" && r.Fallback.Name != "" {
		d.problem(e.value.get("fallback").at, "P102", "fallback is for the policy of the binding, and there is none: write it under the methods")
	}
	return r
}

// groupUnit reads the group and the parameter that names the unit, which go
// together.
func (d decoder) groupUnit(n *node, r *Binding) {
	g, u := n.written("group"), n.written("unit")
	if g != nil {
		name, _ := d.reference("groups", "a group")(g)
		r.Group = Symbol{name, g.value.Pos}
	}
	if u != nil {
		name, ok := u.value.value.(string)
		if !ok || !token.IsIdentifier(name) {
			d.problem(u.value.span, "P102", "unit is the name of a parameter, not %s", kindOf(u.value))
		}
		r.Unit = Symbol{name, u.value.Pos}
	}
	switch {
	case g != nil && u == nil:
		d.problem(g.at, "P102", "which parameter names the unit is not said: add unit: PARAMETER")
	case g == nil && u != nil:
		d.problem(u.at, "P102", "unit is of a group: add group: NAME")
	}
}

func (d decoder) method(e entry) Method {
	m := Method{Name: e.key, Pos: e.at.Pos}
	if !e.value.isMap() {
		m.Policy = d.policyName(e.value, true)
		return m
	}
	unknown := d.unknownKeys(e.value, "method", methodKeys...) // one may be the policy
	d.use(e.value, &m.Use)
	if p := e.value.get("policy"); p != nil {
		m.Policy = d.policyName(p.value, true)
	} else if !unknown {
		d.problem(e.at, "P102", "%s names no policy: write %s: POLICY, or %s: none", e.key, e.key, e.key)
	}
	return m
}

// use reads idempotent and fallback.
func (d decoder) use(n *node, u *Use) {
	if e := n.get("idempotent"); e != nil && !e.value.isNull() {
		switch e.value.value {
		case true:
			u.Idempotent = rules.Idempotent
		case false:
			u.Idempotent = rules.NotIdempotent
		case "key":
			u.Idempotent = rules.IdempotentByKey
		default:
			d.problem(e.value.span, "P102", "idempotent is true, false or key, not %s", kindOf(e.value))
		}
	}
	if e := n.get("fallback"); e != nil && !e.value.isNull() {
		name, ok := e.value.value.(string)
		if !ok || !token.IsIdentifier(name) {
			d.problem(e.value.span, "P102", "fallback is the name of a function of the package, or of a method of the same type, with the parameters of what is bound and the error, not %s", kindOf(e.value))
		}
		u.Fallback = Symbol{name, e.value.Pos}
	}
}

// policyName reads the name of a policy, or none where a method may do without.
func (d decoder) policyName(n *node, orNone bool) string {
	s, ok := n.value.(string)
	switch {
	case !ok:
		d.problem(n.span, "P102", "this is the name of a policy, not %s", kindOf(n))
	case s == "none" && orNone:
		return ""
	case s == "none":
		d.problem(n.span, "P102", "none is for methods of an interface: remove this binding")
	case d.defined["policies"][s]:
		return s
	default:
		d.problem(n.span, "P901", "there is no policy %s%s", quoteShort(s), didYouMean(s, d.names["policies"]))
	}
	return ""
}
