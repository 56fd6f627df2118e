package policy

import (
	"slices"
	"strconv"

	"github.com/retrygen/retrygen/schema"
)

// schema runs the published JSON Schema over the file. It is what editors know
// of the language; where the decoder has already said what is wrong, more
// precisely, its word stands alone.
func (d decoder) schema(root *node) {
	for _, v := range schema.Validate(root.value) {
		at := locate(root, v)
		if d.covered(root, v.Path) {
			continue
		}
		d.problem(at, "P102", "%s", v.Message)
	}
}

// locate finds the place of a violation: an unknown property is that key, a
// missing one the place of its parent, anything else the value.
func locate(root *node, v schema.Violation) span {
	n := root
	for _, step := range v.Path {
		next := n.child(step)
		if next == nil {
			break
		}
		n = next
	}
	if v.Property != "" {
		if e := n.get(v.Property); e != nil {
			return e.at
		}
	}
	return n.span
}

func (n *node) child(step string) *node {
	if e := n.get(step); e != nil {
		return e.value
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.items) {
		return n.items[i]
	}
	return nil
}

// covered reports whether a problem is known at the node that path leads to,
// at its key, or anywhere inside of it.
func (d decoder) covered(root *node, path []string) bool {
	n := root
	for _, step := range path {
		if e := n.get(step); e != nil && d.has(e.at.Pos) {
			return true
		}
		if n = n.child(step); n == nil {
			return false
		}
	}
	return d.inside(n)
}

func (d decoder) inside(n *node) bool {
	return d.has(n.Pos) ||
		slices.ContainsFunc(n.entries, func(e entry) bool { return d.has(e.at.Pos) || d.inside(e.value) }) ||
		slices.ContainsFunc(n.items, d.inside)
}
