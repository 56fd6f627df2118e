package assist

import "bytes"

// A cursor says what may be written at a place of a text.
type cursor struct {
	in       *item  // the map in which a key is written, or the entry or element whose value is
	isValue  bool   // a value is written
	word     string // what is written of it before the place
	from, to int    // what a completion replaces
	column   int    // of the key that is written, from 0
}

// cursorAt returns what may be written at an offset of a text, or false: in a comment, in
// text after | and where nothing more can follow.
func cursorAt(text []byte, at int) (c cursor, ok bool) {
	lineStart := bytes.LastIndexByte(text[:at], '\n') + 1
	s := scan(text[:at])
	c = cursor{from: at, to: wordEnd(text, at)}
	line := text[lineStart:at]
	indent := len(line) - len(bytes.TrimLeft(line, " \t"))
	switch {
	case isComment(line):
		return c, false
	case len(s.flows) > 0:
		return c.inFlow(s, at), true
	case s.scalar >= 0 && (indent > s.scalar || s.last.start >= lineStart):
		return c, false
	case s.last == nil || s.last.start < lineStart: // an empty line
		s.pop(indent, false)
		c.in, c.column = s.top, indent
		return c, s.top.value == "" && s.top.flow == 0
	}
	it := s.last
	switch {
	case it.flow != 0: // the bracket is closed
		return c, false
	case it.colon:
		if it.from == it.to {
			return c.value(it, "", at), at > it.to // there must be a space after the colon
		}
		return c.value(it, it.value, it.from), at <= it.to
	case it.isElement():
		c.column = indent + 2
		return c.value(it, it.value, max(it.from, it.start+2)), at > it.start+1
	}
	c.in, c.word, c.from, c.column = it.parent, it.key, it.start, it.indent
	return c, at <= it.end
}

// inFlow completes a cursor in an open bracket.
func (c cursor) inFlow(s *scanner, at int) cursor {
	in, it := s.flows[len(s.flows)-1], s.current
	switch {
	case it != nil && it.colon && it.from < it.to:
		return c.value(it, it.value, it.from)
	case it != nil && it.colon:
		return c.value(it, "", at)
	case in.flow == '[' && it != nil:
		return c.value(it, it.value, it.from)
	case in.flow == '[':
		element := &item{parent: in, start: at, end: at}
		return c.value(element, "", at)
	case it != nil:
		c.word, c.from = it.key, it.start
	}
	c.in = in
	return c
}

// value makes c a cursor in the value of an item, of which a word is written.
func (c cursor) value(it *item, word string, from int) cursor {
	c.in, c.isValue, c.word, c.from = it, true, word, from
	return c
}

// isComment reports whether a line ends in a comment.
func isComment(line []byte) bool {
	for i, char := range line {
		if char == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return bytes.Count(line[:i], []byte(`"`))%2 == 0 && bytes.Count(line[:i], []byte(`'`))%2 == 0
		}
	}
	return false
}

// wordEnd returns the end of the word at an offset.
func wordEnd(text []byte, at int) int {
	for at < len(text) && isWord(text[at]) {
		at++
	}
	return at
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c >= 0x80
}
