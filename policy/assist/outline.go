package assist

import (
	"bytes"
	"strings"
)

// An outline is the structure of a text that somebody is writing, so that it may not be
// YAML: a key without a colon, a bracket that is not closed yet. Every text has one. It
// is found line by line, by indentation and brackets; what it cannot read, it omits.
// Package policy, which reads files, accepts YAML only.

// An item is an entry of a map or an element of a list.
type item struct {
	key        string // "" for an element
	start, end int    // of the key, with its quotes; of an element, where it begins
	colon      bool   // a colon follows the key; else it may be the beginning of one
	value      string // the text of a scalar, without quotes
	from, to   int    // of the value; equal if there is none
	indent     int    // column of the key from 0; -1 for the root
	flow       byte   // '{' or '[' if the value begins with it
	parent     *item
	items      []*item
}

// path returns the keys that lead to an item. An element of a list has the key "0".
func (it *item) path() (steps []string) {
	if it.parent == nil {
		return nil
	}
	key := it.key
	if it.isElement() {
		key = "0"
	}
	return append(it.parent.path(), key)
}

func (it *item) isElement() bool { return it.key == "" && !it.colon && it.parent != nil }

// find returns the innermost item whose key, if any, or value contains an offset.
func (it *item) find(at int) (found *item, inKey bool) {
	for _, child := range it.items {
		switch {
		case child.start <= at && at <= child.end && child.key != "":
			return child, true
		case child.from <= at && at <= child.to && child.from < child.to && len(child.items) == 0:
			return child, false
		}
		if found, inKey := child.find(at); found != nil {
			return found, inKey
		}
	}
	return nil, false
}

// get returns the item with a key, or nil.
func (it *item) get(path ...string) *item {
	for _, key := range path {
		var next *item
		for _, child := range it.items {
			if child.key == key && child.colon {
				next = child
			}
		}
		if it = next; it == nil {
			return nil
		}
	}
	return it
}

// A scanner makes an outline.
type scanner struct {
	text    []byte
	root    *item
	top     *item   // the innermost item that more lines may belong to
	flows   []*item // whose brackets are open
	current *item   // the entry of the innermost bracket that is being written, or nil
	scalar  int     // indent of the key whose value is text after | or >; -1: none
	last    *item   // the item that was added last
}

// scan returns the state of a scanner after a text.
func scan(text []byte) *scanner {
	root := &item{indent: -1}
	s := &scanner{text: text, root: root, top: root, scalar: -1}
	start := 0
	for line := range bytes.Lines(text) {
		s.line(start, start+len(bytes.TrimRight(line, "\r\n")))
		start += len(line)
	}
	return s
}

// line reads text[start:end].
func (s *scanner) line(start, end int) {
	i := s.skip(start, end)
	indent := i - start
	if i == end || s.text[i] == '#' {
		return
	}
	if len(s.flows) > 0 {
		// YAML requires that the lines of a bracket are indented more than its key.
		if indent > s.flows[0].indent {
			s.bracket(i, end)
			return
		}
		s.flows, s.current = nil, nil
	}
	if s.scalar >= 0 {
		if indent > s.scalar {
			return
		}
		s.scalar = -1
	}
	isElement := s.isDash(i, end)
	s.pop(indent, isElement)
	for s.isDash(i, end) {
		s.top = s.add(s.top, &item{start: i, end: i, indent: indent})
		i = s.skip(i+1, end)
		indent = i - start
	}
	if i < end && s.text[i] != '#' {
		s.entry(i, end, indent)
	}
}

// pop ends the items to which a line with an indentation does not belong. The elements of
// a list may be indented as much as its key.
func (s *scanner) pop(indent int, isElement bool) {
	for s.top.indent > indent || s.top.indent == indent && !(isElement && s.top.key != "") {
		s.top = s.top.parent
	}
}

func (s *scanner) isDash(i, end int) bool {
	return i < end && s.text[i] == '-' && (i+1 == end || s.text[i+1] == ' ')
}

func (s *scanner) skip(i, end int) int {
	for i < end && (s.text[i] == ' ' || s.text[i] == '\t') {
		i++
	}
	return i
}

func (s *scanner) add(parent, it *item) *item {
	it.parent = parent
	parent.items = append(parent.items, it)
	s.last = it
	return it
}

