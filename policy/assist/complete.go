package assist

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/schema"
)

// A Kind describes what a [Completion] inserts.
type Kind int

// The kinds of completions.
const (
	Key    Kind = iota // a key of the language
	Value              // a value that the language defines, or an example
	Name               // a name that another section of the file defines
	GoName             // a symbol of the Go package
)

// A Completion is a text that may be inserted at a position.
type Completion struct {
	Label  string
	Kind   Kind
	Detail string // description in one line, or ""
	Doc    string // Markdown, or ""
	Insert string // the text that replaces Range
	Range  Range
}

// A Symbol is a function, a method or a type in the Go package of a policy file.
type Symbol struct {
	Name      string // name as go doc writes it: F, T.M or T
	Signature string
	Params    []string // types of the parameters of a function, as the package writes them
	Results   []string // types of the results
	Doc       string
	File      string
	At        policy.Pos // position of its name
	IsWhole   bool       // whether the symbol is a type whose methods are bound together
}

// IsBindable reports whether a policy can be bound to the symbol without a check: to a
// type, or a function that returns an error.
func (s *Symbol) IsBindable() bool {
	return s.IsWhole || len(s.Results) > 0 && s.Results[len(s.Results)-1] == "error"
}

// Complete returns the completions at a position between two characters, in the order in
// which to offer them. symbols contains the symbols of the file's Go package, or is nil.
// The text need not be valid YAML.
func (d *Document) Complete(at policy.Pos, symbols []Symbol) []Completion {
	c, ok := cursorAt(d.Text, d.Offset(at))
	if !ok {
		return nil
	}
	var list []Completion
	if c.isValue {
		list = d.values(c, symbols)
	} else {
		list = d.keys(c, symbols)
	}
	hasColon := !c.isValue && bytes.HasPrefix(d.Text[c.to:], []byte(":"))
	for i := range list {
		list[i].Range = d.span(c.from, c.to)
		if hasColon {
			list[i].Insert = list[i].Label
		}
	}
	return list
}

// keys returns the keys that may be written in a map.
func (d *Document) keys(c cursor, symbols []Symbol) (list []Completion) {
	path := c.in.path()
	written := map[string]bool{}
	for _, it := range c.in.items {
		written[it.key] = true
	}
	if whole := d.outline().get(path...); whole != nil {
		for _, it := range whole.items {
			written[it.key] = it.colon
		}
	}
	delete(written, string(d.Text[c.from:c.to]))
	at, ok := schema.At(path...)
	if !ok {
		return nil
	}
	for _, key := range at.Keys {
		below, _ := schema.At(append(path, key)...)
		if written[key] || below.Instead != "" {
			continue
		}
		list = append(list, Completion{
			Label: key, Kind: Key, Detail: detail(below), Doc: below.Doc, Insert: c.insertKey(key, below),
		})
	}
	switch {
	case slices.Equal(path, []string{"bind"}):
		for _, s := range symbols {
			if s.IsBindable() && !written[s.Name] {
				list = append(list, Completion{Label: s.Name, Kind: GoName, Detail: s.Signature, Doc: s.Doc, Insert: s.Name + ": "})
			}
		}
	case len(path) == 3 && path[0] == "bind" && path[2] == "methods":
		for _, s := range symbols {
			if method, ok := strings.CutPrefix(s.Name, path[1]+"."); ok && s.IsBindable() && !written[method] {
				list = append(list, Completion{Label: method, Kind: GoName, Detail: s.Signature, Doc: s.Doc, Insert: method + ": "})
			}
		}
	case len(path) > 0 && path[len(path)-1] == "per_error":
		for _, class := range d.classes() {
			class.Insert = c.insertKey(class.Label, schema.Place{IsMap: true})
			if !written[class.Label] {
				list = append(list, class)
			}
		}
	}
	return list
}

// insertKey returns the text of a key with what follows it.
func (c cursor) insertKey(key string, below schema.Place) string {
	switch {
	case !below.IsMap || below.IsScalar:
		return key + ": "
	case c.in.flow != 0:
		return key + ": {}"
	}
	return key + ":\n" + strings.Repeat(" ", c.column+2)
}

// detail returns the default of a key, or else an example, in one line.
func detail(p schema.Place) string {
	switch {
	case p.Default != "":
		return "default " + p.Default
	case len(p.Examples) > 0:
		return "example: " + p.Examples[0]
	}
	return ""
}

// values returns the values that may be written for an entry or an element.
func (d *Document) values(c cursor, symbols []Symbol) (list []Completion) {
	path := c.in.path()
	if section := sectionOf(path); section != "" {
		return d.referred(section, path)
	}
	if isHelper(path) && symbols != nil {
		return helpers(path, symbols)
	}
	at, ok := schema.At(path...)
	if !ok {
		return nil
	}
	if it := c.in; it.isElement() && len(path) > 1 && isClassList(path[len(path)-2]) {
		return d.classes()
	}
	for _, word := range at.Words {
		below, _ := schema.At(append(path, word)...)
		list = append(list, Completion{Label: word, Kind: Value, Doc: below.Doc, Insert: word})
	}
	for _, example := range at.Examples {
		if !slices.Contains(at.Words, example) {
			list = append(list, Completion{Label: example, Kind: Value, Detail: "example", Insert: example})
		}
	}
	if at.Default != "" {
		i := slices.IndexFunc(list, func(c Completion) bool { return c.Label == at.Default })
		if i < 0 {
			list = append(list, Completion{Label: at.Default, Kind: Value, Insert: at.Default})
			i = len(list) - 1
		}
		list[i].Detail = "default"
	}
	for i := range list {
		list[i].Doc = cmp.Or(list[i].Doc, at.Doc)
	}
	return list
}

// referred returns the names of a section, except the entry in which one is written.
func (d *Document) referred(section string, path []string) (list []Completion) {
	for _, name := range d.names(section) {
		if path[0] == section && path[1] == name {
			continue
		}
		c := Completion{Label: name, Kind: Name, Detail: section, Insert: name}
		if p := d.File().Policy(name); p != nil && section == "policies" {
			c.Doc = p.Description
			if !p.Broken {
				c.Detail = "at worst: " + p.Worst().String()
			}
		}
		list = append(list, c)
	}
	return list
}

// classes returns the error classes of the language and of the file.
func (d *Document) classes() (list []Completion) {
	for _, name := range policy.BuiltinClasses() {
		list = append(list, Completion{Label: name, Kind: Value, Detail: "error class", Insert: name})
	}
	for _, name := range d.names("errors") {
		list = append(list, Completion{Label: name, Kind: Name, Detail: "error class of this file", Insert: name})
	}
	return list
}

func isClassList(key string) bool { return key == "retry_on" || key == "abort_on" }
