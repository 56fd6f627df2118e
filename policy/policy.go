// Package policy reads policy files: YAML text to nodes with positions, nodes
// to settings, settings to resolved policies. What is wrong with a file is a
// list of problems, all of them, each with its place.
package policy

import (
	"regexp"
	"slices"
	"strings"

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
	Places      map[rules.Field]Pos // where each field is written; absent: the default
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
	file, problems := read(name, text, nil)
	for _, p := range problems {
		if p.Severity == rules.Error {
			return nil, problems
		}
	}
	return file, problems
}

// read reads a policy file as far as it can be read, and notes how it would be
// written canonically.
func read(name string, text []byte, c *canon) (file *File, problems []Problem) {
	d := decoder{reporter{name, &problems}, c}
	if root := parse(d.reporter, text); root != nil {
		file = d.decode(root)
		file.Name = name
		d.schema(root)
		suppress(d.reporter, text)
	}
	Sort(problems)
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
	limits := d.limits(root)
	if e := root.get("policies"); e != nil && !e.value.isNull() && d.isMap(e.value, "policies") {
		f.Policies = d.policies(e.value, defaults, limits)
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
	known := []string{"version", "limits", "defaults", "policies", "bind"}
	for _, e := range root.entries {
		if len(e.key) > 2 && e.key[:2] == "x-" {
			known = append(known, e.key)
		}
	}
	d.unknownKeys(root, "file", known...)
}

// policies reads the map of policies: first each as it stands, then each over
// its parents and the defaults.
func (d decoder) policies(n *node, defaults settings, limits limits) (list []Policy) {
	own := map[string]settings{}
	for _, e := range n.entries {
		own[e.key] = d.policy(e)
	}
	for _, e := range n.entries {
		merged := d.inherit(e, own, defaults)
		p := Policy{Name: e.key, Pos: e.at.Pos, Description: own[e.key].description, Policy: merged.policy(e.key), Places: map[rules.Field]Pos{}}
		for field, at := range merged.places() {
			p.Places[field] = at.Pos
		}
		if !merged.broken {
			d.rules(e, merged, own[e.key], &p.Policy)
			d.within(e, merged, own[e.key], limits, &p.Policy)
		}
		list = append(list, p)
	}
	return list
}

// policy reads one policy as it stands.
func (d decoder) policy(e entry) (own settings) {
	if !policyName.MatchString(e.key) {
		d.problem(e.at, "P102", "the name %s is not lower case letters, digits and _, beginning with a letter", quoteShort(e.key))
	}
	before := d.errors()
	if !e.value.isNull() {
		own = d.settings(e.value)
	}
	own.broken = d.errors() > before
	return own
}

// inherit lays a policy over the one that it extends, that over its own, and
// all over the defaults.
func (d decoder) inherit(e entry, own map[string]settings, defaults settings) settings {
	merged := own[e.key]
	seen := []string{e.key}
	for at := merged.extends; at.set && !at.null; {
		parent, ok := own[at.value]
		switch {
		case !ok:
			names := slices.DeleteFunc(sortedKeys(own), func(name string) bool { return name == e.key })
			d.problem(at.at, "P901", "there is no policy %s to extend%s", quoteShort(at.value), didYouMean(at.value, names))
		case at.value != e.key && slices.Contains(seen, at.value):
			// Reported where the circle begins.
		case slices.Contains(seen, at.value) && slices.Min(seen) != e.key:
			// One report for each circle.
		case slices.Contains(seen, at.value):
			d.problem(merged.extends.at, "P903", "policies extend each other in a circle: %s", strings.Join(append(seen, at.value), " → "))
		default:
			seen = append(seen, at.value)
			merged = merged.over(parent)
			merged.broken = merged.broken || parent.broken
			at = parent.extends
			continue
		}
		merged.broken = true
		return merged
	}
	broken := merged.broken || defaults.broken
	merged = merged.over(defaults)
	merged.broken = broken
	return merged
}

// rules adds the findings about a policy whose settings are in order, each
// where the field is written, or else at the policy's name.
func (d decoder) rules(e entry, merged, own settings, p *retry.Policy) {
	inherited, written := merged.places(), own.places()
	for _, f := range rules.Check(p, nil) {
		at, ok := written[f.Field]
		if !ok {
			// Where it is inherited from it may be right for others.
			at = e.at
			if _, ok := inherited[f.Field]; ok {
				f.Text += " (" + string(f.Field) + " is inherited)"
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
