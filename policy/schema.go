package policy

import (
	"slices"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/schema"
)

// schema validates the file against the published JSON Schema, which editors use.
// It omits violations where the decoder has reported a problem, since those
// messages are more precise.
func (d decoder) schema(root *syntax.Node) {
	for _, v := range schema.Validate(root.Value) {
		if d.covered(root, v.Path) {
			continue
		}
		d.problem(root.Locate(v.Path, v.Property), "P102", "%s", v.Message)
	}
}

// covered reports whether a problem has been reported at the node that path leads
// to, at one of the keys on the path, or inside the node. A name that is reported where
// a section defines it is also covered where it is used.
func (d decoder) covered(root *syntax.Node, path []string) bool {
	n := root
	for _, step := range path {
		if e := n.Get(step); e != nil && (d.has(e.At) || d.misnamed(step)) {
			return true
		}
		if n = n.Child(step); n == nil {
			return false
		}
	}
	return d.inside(n)
}

func (d decoder) inside(n *syntax.Node) bool {
	name, isName := n.Value.(string)
	return d.has(n.Span) || isName && d.misnamed(name) ||
		slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
			return d.has(e.At) || d.misnamed(e.Key) || d.inside(e.Value)
		}) ||
		slices.ContainsFunc(n.Items, d.inside)
}

// misnamed reports whether a section defines the name although it is not valid.
func (d decoder) misnamed(name string) bool {
	if policyName.MatchString(name) {
		return false
	}
	for _, names := range d.defined {
		if names[name] {
			return true
		}
	}
	return false
}
