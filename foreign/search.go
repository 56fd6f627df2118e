package foreign

import (
	"slices"

	"github.com/retrygen/retrygen/internal/syntax"
)

// Some systems store policies in documents of any structure. The functions in this file find
// policies by the structure of the maps.

// hasPart reports whether is returns true for a value or for any part of it.
func hasPart(n *syntax.Node, is func(*syntax.Node) bool) bool {
	return is(n) ||
		slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool { return hasPart(e.Value, is) }) ||
		slices.ContainsFunc(n.Items, func(item *syntax.Node) bool { return hasPart(item, is) })
}

// search converts the outermost parts of a value for which is returns true, and skips the rest
// of the value. name is the name field, or else the key, of the nearest part that has a name.
func (d *decoder) search(name string, v *value, is func(*syntax.Node) bool, convert func(name string, v *value)) {
	if own := v.n.Child("name"); own != nil && own.Text != "" {
		name = own.Text
	}
	if is(v.n) {
		convert(name, v)
		return
	}
	d.below(name, v, is, convert)
}

// below searches those fields of a map that have not been read, and the items of a list.
func (d *decoder) below(name string, v *value, is func(*syntax.Node) bool, convert func(name string, v *value)) {
	for _, key := range v.keys() {
		if _, read := v.fields[key]; read {
			continue
		}
		if f := v.get(key); f != nil && hasPart(f.n, is) {
			inner := name
			if f.n.IsMap() {
				inner = key
			}
			d.search(inner, f, is, convert)
		} else {
			f.skip()
		}
	}
	if !v.n.IsList() {
		return
	}
	for _, item := range v.items() {
		if hasPart(item.n, is) {
			d.search(name, item, is, convert)
		} else {
			item.skip()
		}
	}
}
