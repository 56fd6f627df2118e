package syntax

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Properties returns a text in the format of Java properties as one document, with its
// dotted keys as nested maps. As in Java, a line that it cannot read is skipped, a line that
// ends with a backslash continues on the next one, and the last value of a key counts. Spaces
// after a value are no part of it: programs trim the numbers that they read.
func (e *Excerpt) Properties() []Document {
	root := &Node{Span: Span{1, 1, 1}, Value: map[string]any{}}
	var entries []Entry
	index := map[string]int{} // of each key in entries
	lines := slices.Collect(bytes.Lines(e.bytes))
	for i := 0; i < len(lines); i++ {
		line, n := lines[i], i+1
		body := trimLine(line)
		if len(body) == 0 || body[0] == '#' || body[0] == '!' {
			continue
		}
		body, continues := cutBackslash(body)
		var more []byte // on the next lines
		for continues && i+1 < len(lines) {
			var next []byte
			i++
			next, continues = cutBackslash(trimLine(lines[i]))
			more = append(more, next...)
		}
		end := bytes.IndexAny(body, "=: \t")
		if end < 0 {
			continue
		}
		value := bytes.TrimLeft(bytes.TrimLeft(body[end:], " \t"), "=:")
		value = bytes.TrimLeft(value, " \t")
		col := 1 + len(line) - len(bytes.TrimLeft(line, " \t\f"))
		key := string(body[:end])
		text := string(value) + string(more)
		entry := Entry{Key: key, At: Span{n, col, max(end, 1)}, Value: &Node{
			Span: Span{n, col + len(body) - len(value), max(len(value), 1)}, Text: text, Value: text,
		}}
		if i, again := index[key]; again {
			entries[i] = entry
			continue
		}
		index[key] = len(entries)
		entries = append(entries, entry)
	}
	for _, entry := range entries {
		root.put(steps(entry.Key), entry)
	}
	return []Document{{Root: root, text: e}}
}

func trimLine(line []byte) []byte { return bytes.Trim(line, " \t\f\r\n") }

// cutBackslash returns a line without the backslash at its end that continues it. Two
// backslashes are an escape.
func cutBackslash(line []byte) (body []byte, found bool) {
	if n := len(line) - len(bytes.TrimRight(line, `\`)); n%2 == 0 {
		return line, false
	}
	return line[:len(line)-1], true
}

// Undotted returns a map in which nested maps replace keys with dots that begin with a
// name, or are in its map: a.b: {c.d: 1} becomes a: {b: {c: {d: 1}}}, together with what a
// already contains. The maps in lists stay as they are.
func (n *Node) Undotted(name string) *Node {
	c := &Node{Span: n.Span, Value: map[string]any{}, Form: n.Form, Repeated: n.Repeated}
	for _, e := range n.Entries {
		if e.Key == name || strings.HasPrefix(e.Key, name+".") {
			c.put(steps(e.Key), e)
		} else {
			c.put([]string{e.Key}, e)
		}
	}
	return c
}

// steps splits a key at its dots and brackets: a.b[0].c has the steps a, b, [0] and c. A
// key that is nested too deep is one step.
func steps(key string) (list []string) {
	for part := range strings.SplitSeq(key, ".") {
		name, rest, found := strings.Cut(part, "[")
		if name != "" || !found {
			list = append(list, name)
		}
		for found && rest != "" {
			var inner string
			inner, rest, _ = strings.Cut(rest, "]")
			list = append(list, "["+inner+"]")
			rest = strings.TrimPrefix(rest, "[")
		}
	}
	if len(list) == 0 || len(list) > maxDepth {
		return []string{key}
	}
	return list
}

// put adds an entry to a map or a list, at the end of a path. Maps at the same path are
// joined; of other values the first one stays. What fits nowhere is dropped.
func (n *Node) put(path []string, e Entry) {
	step := path[0]
	name := strings.TrimSuffix(strings.TrimPrefix(step, "["), "]")
	i, err := strconv.Atoi(name)
	if isIndex := err == nil && name != step && len(n.Entries) == 0; isIndex || n.IsList() {
		if isIndex {
			n.putItem(i, path[1:], e)
		}
		return
	}
	if len(path) == 1 && !e.Value.IsMap() {
		if n.Get(name) == nil {
			n.add(Entry{Key: name, At: e.At, Value: e.Value})
		}
		return
	}
	if n.Get(name) == nil {
		n.add(Entry{Key: name, At: e.At, Value: &Node{Span: e.Value.Span, Value: map[string]any{}}})
	}
	child := n.Get(name).Value
	switch {
	case !child.IsMap() && !child.IsList():
	case len(path) > 1:
		child.put(path[1:], e)
	default:
		child.Repeated = append(child.Repeated, e.Value.Repeated...)
		for _, inner := range e.Value.Entries {
			child.put(steps(inner.Key), inner)
		}
	}
}

// putItem adds an entry to item i of a list, at the end of a path. A list begins as an
// empty map. Items must be in their order.
func (n *Node) putItem(i int, path []string, e Entry) {
	switch {
	case i < 0 || i > len(n.Items):
		return
	case i == len(n.Items):
		n.Items = append(n.Items, &Node{Span: e.Value.Span, Value: map[string]any{}})
		n.Value = []any{} // nothing reads its items
	}
	if len(path) == 0 {
		n.Items[i] = e.Value
	} else if item := n.Items[i]; item.IsMap() || item.IsList() {
		item.put(path, e)
	}
}

// add adds an entry to a map.
func (n *Node) add(e Entry) {
	n.Entries = append(n.Entries, e)
	n.Value.(map[string]any)[e.Key] = e.Value.Value
	if n.index != nil {
		n.index[e.Key] = len(n.Entries) - 1
	} else {
		n.indexEntries()
	}
}