// entry reads the entry of a map, or the value of an element.
func (s *scanner) entry(i, end, indent int) {
	if s.text[i] == '{' || s.text[i] == '[' {
		s.value(s.top, i, end)
		return
	}
	key, keyEnd, next := s.word(i, end, "")
	if next < end && s.text[next] == ':' {
		s.top = s.add(s.top, &item{key: key, start: i, end: keyEnd, colon: true, indent: indent,
			from: next + 1, to: next + 1})
		s.value(s.top, next+1, end)
		return
	}
	if s.top.isElement() {
		s.top.value, s.top.from, s.top.to = key, i, keyEnd
		return
	}
	s.add(s.top, &item{key: key, start: i, end: keyEnd, indent: indent})
}

// value reads the value of an item on the line that ends at end.
func (s *scanner) value(it *item, i, end int) {
	i = s.skip(i, end)
	for i < end && (s.text[i] == '&' || s.text[i] == '!') { // an anchor or a tag
		for i < end && s.text[i] != ' ' {
			i++
		}
		i = s.skip(i, end)
	}
	if i == end || s.text[i] == '#' {
		return
	}
	switch s.text[i] {
	case '{', '[':
		s.open(it, i)
		s.bracket(i+1, end)
	case '|', '>':
		s.scalar = it.indent
	default:
		it.value, it.to, _ = s.word(i, end, "")
		it.from = i
	}
}

// word reads a scalar and returns where it ends, and where the next token begins. A
// scalar without quotes ends before a colon, a comment and the stops.
func (s *scanner) word(i, end int, stops string) (word string, wordEnd, next int) {
	if quote := s.text[i]; quote == '"' || quote == '\'' {
		closing := bytes.IndexByte(s.text[i+1:end], quote)
		if closing < 0 {
			return string(s.text[i+1 : end]), end, end
		}
		wordEnd = i + closing + 2
		return string(s.text[i+1 : wordEnd-1]), wordEnd, s.skip(wordEnd, end)
	}
	j := i
	for ; j < end && !strings.ContainsRune(stops, rune(s.text[j])); j++ {
		if s.text[j] == ':' && (j+1 == end || strings.ContainsRune(" \t"+stops, rune(s.text[j+1]))) ||
			s.text[j] == '#' && j > i && s.text[j-1] == ' ' {
			break
		}
	}
	word = strings.TrimRight(string(s.text[i:j]), " \t")
	return word, i + len(word), j
}

func (s *scanner) open(it *item, i int) {
	it.flow, it.from, it.to = s.text[i], i, i+1
	s.flows, s.current = append(s.flows, it), nil
}

// bracket reads on in the innermost open bracket.
func (s *scanner) bracket(i, end int) {
	for i = s.skip(i, end); i < end && len(s.flows) > 0; i = s.skip(i, end) {
		in := s.flows[len(s.flows)-1]
		switch c := s.text[i]; c {
		case '#':
			return
		case ',', ':':
			if c == ',' {
				s.current = nil
			}
			i++
		case '{', '[':
			if s.current == nil || !s.current.colon {
				s.current = s.add(in, &item{start: i, end: i, indent: in.indent})
			}
			s.open(s.current, i)
			i++
		case '}', ']':
			in.to = i + 1
			s.flows, s.current = s.flows[:len(s.flows)-1], in
			i++
		default:
			i = s.inBracket(in, i, end)
		}
	}
}

// inBracket reads a key or a scalar in a bracket and returns where it ends.
func (s *scanner) inBracket(in *item, i, end int) int {
	word, wordEnd, next := s.word(i, end, ",{}[]")
	switch {
	case next < end && s.text[next] == ':':
		next++
		s.current = s.add(in, &item{key: word, start: i, end: wordEnd, colon: true, indent: in.indent, from: next, to: next})
	case s.current != nil && s.current.colon:
		s.current.value, s.current.from, s.current.to = word, i, wordEnd
	case in.flow == '[':
		s.current = s.add(in, &item{start: i, end: i, indent: in.indent, value: word, from: i, to: wordEnd})
	default:
		s.current = s.add(in, &item{key: word, start: i, end: wordEnd, indent: in.indent})
	}
	return max(next, i+1)
}
