package prodigy

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A node is a value of a JSON text. It keeps its place, for messages.
type node struct {
	parent  *node
	key     string  // in an object
	index   int     // in an array
	offset  int     // of its first byte
	end     int     // after its last byte
	kind    byte    // its first byte: { [ " t f n, or 0 for a number
	text    string  // of a string or a number
	members []*node // of an object or an array
	free    bool    // its keys are data, as those of a map
	read    bool    // what it says is known: see object
}

// parse returns the tree of a JSON text. Errors are about syntax, or about keys
// that are written twice: one of the two values would be lost.
func parse(file string, text []byte) (*node, *Error) {
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		offset := len(text)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && int(syntax.Offset) < len(text) {
			offset = int(syntax.Offset) - 1
		}
		line, column := position(lines(text), offset)
		return nil, &Error{
			File: file, Line: line, Column: column,
			Text: fmt.Sprintf("corrupt JSON (%v): restore the file from a backup, or use the checkpoint before it", err),
		}
	}
	p := parser{text: text}
	root := p.value(nil)
	if p.twice != nil {
		line, column := position(lines(text), p.twice.offset)
		return nil, &Error{
			File: file, Line: line, Column: column, Path: p.twice.path(),
			Text: "the key is written twice: remove one of the two values",
		}
	}
	return root, nil
}

// A parser builds nodes from a text that is known to be valid.
type parser struct {
	text  []byte
	at    int
	twice *node // the first value whose key its object has already
}

func (p *parser) value(parent *node) *node {
	p.space()
	n := &node{parent: parent, offset: p.at, kind: p.text[p.at]}
	switch n.kind {
	case '{':
		var seen keySet
		p.list('}', func() {
			key := p.quoted()
			p.space()
			p.at++ // the colon
			member := p.value(n)
			member.key = key
			if !seen.add(key, n.members) && p.twice == nil {
				p.twice = member
			}
			n.members = append(n.members, member)
		})
	case '[':
		p.list(']', func() {
			member := p.value(n)
			member.index = len(n.members)
			n.members = append(n.members, member)
		})
	case '"':
		n.text = p.quoted()
	case 't', 'f', 'n':
		p.word()
	default:
		n.kind, n.text = 0, p.word()
	}
	n.end = p.at
	return n
}

// A keySet reports whether an object has a key already. Most objects are small: it
// is a map only for large ones.
type keySet map[string]bool

// add reports whether no member has the key.
func (s *keySet) add(key string, members []*node) bool {
	const few = 16
	switch {
	case len(members) < few:
		return !slices.ContainsFunc(members, func(m *node) bool { return m.key == key })
	case *s == nil:
		*s = keySet{}
		for _, m := range members {
			(*s)[m.key] = true
		}
	}
	known := (*s)[key]
	(*s)[key] = true
	return !known
}

// list reads the members of an object or an array and its closing bracket.
func (p *parser) list(end byte, member func()) {
	for p.at++; ; {
		p.space()
		switch p.text[p.at] {
		case end:
			p.at++
			return
		case ',':
			p.at++
			p.space()
		}
		member()
	}
}

func (p *parser) space() {
	for p.at < len(p.text) && slices.Contains([]byte(" \t\r\n"), p.text[p.at]) {
		p.at++
	}
}

// quoted reads a string.
func (p *parser) quoted() string {
	start, plain := p.at, true
	for p.at++; p.text[p.at] != '"'; p.at++ {
		c := p.text[p.at]
		plain = plain && c != '\\' && c < utf8.RuneSelf
		if c == '\\' {
			p.at++
		}
	}
	p.at++
	if plain {
		return string(p.text[start+1 : p.at-1])
	}
	var s string
	_ = json.Unmarshal(p.text[start:p.at], &s) // valid: the whole text is
	return s
}

// word reads a number, true, false or null.
func (p *parser) word() string {
	start := p.at
	for p.at < len(p.text) && !slices.Contains([]byte(" \t\r\n,]}"), p.text[p.at]) {
		p.at++
	}
	return string(p.text[start:p.at])
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// path returns where the node is in its document.
func (n *node) path() string {
	switch {
	case n.parent == nil:
		return ""
	case n.parent.kind == '[':
		return fmt.Sprintf("%s[%d]", n.parent.path(), n.index)
	case n.parent.free || !identifier.MatchString(n.key):
		return fmt.Sprintf("%s[%s]", n.parent.path(), strconv.Quote(short(n.key)))
	case n.parent.parent == nil:
		return n.key
	}
	return n.parent.path() + "." + n.key
}

// String returns the value for messages.
func (n *node) String() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return strconv.Quote(short(n.text))
	case 't':
		return "true"
	case 'f':
		return "false"
	case 'n':
		return "null"
	}
	return short(n.text)
}

// empty reports whether the value holds nothing: null, "", [] or {}.
func (n *node) empty() bool {
	return n.kind == 'n' || n.kind == '"' && n.text == "" || (n.kind == '{' || n.kind == '[') && len(n.members) == 0
}

// find returns the member of an object with a key, or nil.
func (n *node) find(key string) *node {
	if n.kind != '{' {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m
		}
	}
	return nil
}
