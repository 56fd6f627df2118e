package schema

import (
	"encoding/json"
	"maps"
	"sync"
)

// A known remembers entries of sections, such as one policy, that have no violations:
// whether an entry has some depends on its section, its name and its value alone. Editors
// have a file validated after each edit, which changes one entry.
type known struct {
	mu      sync.Mutex
	entries map[string]bool
}

// maxKnown limits the memory for entries.
const maxKnown = 20_000

// without returns a value without the entries that are known to have no violations, and
// the keys of the others by section and name. It does not change value.
func (k *known) without(value any, sections map[string]bool) (rest any, keys map[[2]string]string) {
	root, ok := value.(map[string]any)
	if !ok {
		return value, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	keys = map[[2]string]string{}
	left := maps.Clone(root)
	for section, value := range root {
		entries, ok := value.(map[string]any)
		if !ok || !sections[section] {
			continue
		}
		others := map[string]any{}
		for name, entry := range entries {
			text, err := json.Marshal(entry)
			key := section + "\n" + name + "\n" + string(text)
			if err == nil && k.entries[key] {
				continue
			}
			others[name] = entry
			if err == nil {
				keys[[2]string{section, name}] = key
			}
		}
		left[section] = others
	}
	return left, keys
}

// add adds the entries of keys that have no violation.
func (k *known) add(keys map[[2]string]string, found []Violation) {
	for _, v := range found {
		switch {
		case len(v.Path) > 1:
			delete(keys, [2]string{v.Path[0], v.Path[1]})
		case len(v.Path) == 1 && v.Property != "":
			delete(keys, [2]string{v.Path[0], v.Property})
		case len(v.Path) == 1: // of the name of an entry
			for key := range keys {
				if key[0] == v.Path[0] {
					delete(keys, key)
				}
			}
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.entries)+len(keys) > maxKnown || k.entries == nil {
		k.entries = map[string]bool{}
	}
	for _, key := range keys {
		k.entries[key] = true
	}
}

// sections returns the top-level keys whose values are maps of entries that the schema
// describes by what all of them have.
func (s compiled) sections() map[string]bool {
	sections := map[string]bool{}
	for name, property := range object(object(s.raw)["properties"]) {
		if object(object(property)["additionalProperties"]) != nil {
			sections[name] = true
		}
	}
	return sections
}
