package assist

import (
	"fmt"
	"strings"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/schema"
)

// A Hover describes what is written at a position.
type Hover struct {
	Range Range
	Text  string // text in Markdown
}

// Hover describes the key, the value or the name at a position. For a policy, it shows
// the schedule and the worst case. For a key, it shows the default. For a bound symbol,
// it shows the signature. symbols contains the symbols of the file's Go package, or is
// nil.
func (d *Document) Hover(at policy.Pos, symbols []Symbol) (Hover, bool) {
	it, inKey := d.outline().find(d.Offset(at))
	if it == nil {
		return Hover{}, false
	}
	h := Hover{Range: d.span(it.start, it.end)}
	if !inKey {
		h.Range = d.span(it.from, it.to)
	}
	path := it.path()
	switch {
	case inKey && len(path) == 2 && path[0] == "policies":
		h.Text = d.describe(it.key)
	case !inKey && sectionOf(path) == "policies":
		h.Text = d.describe(it.value)
	case path[0] == "bind":
		h.Text = signature(symbolAt(it, inKey, symbols), symbols)
	}
	if h.Text == "" {
		h.Text = document(path)
	}
	return h, h.Text != ""
}

// document describes the place to which a path leads.
func document(path []string) string {
	p, ok := schema.At(path...)
	if !ok || p.Doc == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** — %s", path[len(path)-1], p.Doc)
	if p.Instead != "" {
		fmt.Fprintf(&b, "\n\nDeprecated. %s", p.Instead)
	}
	if p.Default != "" {
		fmt.Fprintf(&b, "\n\nDefault: `%s`", p.Default)
	}
	if len(p.Words) > 0 {
		fmt.Fprintf(&b, "\n\nValues: `%s`", strings.Join(p.Words, "`, `"))
	}
	for i, example := range p.Examples {
		if i == 0 {
			b.WriteString("\n\nFor example:")
		} else {
			b.WriteString(" or")
		}
		fmt.Fprintf(&b, " `%s`", example)
	}
	return b.String()
}

// describe describes a policy as the command explain does, or returns "" if it is
// unknown or has errors.
func (d *Document) describe(name string) string {
	p := d.File().Policy(name)
	if p == nil || p.Broken {
		return ""
	}
	var b strings.Builder
	if p.Description != "" {
		fmt.Fprintf(&b, "%s\n\n", p.Description)
	}
	b.WriteString("```text\n")
	p.Explain(&b, d.Name)
	d.File().ExplainCapacity(&b, d.Name, p)
	b.WriteString("```\n")
	return b.String()
}

// A Target is what a name refers to: a part of the file or a Go symbol.
type Target struct {
	At     Range  // range in the file, if Symbol is ""
	Symbol string // symbol of the Go package, as in the section bind
}

// Definition returns the target to which the name at a position refers. symbols contains
// the symbols of the file's Go package, or is nil.
func (d *Document) Definition(at policy.Pos, symbols []Symbol) (Target, bool) {
	it, inKey := d.outline().find(d.Offset(at))
	if it == nil {
		return Target{}, false
	}
	if symbol := symbolAt(it, inKey, symbols); symbol != "" {
		return Target{Symbol: symbol}, true
	}
	if inKey {
		return Target{}, false
	}
	if to := d.definition(it); to != nil {
		return Target{At: d.span(to.start, to.end)}, true
	}
	return Target{}, false
}

// symbolAt returns the Go symbol that a key or a value in the section bind names, or "".
func symbolAt(it *item, inKey bool, symbols []Symbol) string {
	path := it.path()
	switch {
	case path[0] != "bind":
	case inKey && len(path) == 2:
		return it.key
	case inKey && len(path) == 4 && path[2] == "methods":
		return path[1] + "." + it.key
	case !inKey && isHelper(path):
		return helperNamed(it.value, path, symbols)
	}
	return ""
}

// signature describes the symbol with a name, or returns "" for an unknown one.
func signature(name string, symbols []Symbol) string {
	for _, s := range symbols {
		if s.Name == name && name != "" {
			return strings.TrimSpace("```go\n" + s.Signature + "\n```\n\n" + s.Doc)
		}
	}
	return ""
}
