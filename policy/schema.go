package policy

import (
	"slices"

	"github.com/retrygen/retrygen/policy/internal/syntax"
	"github.com/retrygen/retrygen/schema"
)

// schema runs the published JSON Schema over the file. It is what editors know
// of the language; where the decoder has already said what is wrong, more
// precisely, its word stands alone.
func (d decoder) schema(root *syntax.Node) {
	for _, v := range schema.Validate(root.Value) {
		at := locate(root, v)
		if d.covered(root, v.Path) {
			continue
		}
		d.problem(at, "P102", "%s", v.Message)
	}
}

// locate finds the place of a violation: an unknown property is that key, a
// missing one the place of its parent, anything else the value.
func locate(root *syntax.Node, v schema.Violation) syntax.Span {
	n := root
	for _, step := range v.Path {
		next := n.Child(step)
		if next == nil {
			break
		}
		n = next
	}
	if v.Property != "" {
		if e := n.Get(v.Property); e != nil {
			return e.At
		}
	}
	return n.Span
}

// covered reports whether a problem is known at the node that path leads to,
// at its key, or anywhere inside of it.
func (d decoder) covered(root *syntax.Node, path []string) bool {
	n := root
	for _, step := range path {
		if e := n.Get(step); e != nil && d.has(e.At) {
			return true
		}
		if n = n.Child(step); n == nil {
			return false
		}
	}
	return d.inside(n)
}

func (d decoder) inside(n *syntax.Node) bool {
	return d.has(n.Span) ||
		slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool { return d.has(e.At) || d.inside(e.Value) }) ||
		slices.ContainsFunc(n.Items, d.inside)
}
