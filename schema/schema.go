// Package schema contains the JSON Schemas of policy files and of scenarios, which
// editors use, and validates values against them.
package schema

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

//go:embed policy.schema.json
var text []byte

//go:embed scenario.schema.json
var scenarioText []byte

// ID is the $id of the schema for policy files. It is the URL at which the schema is
// published.
const ID = "https://raw.githubusercontent.com/retrygen/retrygen/main/schema/policy.schema.json"

// ScenarioID is the $id of the schema for scenarios.
const ScenarioID = "https://raw.githubusercontent.com/retrygen/retrygen/main/schema/scenario.schema.json"

// JSON returns a copy of the schema for policy files.
func JSON() []byte { return bytes.Clone(text) }

// ScenarioJSON returns a copy of the schema for scenarios.
func ScenarioJSON() []byte { return bytes.Clone(scenarioText) }

// A Violation is a difference between a value and the schema.
type Violation struct {
	Path     []string // keys and indices from the root
	Property string   // an unknown key of the map at Path, or ""
	Message  string   // what is wrong and how to fix it
}

type compiled struct {
	schema *jsonschema.Schema
	raw    any
}

var (
	policies  = sync.OnceValue(func() compiled { return compile(ID, text) })
	sections  = sync.OnceValue(func() map[string]bool { return policies().sections() })
	valid     known
	scenarios = sync.OnceValue(func() compiled { return compile(ScenarioID, scenarioText) })
)

func compile(id string, text []byte) compiled {
	var raw any
	if err := json.Unmarshal(text, &raw); err != nil {
		panic("the embedded schema: " + err.Error())
	}
	assertions, err := json.Marshal(withoutAnnotations(raw))
	if err != nil {
		panic("the embedded schema: " + err.Error())
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft7
	if err := c.AddResource(id, bytes.NewReader(assertions)); err != nil {
		panic("the embedded schema: " + err.Error())
	}
	return compiled{c.MustCompile(id), raw}
}

// withoutAnnotations returns a schema without the keywords that only describe it: nine
// tenths of its text, which the compiler would validate.
func withoutAnnotations(schema any) any {
	switch v := schema.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for keyword, value := range v {
			switch keyword {
			case "title", "description", "markdownDescription", "examples", "default", "defaultSnippets", "errorMessage",
				"deprecated", "deprecationMessage":
				continue
			case "properties", "patternProperties", "definitions":
				kept[keyword] = named(value)
			default:
				kept[keyword] = withoutAnnotations(value)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, item := range v {
			kept[i] = withoutAnnotations(item)
		}
		return kept
	}
	return schema
}

// named applies withoutAnnotations to schemas by name, whose names may be keywords.
func named(schemas any) map[string]any {
	kept := map[string]any{}
	for name, schema := range object(schemas) {
		kept[name] = withoutAnnotations(schema)
	}
	return kept
}

// Validate returns the violations in a policy file, ordered by path. The value must
// consist only of nil, bool, int64, finite float64, string, []any and map[string]any.
// Validate may be called concurrently.
func Validate(value any) []Violation {
	s := policies()
	rest, keys := valid.without(value, sections())
	found := s.validate(rest)
	valid.add(keys, found)
	return found
}

// ValidateScenario is Validate for a scenario.
func ValidateScenario(value any) []Violation { return scenarios().validate(value) }

func (s compiled) validate(value any) []Violation {
	err, ok := s.schema.Validate(value).(*jsonschema.ValidationError)
	if !ok {
		return nil
	}
	var found []Violation
	s.collect(err, &found)
	slices.SortStableFunc(found, func(a, b Violation) int { return slices.Compare(a.Path, b.Path) })
	return slices.CompactFunc(found, func(a, b Violation) bool {
		return slices.Equal(a.Path, b.Path) && a.Property == b.Property
	})
}

// collect appends the leaves of the tree of causes. It appends an anyOf whose
// branches all fail once, with the errorMessage of the schema.
func (s compiled) collect(err *jsonschema.ValidationError, to *[]Violation) {
	if len(err.Causes) > 0 && !strings.HasSuffix(err.KeywordLocation, "/anyOf") {
		for _, cause := range err.Causes {
			s.collect(cause, to)
		}
		return
	}
	v := Violation{Path: split(err.InstanceLocation), Message: err.Message}
	if name, ok := strings.CutPrefix(err.Message, "additionalProperties '"); ok {
		v.Property, _, _ = strings.Cut(name, "'")
		v.Message = "unknown key " + strconv.Quote(v.Property)
	}
	if names, ok := strings.CutPrefix(err.Message, "missing properties: "); ok {
		v.Message = strings.ReplaceAll(names, "'", "") + " is missing"
	}
	if message := s.message(err.AbsoluteKeywordLocation); message != "" {
		v.Message = message
	}
	*to = append(*to, v)
}

// message returns the errorMessage next to a keyword of the schema, or "".
func (s compiled) message(location string) string {
	_, pointer, _ := strings.Cut(location, "#")
	steps := split(pointer)
	at := s.raw
	for _, step := range steps[:max(len(steps)-1, 0)] {
		m, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = m[step]
	}
	m, _ := at.(map[string]any)
	message, _ := m["errorMessage"].(string)
	return message
}

// split splits a JSON pointer (RFC 6901) in URI form into its unescaped steps.
func split(pointer string) []string {
	if pointer == "" {
		return nil
	}
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, s := range steps {
		if plain, err := url.PathUnescape(s); err == nil {
			s = plain
		}
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return steps
}
