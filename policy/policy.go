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
	Scopes   []Scope
	Errors   []ErrorClass
	Breakers []Breaker
	Budgets  []Budget
	Groups   []Group
	Policies []Policy
	Bindings []Binding

	// Amplification is the most attempts that nested policies may multiply to:
	// retrylint holds Go code to it (RL401).
	Amplification int
}

// A Policy is one resolved policy: defaults are merged in, and every field is
// written out.
type Policy struct {
	Name        string
	Pos         Pos // of its name
	Description string
	Places      map[rules.Field]Pos // where each field is written; absent: the default
	Breaker     string              // "": none
	Budget      string              // "": none
	retry.Policy
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
	d := decoder{reporter{name, &problems}, c, map[string][]string{}}
	if root := parse(d.reporter, text); root != nil {
		file = d.decode(root)
		file.Name = name
		d.schema(root)
		suppress(d.reporter, text)
	}
	Sort(problems)
	return file, problems
}

var policyName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// sections are the maps of a file whose keys are names.
var sections = []string{"scopes", "errors", "breakers", "budgets", "groups", "policies"}

// decode reads the whole file.
func (d decoder) decode(root *node) *File {
	f := new(File)
	if !root.isMap() {
		d.problem(root.span, "P102", "a policy file is a map that begins with version: 1, not %s", kindOf(root))
		return f
	}
	d.version(root)
	d.topLevel(root)
	for _, section := range sections {
		if e := root.get(section); e != nil {
			for _, e := range e.value.entries {
				d.names[section] = append(d.names[section], e.key)
			}
		}
	}
	limits := d.limits(root)
	f.Amplification = limits.amplification.value
	f.Scopes = d.scopes(root)
	f.Errors = d.errorClasses(root)
	f.Breakers = d.breakers(root)
	f.Budgets = d.budgets(root)
	f.Groups = d.groups(root, f.Budgets)
	resolved := d.policies(root, f)
	f.Bindings = d.bindings(root)
	whole := d.errors() == 0
	d.scopesWithin(root, limits, f.Scopes)
	for i, r := range resolved {
		if !r.merged.broken {
			d.rules(r, &f.Policies[i].Policy)
			d.within(r, limits, &f.Policies[i].Policy)
		}
	}
	if whole {
		d.fileRules(root, f)
	}
	return f
}

// A resolution is how a policy came to be what it is.
type resolution struct {
	entry       entry
	own, merged settings // as it stands, and over what it inherits
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
	known := append([]string{"version", "limits", "defaults", "bind"}, sections...)
	for _, e := range root.entries {
		if len(e.key) > 2 && e.key[:2] == "x-" {
			known = append(known, e.key)
		}
	}
	d.unknownKeys(root, "file", known...)
}

// policies reads the map of policies into f: first each as it stands, then each
// over its parents and the defaults.
func (d decoder) policies(root *node, f *File) (list []resolution) {
	var defaults settings
	if e := root.get("defaults"); e != nil && !e.value.isNull() {
		before := d.errors()
		defaults = d.settings(e.value)
		if x := defaults.extends; x.set {
			d.problem(x.at, "P102", "defaults lie under every policy and extend none: write extends under the policies")
		}
		defaults.broken = d.errors() > before
	}
	entries := d.section(root, "policies")
	own := map[string]settings{}
	for _, e := range entries {
		own[e.key] = d.policy(e)
	}
	for _, e := range entries {
		merged := d.inherit(e, own, defaults)
		p := merged.policy(e.key, f)
		p.Pos, p.Description, p.Places = e.at.Pos, own[e.key].description, map[rules.Field]Pos{}
		for field, at := range merged.places() {
			p.Places[field] = at.Pos
		}
		f.Policies = append(f.Policies, p)
		list = append(list, resolution{e, own[e.key], merged})
	}
	return list
}

// policy reads one policy as it stands.
func (d decoder) policy(e entry) (own settings) {
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
		case !ok && slices.Contains(d.names["policies"], at.value):
			// Its name is refused already.
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
