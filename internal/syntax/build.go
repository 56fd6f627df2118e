package syntax

import (
	"math"
	"strconv"
)

// The functions below build documents in memory. A node that they return has no
// position until [Node.Place] gives it one.

// Text returns a node with a text.
func Text(s string) *Node { return &Node{Text: s, Value: s} }

// Bool returns a node with true or false.
func Bool(b bool) *Node { return &Node{Text: strconv.FormatBool(b), Value: b} }

// Int returns a node with a whole number.
func Int(n int) *Node { return &Node{Text: strconv.Itoa(n), Value: int64(n)} }

// Number returns a node with a number. As in a parsed document, the Value of a whole
// number is an int64.
func Number(f float64) *Node {
	n := &Node{Text: strconv.FormatFloat(f, 'f', -1, 64), Value: f}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		n.Value = int64(f)
	}
	return n
}

// List returns a node with a list in the form […].
func List(items ...*Node) *Node {
	values := make([]any, len(items))
	for i, item := range items {
		values[i] = item.Value
	}
	return &Node{Value: values, Items: items, Form: Form{Flow: true}}
}

// Map returns a node with a map, with one entry on each line. The keys must be
// different.
func Map(entries ...Entry) *Node {
	values := make(map[string]any, len(entries))
	for _, e := range entries {
		values[e.Key] = e.Value.Value
	}
	n := &Node{Value: values, Entries: entries}
	n.indexEntries()
	return n
}

// FlowMap is like Map, for a map in the form {…}.
func FlowMap(entries ...Entry) *Node {
	n := Map(entries...)
	n.Form.Flow = true
	return n
}

// Place sets the position of a node, and of every key and value in it that has no
// position.
func (n *Node) Place(at Span) {
	n.Span = at
	for i := range n.Entries {
		e := &n.Entries[i]
		if e.At == (Span{}) {
			e.At = at
		}
		if e.Value.Span == (Span{}) {
			e.Value.Place(at)
		}
	}
	for _, item := range n.Items {
		if item.Span == (Span{}) {
			item.Place(at)
		}
	}
}
