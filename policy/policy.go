// Package policy reads policy files: YAML text to nodes with positions, nodes
// to settings, settings to resolved policies. What is wrong with a file is a
// list of problems, all of them, each with its place.
package policy

import (
	"regexp"

	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// A File is a policy file without errors, resolved. Order is the file's.
type File struct {
	Name     string
	Policies []Policy
	Bindings []Binding
}

// A Policy is one resolved policy: defaults are merged in, and every field is
// written out.
type Policy struct {
	Name        string
	Pos         Pos // of its name
	Description string
	retry.Policy
}

// A Binding says which policy serves a Go symbol.
type Binding struct {
	Symbol  string // as go doc writes it: F, T.M, T, example.com/pkg.T.M
	Pos     Pos
	Policy  string // "": only Methods have any
	Methods []Method
}

// A Method says which policy serves one method of a bound interface.
type Method struct {
	Name   string
	Pos    Pos
	Policy string // "": none, the method is called as it is
}

// Check reads a policy file. The File is nil if any problem is an error. name
// is only used for positions. Problems are sorted.
func Check(name string, text []byte) (*File, []Problem) {
	var problems []Problem
	d := decoder{reporter{name, &problems}}
	var file *File
	if root := parse(d.reporter, text); root != nil {
		file = d.decode(root)
		d.schema(root)
	}
	Sort(problems)
	for _, p := range problems {
		if p.Severity == rules.Error {
			return nil, problems
		}
	}
	file.Name = name
	return file, problems
}

var (
	policyName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	symbolName = regexp.MustCompile(`^(?:[^\s"'\x60]+/)?[\pL_][\pL_\p{Nd}.\-]*$`)
)

// decode reads the whole file.
func (d decoder) decode(root *node) *File {
	f := new(File)
	if !root.isMap() {
		d.problem(root.span, "P102", "a policy file is a map that begins with version: 1, not %s", kindOf(root))
		return f
	}
	d.version(root)
	d.topLevel(root)
	var defaults settings
	if e := root.get("defaults"); e != nil && !e.value.isNull() {
		before := d.errors()
		defaults = d.settings(e.value)
		defaults.broken = d.errors() > before
	}
	if e := root.get("policies"); e != nil && !e.value.isNull() && d.isMap(e.value, "policies") {
		for _, p := range e.value.entries {
			f.Policies = append(f.Policies, d.policy(p, defaults))
		}
	}
	if e := root.get("bind"); e != nil && !e.value.isNull() && d.isMap(e.value, "bind") {
		names := make([]string, len(f.Policies))
		for i, p := range f.Policies {
			names[i] = p.Name
		}
		b := binder{d, names}
		for _, e := range e.value.entries {
			f.Bindings = append(f.Bindings, b.binding(e))
		}
	}
	return f
}

func (d decoder) version(root *node) {
	e := root.get("version")
	switch {
	case e == nil:
		d.problem(root.span, "P907", "version is missing: begin the file with version: 1")
	case e.value.value == int64(1):
	default:
		d.problem(e.value.span, "P907", "version %s is not known: this retrygen reads version: 1, an integer", quoteShort(e.value.text))
	}
}

// topLevel judges the keys of the file. Those that begin with x- are free, for
// anchors.
func (d decoder) topLevel(root *node) {
	known := []string{"version", "defaults", "policies", "bind"}
	for _, e := range root.entries {
		if len(e.key) > 2 && e.key[:2] == "x-" {
			known = append(known, e.key)
		}
	}
	d.unknownKeys(root, "file", known...)
}

func (d decoder) policy(e entry, defaults settings) Policy {
	if !policyName.MatchString(e.key) {
		d.problem(e.at, "P102", "the name %s is not lower case letters, digits and _, beginning with a letter", quoteShort(e.key))
	}
	var own settings
	before := d.errors()
	if !e.value.isNull() {
		own = d.settings(e.value)
	}
	broken := d.errors() > before || defaults.broken
	merged := own.over(defaults)
	p := Policy{Name: e.key, Pos: e.at.Pos, Description: own.description, Policy: merged.policy(e.key)}
	if !broken {
		d.rules(e, merged, own, &p.Policy)
	}
	return p
}

// rules adds the findings about a policy whose settings are in order, each
// where the field is written, or else at the policy's name.
func (d decoder) rules(e entry, merged, own settings, p *retry.Policy) {
	inherited, written := merged.places(), own.places()
	for _, f := range rules.Check(p, nil) {
		at, ok := written[f.Field]
		if !ok {
			// In defaults it may be right for every other policy.
			at = e.at
			if _, ok := inherited[f.Field]; ok {
				f.Text += " (" + string(f.Field) + " comes from defaults)"
			}
		}
		d.add(at, f.Rule, f.Severity, f.Text)
	}
}

// binder reads bindings.
type binder struct {
	decoder
	policies []string
}

func (b binder) binding(e entry) Binding {
	r := Binding{Symbol: e.key, Pos: e.at.Pos}
	if !symbolName.MatchString(e.key) {
		b.problem(e.at, "P904", "%s is not a Go symbol: write it as go doc does: Func, Type.Method, Interface", quoteShort(e.key))
	}
	if !e.value.isMap() {
		r.Policy = b.name(e.value, false)
		return r
	}
	b.unknownKeys(e.value, "binding", "policy", "methods")
	if p := e.value.get("policy"); p != nil {
		r.Policy = b.name(p.value, false)
	}
	if m := e.value.get("methods"); m != nil && b.isMap(m.value, "methods") {
		for _, e := range m.value.entries {
			r.Methods = append(r.Methods, b.method(e))
		}
	}
	if r.Policy == "" && len(r.Methods) == 0 && len(e.value.entries) == 0 {
		b.problem(e.at, "P102", "%s is bound to nothing: write %s: POLICY", e.key, e.key)
	}
	return r
}

func (b binder) method(e entry) Method {
	m := Method{Name: e.key, Pos: e.at.Pos}
	if !e.value.isMap() {
		m.Policy = b.name(e.value, true)
		return m
	}
	b.unknownKeys(e.value, "method", "policy")
	if p := e.value.get("policy"); p != nil {
		m.Policy = b.name(p.value, true)
	} else {
		b.problem(e.at, "P102", "%s names no policy: write %s: POLICY, or %s: none", e.key, e.key, e.key)
	}
	return m
}

// name reads the name of a policy, or none where a method may do without.
func (b binder) name(n *node, orNone bool) string {
	s, ok := n.value.(string)
	switch {
	case !ok:
		b.problem(n.span, "P102", "this is the name of a policy, not %s", kindOf(n))
	case s == "none" && orNone:
		return ""
	case s == "none":
		b.problem(n.span, "P102", "none is for methods of an interface: remove this binding")
	default:
		for _, name := range b.policies {
			if name == s {
				return s
			}
		}
		b.problem(n.span, "P901", "there is no policy %s%s", quoteShort(s), didYouMean(s, b.policies))
	}
	return ""
}
