// Package schema holds the JSON Schema of policy files, the one that editors
// use, and the seam over the library that validates with it.
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

// ID is the address under which the schema is published.
const ID = "https://raw.githubusercontent.com/retrygen/retrygen/main/schema/policy.schema.json"

// JSON returns the schema's text.
func JSON() []byte { return bytes.Clone(text) }

// A Violation is one way in which a value does not follow the schema.
type Violation struct {
	Path     []string // from the root: keys and indices
	Property string   // the key in question, where a whole map is not
	Message  string
}

type compiled struct {
	schema *jsonschema.Schema
	raw    any
}

var load = sync.OnceValue(func() compiled {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft7
	if err := c.AddResource(ID, bytes.NewReader(text)); err != nil {
		panic("the embedded schema: " + err.Error())
	}
	var raw any
	if err := json.Unmarshal(text, &raw); err != nil {
		panic("the embedded schema: " + err.Error())
	}
	return compiled{c.MustCompile(ID), raw}
})

// Validate returns the violations of a value that consists of nil, bool,
// int64, finite float64, string, []any and map[string]any only. They come in
// the order of their paths.
func Validate(value any) []Violation {
	s := load()
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

// collect flattens the tree of causes to its leaves, but reports a union whose
// branches all fail once, in the schema's own words.
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
	if words := s.words(err.AbsoluteKeywordLocation); words != "" {
		v.Message = words
	}
	*to = append(*to, v)
}

// words returns the errorMessage that stands beside a keyword.
func (s compiled) words(location string) string {
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
	words, _ := m["errorMessage"].(string)
	return words
}

// split cuts a JSON pointer (RFC 6901), in the form that a URI has, into its
// steps.
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
