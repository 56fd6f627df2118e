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
// to, at one of the keys on the path, or inside the node.
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
