package assist

import (
	"bytes"
	"strings"
)

// A cursor describes what may be written at a place of a text.
type cursor struct {
	in       *item  // the map in which a key is written, or the entry or element whose value is
	isValue  bool   // a value is written
	word     string // what is written of it before the place
	from, to int    // what a completion replaces
	column   int    // of the key that is written, from 0
}

// cursorAt returns what may be written at an offset of a text, or false: in a comment, in
// text after |, in an alias and where nothing more can follow.
func cursorAt(text []byte, at int) (c cursor, ok bool) {
	c, ok = unquoted(text, at)
	if !ok || strings.HasPrefix(c.word, "*") {
		return c, false
	}
	// Editors insert the closing quote with the opening one: both are replaced.
	if c.from < at && isQuote(text[c.from]) && c.to < len(text) && text[c.to] == text[c.from] {
		c.to++
	}
	return c, true
}

// unquoted is cursorAt without regard to a closing quote after the cursor.
func unquoted(text []byte, at int) (c cursor, ok bool) {
	lineStart := bytes.LastIndexByte(text[:at], '\n') + 1
	s := scan(text[:at])
	c = cursor{from: at, to: wordEnd(text, at)}
	line := text[lineStart:at]
	indent := len(line) - len(bytes.TrimLeft(line, " \t"))
	switch {
	case isComment(line):
		return c, false
	case len(s.flows) > 0:
		return c.inFlow(s, at)
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
func (c cursor) inFlow(s *scanner, at int) (cursor, bool) {
	in, it := s.flows[len(s.flows)-1], s.current
	switch {
	case it != nil && it.flow != 0: // the inner bracket is closed; a comma must follow
		return c, false
	case it != nil && it.colon && it.from < it.to:
		return c.value(it, it.value, it.from), at <= it.to
	case it != nil && it.colon:
		return c.value(it, "", at), at > it.to // there must be a space after the colon
	case in.flow == '[' && it != nil:
		return c.value(it, it.value, it.from), at <= it.to
	case in.flow == '[':
		element := &item{parent: in, start: at, end: at}
		return c.value(element, "", at), true
	case it != nil:
		c.word, c.from = it.key, it.start
		c.in = in
		return c, at <= it.end
	}
	c.in = in
	return c, true
}

// value returns c as a cursor in the value of an item. word is what is written of the value so far.
func (c cursor) value(it *item, word string, from int) cursor {
	c.in, c.isValue, c.word, c.from = it, true, word, from
	return c
}

// isComment reports whether a line ends in a comment.
func isComment(line []byte) bool {
	for i, char := range line {
		if char == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			if bytes.Count(line[:i], []byte(`"`))%2 == 0 && bytes.Count(line[:i], []byte(`'`))%2 == 0 {
				return true
			}
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

func isQuote(c byte) bool { return c == '"' || c == '\'' }

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c >= 0x80
}
