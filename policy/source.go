package policy

import (
	"bytes"
	"slices"
)

// A source is the text of a file that edits are made to. Nothing is parsed
// again: nodes say where things begin, and what is found there must be what
// they say, or there is no edit.
type source struct {
	text  []byte
	lines []int // where each line begins
}

func newSource(text []byte) *source {
	s := &source{text: text, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// newline returns how the file ends its lines.
func (s *source) newline() string {
	if i := bytes.IndexByte(s.text, '\n'); i > 0 && s.text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// line returns the number of the line of i, from 1.
func (s *source) line(i int) int {
	n, _ := slices.BinarySearch(s.lines, i+1)
	return n
}

func (s *source) lineStart(i int) int { return s.lines[s.line(i)-1] }

// lineEnd returns where the line of i ends, before its newline.
func (s *source) lineEnd(i int) int {
	n := s.line(i)
	if n == len(s.lines) {
		return len(s.text)
	}
	end := s.lines[n] - 1
	if end > i && s.text[end-1] == '\r' {
		end--
	}
	return end
}

// indent returns the spaces before i, if nothing else stands there.
func (s *source) indent(i int) (string, bool) {
	before := s.text[s.lineStart(i):i]
	if len(bytes.TrimLeft(before, " ")) > 0 {
		return "", false
	}
	return string(before), true
}

// start returns where a node begins, after its anchor: for an alias, where what
// it names does.
func (s *source) start(n *node) (int, bool) {
	i := s.lines[n.Line-1] + n.Col - 1
	if i >= len(s.text) {
		return i, false
	}
	if n.form.anchor && s.text[i] == '&' {
		for i < len(s.text) && !isBlank(s.text[i]) {
			i++
		}
		for i < len(s.text) && s.text[i] == ' ' {
			i++
		}
	}
	return i, i < len(s.text)
}

// word returns where a scalar stands, inside of its quotes if it has any. It
// must be written just as it reads.
func (s *source) word(n *node) (start, end int, ok bool) {
	start, ok = s.start(n)
	if !ok || n.text == "" {
		return 0, 0, false
	}
	return s.literal(start, n.text)
}

// key returns where the key of an entry stands, inside of its quotes.
func (s *source) key(e *entry) (start, end int, ok bool) {
	if i := s.lines[e.at.Line-1] + e.at.Col - 1; i < len(s.text) && e.key != "" {
		return s.literal(i, e.key)
	}
	return 0, 0, false
}

func (s *source) literal(i int, text string) (start, end int, ok bool) {
	quote := s.text[i] == '"' || s.text[i] == '\''
	if quote {
		i++
	}
	end = i + len(text)
	if !bytes.HasPrefix(s.text[i:], []byte(text)) || quote && (end >= len(s.text) || s.text[end] != s.text[i-1]) {
		return 0, 0, false
	}
	return i, end, true
}

// end returns where a node ends.
func (s *source) end(n *node) (int, bool) {
	i, ok := s.start(n)
	switch {
	case !ok || n.isNull() && n.text == "":
		return 0, false
	case !n.isMap() && !n.isList():
		_, end, ok := s.literal(i, n.text)
		if ok && (s.text[i] == '"' || s.text[i] == '\'') {
			end++
		}
		return end, ok
	case n.form.flow:
		return s.closing(i)
	case n.isMap():
		if len(n.entries) == 0 || slices.ContainsFunc(n.entries, func(e entry) bool { return e.from != nil }) {
			return 0, false
		}
		return s.entryEnd(&n.entries[len(n.entries)-1])
	case len(n.items) == 0 || n.items[len(n.items)-1].form.alias:
		return 0, false
	}
	return s.end(n.items[len(n.items)-1])
}

// entryEnd returns where the value of an entry ends.
func (s *source) entryEnd(e *entry) (int, bool) {
	switch {
	case e.value.form.alias:
		return 0, false
	case e.value.isNull() && e.value.text == "":
		return s.afterColon(e)
	}
	return s.end(e.value)
}

// entryStart returns where an entry begins, quotes included.
func (s *source) entryStart(e *entry) (int, bool) {
	_, _, ok := s.key(e)
	return s.lines[e.at.Line-1] + e.at.Col - 1, ok
}

func (s *source) afterColon(e *entry) (int, bool) {
	_, i, ok := s.key(e)
	if !ok {
		return 0, false
	}
	if i < len(s.text) && (s.text[i] == '"' || s.text[i] == '\'') {
		i++
	}
	for i < len(s.text) && s.text[i] == ' ' {
		i++
	}
	return i + 1, i < len(s.text) && s.text[i] == ':'
}

// closing returns where the flow collection that opens at i ends.
func (s *source) closing(i int) (int, bool) {
	if s.text[i] != '{' && s.text[i] != '[' {
		return 0, false
	}
	depth := 0
	for i < len(s.text) {
		switch s.text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
		i = s.next(i)
	}
	return 0, false
}

// next returns what comes after the character at i, or after the quoted text or
// the comment that begins there.
func (s *source) next(i int) int {
	switch c := s.text[i]; {
	case s.isComment(i):
		return max(s.lineEnd(i), i+1)
	case (c == '"' || c == '\'') && s.beginsToken(i):
		for i++; i < len(s.text); i++ {
			switch {
			case c == '"' && s.text[i] == '\\':
				i++
			case c == '\'' && s.text[i] == c && i+1 < len(s.text) && s.text[i+1] == c:
				i++
			case s.text[i] == c:
				return i + 1
			}
		}
		return len(s.text)
	}
	return i + 1
}

// isComment reports whether a comment begins at i. As for the YAML library, it
// may follow the end of anything but plain text without a space.
func (s *source) isComment(i int) bool {
	return s.text[i] == '#' && (i == 0 || isBlank(s.text[i-1]) || bytes.IndexByte([]byte(",{}[]\"'"), s.text[i-1]) >= 0)
}

// beginsToken reports whether a quote at i opens text, and is no apostrophe.
func (s *source) beginsToken(i int) bool {
	before := bytes.TrimRight(s.text[:i], " ")
	return len(before) == 0 || bytes.IndexByte([]byte("\r\n\t{[,:-?"), before[len(before)-1]) >= 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// A comment is one with its place.
type comment struct {
	start, end int
	text       string
}

// comments returns the comments in text[start:end].
func (s *source) comments(start, end int) (list []comment) {
	for i := start; i < end; {
		n := s.next(i)
		if s.isComment(i) {
			list = append(list, comment{i, n, string(s.text[i:n])})
		}
		i = n
	}
	return list
}

// commentsOf returns the comments of a file by their lines.
func commentsOf(root *node, s *source) map[int]comment {
	blocks := map[int]bool{}
	root.blocks(blocks)
	comments := map[int]comment{}
	for i := 0; i < len(s.text); {
		n := s.next(i)
		switch line := s.line(i); {
		case s.isComment(i):
			comments[line] = comment{i, n, string(s.text[i:n])}
		case (s.text[i] == '|' || s.text[i] == '>') && blocks[line]:
			delete(blocks, line)
			n = s.blockEnd(line)
		}
		i = n
	}
	return comments
}

// blocks notes the lines on which blocks of text, | or >, begin.
func (n *node) blocks(lines map[int]bool) {
	if n.form.block {
		lines[n.Line] = true
	}
	for _, e := range n.entries {
		e.value.blocks(lines)
	}
	for _, item := range n.items {
		item.blocks(lines)
	}
}

// blockEnd returns where the block of text ends that begins on a line: before
// the first line that is indented less than its first.
func (s *source) blockEnd(line int) int {
	indent := 0
	for ; line < len(s.lines); line++ {
		text := s.text[s.lines[line]:]
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			text = text[:end]
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		spaces := len(text) - len(bytes.TrimLeft(text, " "))
		if indent == 0 {
			indent = spaces
		}
		if spaces < indent || spaces == 0 {
			return s.lines[line]
		}
	}
	return len(s.text)
}
