package schema

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Place describes what the schema allows at one position in a policy file.
type Place struct {
	Doc      string // documentation in Markdown
	Default  string // the default as it is written in a file, or ""
	Examples []string
	Instead  string   // what to write instead of a deprecated spelling
	Keys     []string // keys of a map, sorted
	Words    []string // all values that are not numbers, durations or names
	IsMap    bool     // whether a map may be written here
	IsScalar bool     // whether a scalar or a list may be written here
}

// At describes the position to which a path of keys and indices leads from the root of a
// policy file. It reports whether the schema allows such a path. At may be called
// concurrently.
func At(path ...string) (Place, bool) {
	at := expand(policies().raw, nil)
	for _, step := range path {
		var next []map[string]any
		for _, node := range at {
			next = append(next, child(node, step)...)
		}
		if at = next; len(at) == 0 {
			return Place{}, false
		}
	}
	var p Place
	keys, words := map[string]bool{}, map[string]bool{}
	for _, node := range at {
		p.describe(node)
		for key := range object(node["properties"]) {
			keys[key] = true
		}
		p.values(node, words)
	}
	p.Keys = slices.Sorted(maps.Keys(keys))
	p.Words = slices.Sorted(maps.Keys(words))
	return p, true
}

// describe adds the documentation of a node. If several nodes have documentation, the
// outermost counts, which is added first.
func (p *Place) describe(node map[string]any) {
	if p.Doc == "" {
		p.Doc, _ = node["markdownDescription"].(string)
	}
	if p.Instead == "" {
		p.Instead, _ = node["deprecationMessage"].(string)
	}
	if value, ok := node["default"]; ok && p.Default == "" {
		p.Default = written(value)
	}
	if list, ok := node["examples"].([]any); ok && p.Examples == nil {
		for _, value := range list {
			p.Examples = append(p.Examples, written(value))
		}
	}
}

// values adds the values that a node allows.
func (p *Place) values(node map[string]any, words map[string]bool) {
	if value, ok := node["const"].(string); ok {
		words[value], p.IsScalar = true, true
	}
	list, _ := node["enum"].([]any)
	for _, value := range list {
		if value != nil {
			words[written(value)], p.IsScalar = true, true
		}
	}
	for _, kind := range types(node) {
		switch kind {
		case "object":
			p.IsMap = true
		case "boolean":
			words["true"], words["false"], p.IsScalar = true, true, true
		case "null":
		default:
			p.IsScalar = true
		}
	}
}

func types(node map[string]any) (list []string) {
	switch t := node["type"].(type) {
	case string:
		return []string{t}
	case []any:
		for _, kind := range t {
			if s, ok := kind.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// expand appends a node and everything that is combined with it.
func expand(node any, to []map[string]any) []map[string]any {
	m, ok := node.(map[string]any)
	if !ok {
		return to
	}
	to = append(to, m)
	if ref, ok := m["$ref"].(string); ok {
		to = expand(definition(ref), to)
	}
	for _, keyword := range []string{"anyOf", "allOf", "oneOf"} {
		list, _ := m[keyword].([]any)
		for _, part := range list {
			to = expand(part, to)
		}
	}
	return expand(m["else"], expand(m["then"], to))
}

// definition returns the part of the schema to which a reference leads.
func definition(ref string) any {
	name, _ := strings.CutPrefix(ref, "#/definitions/")
	return object(object(policies().raw)["definitions"])[name]
}

// child returns the nodes for a key or an index below a node.
func child(node map[string]any, step string) (list []map[string]any) {
	if property, ok := object(node["properties"])[step]; ok {
		return expand(property, nil)
	}
	patterns := object(node["patternProperties"])
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if matched, err := regexp.MatchString(pattern, step); err == nil && matched {
			return expand(patterns[pattern], nil)
		}
	}
	return append(expand(node["additionalProperties"], nil), expand(node["items"], nil)...)
}

func object(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

// written returns a value as it is written in a policy file, in the form [a, b] or
// {key: value} if it is a list or a map.
func written(value any) string {
	switch v := value.(type) {
	case string:
		if strings.ContainsAny(v, "*,{}[]#\"") || v == "" || v != strings.TrimSpace(v) {
			break
		}
		return v
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = written(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var entries []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			entries = append(entries, key+": "+written(v[key]))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}
