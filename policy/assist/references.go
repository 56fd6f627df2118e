package assist

import "slices"

// A name of one section can be written at some places of other sections.

// sectionOf returns the section whose names can be written at the place to which a path
// leads, or "".
func sectionOf(path []string) string {
	if len(path) < 2 {
		return ""
	}
	key := path[len(path)-1]
	if path[0] == "bind" {
		switch {
		case len(path) == 2, key == "policy", len(path) == 4 && path[2] == "methods":
			return "policies"
		case key == "group":
			return "groups"
		}
		return ""
	}
	isEntry := len(path) == 2 && path[0] == "defaults" || len(path) == 3
	if !isEntry {
		return ""
	}
	return references[key]
}

// references maps the keys of an entry whose values are names to their sections.
var references = map[string]string{
	"extends": "policies", "scope": "scopes", "within": "scopes", "breaker": "breakers", "budget": "budgets",
	"concurrency": "concurrency", "rate": "rates", "throttle": "throttles",
}

// definition returns the item that the value of it refers to, or nil.
func (d *Document) definition(it *item) *item {
	path := it.path()
	if it.isElement() && len(path) > 1 {
		path = path[:len(path)-1]
	}
	section := sectionOf(path)
	if isClassList(path[len(path)-1]) {
		section = "errors"
	}
	if section == "" || it.value == "" {
		return nil
	}
	return d.outline().get(section, it.value)
}

// names returns the names that a section defines.
func (d *Document) names(section string) (names []string) {
	it := d.outline().get(section)
	if it == nil {
		return nil
	}
	for _, child := range it.items {
		if child.colon && child.key != "" && !slices.Contains(names, child.key) {
			names = append(names, child.key)
		}
	}
	return names
}
