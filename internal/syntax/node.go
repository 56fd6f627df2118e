// Package syntax parses the YAML text of policy files to nodes with positions, builds
// such nodes in memory, and locates the text of nodes. It is used by packages policy,
// policy/format and foreign, which do not parse text themselves.
package syntax

import (
	"slices"
	"strconv"
)

// A Node is one value of a policy file. Its Value has the form that the JSON Schema
// validates: nil, bool, int64, float64, string, []any or map[string]any.
type Node struct {
	Span
	Text    string // of a scalar, as written
	Value   any
	Items   []*Node // of a list
	Entries []Entry // of a map, in the order of the file, merged ones last
	// Repeated are the entries of a map in a foreign file whose keys an earlier entry has.
	// They have no values. Whether they are a problem depends on the system.
	Repeated []Entry
	Form     Form

	index map[string]int // of Entries by key; nil if they are few
}

// An Entry is a key of a map and its value.
type Entry struct {
	Key   string
	At    Span // of the key
	Value *Node
	From  *Node // the map from which << merged it, or nil
}

// A Form is the style in which a node is written.
type Form struct {
	Flow   bool // {…} or […]
	Anchor bool // an anchor, &name, is before it
	Alias  bool // it is written *name
	Block  bool // text after | or >
	Quoted bool // text in quotes
}

// A Span is a part of one line. Line and Col count from 1; Col and Width count
// bytes.
type Span struct{ Line, Col, Width int }

// IsMap reports whether the node is a map.
func (n *Node) IsMap() bool { _, ok := n.Value.(map[string]any); return ok }

// IsList reports whether the node is a list.
func (n *Node) IsList() bool { _, ok := n.Value.([]any); return ok }

// IsNull reports whether the node is null or empty.
func (n *Node) IsNull() bool { return n.Value == nil }

// Describe returns the value in the form of messages, as "a list" or "the number 3".
func (n *Node) Describe() string {
	switch n.Value.(type) {
	case nil:
		return "nothing"
	case bool:
		return n.Text
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	case string:
		return "the text " + Quote(n.Text)
	}
	return "the number " + truncate(n.Text)
}

// Quote quotes a text in Go syntax, truncated to 40 characters.
func Quote(s string) string { return strconv.Quote(truncate(s)) }

func truncate(s string) string {
	const maxRunes = 40
	if runes := []rune(s); len(runes) > maxRunes {
		s = string(runes[:maxRunes]) + "…"
	}
	return s
}

// Get returns the entry of a map under key, or nil.
func (n *Node) Get(key string) *Entry {
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return &n.Entries[i]
		}
		return nil
	}
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return &n.Entries[i]
		}
	}
	return nil
}

// indexEntries makes Get fast for a map with many entries.
func (n *Node) indexEntries() {
	const many = 32
	if len(n.Entries) <= many {
		return
	}
	n.index = make(map[string]int, len(n.Entries))
	for i, e := range n.Entries {
		n.index[e.Key] = i
	}
}

// Rename changes the key of the entry with an index. The map must not have the new key.
func (n *Node) Rename(i int, key string) {
	if n.index != nil {
		delete(n.index, n.Entries[i].Key)
		n.index[key] = i
	}
	n.Entries[i].Key = key
}

// Written returns the entry of a map under key, or nil if there is none or its
// value is null.
func (n *Node) Written(key string) *Entry {
	if e := n.Get(key); e != nil && !e.Value.IsNull() {
		return e
	}
	return nil
}

// Child returns the value of a map under a key, or the item of a list with an
// index, or nil.
func (n *Node) Child(step string) *Node {
	if e := n.Get(step); e != nil {
		return e.Value
	}
	if len(n.Items) == 0 { // most nodes: the error of Atoi is much slower than the search
		return nil
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Items) {
		return n.Items[i]
	}
	return nil
}

// Locate returns the position of a violation of a schema: the key of an unknown property
// of the map that path leads to, the parent of a missing value, else the value.
func (n *Node) Locate(path []string, property string) Span {
	for _, step := range path {
		next := n.Child(step)
		if next == nil {
			break
		}
		n = next
	}
	if e := n.Get(property); e != nil && property != "" {
		return e.At
	}
	return n.Span
}

// Without returns a copy of a map without the entry under key.
func (n *Node) Without(key string) *Node {
	c := *n
	c.index = nil
	c.Entries = slices.DeleteFunc(slices.Clone(n.Entries), func(e Entry) bool { return e.Key == key })
	return &c
}

// WithoutAll returns a copy of a node without some of its parts, or nil if it is one of
// them.
func (n *Node) WithoutAll(parts []*Node) *Node {
	if len(parts) == 0 {
		return n
	}
	left := make(map[*Node]bool, len(parts))
	for _, p := range parts {
		left[p] = true
	}
	return n.without(left)
}

func (n *Node) without(left map[*Node]bool) *Node {
	if left[n] {
		return nil
	}
	c := *n
	c.index, c.Entries, c.Items = nil, nil, nil
	for _, e := range n.Entries {
		if e.Value = e.Value.without(left); e.Value != nil {
			c.Entries = append(c.Entries, e)
		}
	}
	for _, item := range n.Items {
		if item = item.without(left); item != nil {
			c.Items = append(c.Items, item)
		}
	}
	c.indexEntries()
	return &c
}
