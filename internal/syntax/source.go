package syntax

import (
	"bytes"
	"slices"
)

// A Source is the text of a file with an index of its lines. Positions in the text
// are offsets in bytes. The methods that locate a part of a node do not parse the
// text again: they compare it with the node, and return false if the two differ, as
// for text with escapes.
type Source struct {
	Text  []byte
	lines []int // where each line begins
}

// NewSource returns the Source of a text.
func NewSource(text []byte) *Source {
	s := &Source{Text: text, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// Newline returns the line ending of the file, "\n" or "\r\n".
func (s *Source) Newline() string {
	if i := bytes.IndexByte(s.Text, '\n'); i > 0 && s.Text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// Line returns the number, from 1, of the line that contains offset i.
func (s *Source) Line(i int) int {
	n, _ := slices.BinarySearch(s.lines, i+1)
	return n
}

// LineStart returns the start of the line that contains offset i.
func (s *Source) LineStart(i int) int { return s.lines[s.Line(i)-1] }

// LineEnd returns the end of the line that contains offset i, before its newline.
func (s *Source) LineEnd(i int) int {
	n := s.Line(i)
	if n == len(s.lines) {
		return len(s.Text)
	}
	end := s.lines[n] - 1
	if end > i && s.Text[end-1] == '\r' {
		end--
	}
	return end
}

// Indent returns the spaces before offset i on its line, and whether nothing else
// is before it.
func (s *Source) Indent(i int) (string, bool) {
	before := s.Text[s.LineStart(i):i]
	if len(bytes.TrimLeft(before, " ")) > 0 {
		return "", false
	}
	return string(before), true
}

// Start returns the start of a node, after its anchor.
func (s *Source) Start(n *Node) (int, bool) {
	i := s.lines[n.Line-1] + n.Col - 1
	if i >= len(s.Text) {
		return i, false
	}
	if n.Form.Anchor && s.Text[i] == '&' {
		for i < len(s.Text) && !IsBlank(s.Text[i]) {
			i++
		}
		for i < len(s.Text) && s.Text[i] == ' ' {
			i++
		}
	}
	return i, i < len(s.Text)
}

// Word returns the range of a scalar, without quotes.
func (s *Source) Word(n *Node) (start, end int, ok bool) {
	start, ok = s.Start(n)
	if !ok || n.Text == "" {
		return 0, 0, false
	}
	return s.literal(start, n.Text)
}

// Key returns the range of the key of an entry, without quotes.
func (s *Source) Key(e *Entry) (start, end int, ok bool) {
	if i := s.lines[e.At.Line-1] + e.At.Col - 1; i < len(s.Text) && e.Key != "" {
		return s.literal(i, e.Key)
	}
	return 0, 0, false
}

func (s *Source) literal(i int, text string) (start, end int, ok bool) {
	quote := s.Text[i] == '"' || s.Text[i] == '\''
	if quote {
		i++
	}
	end = i + len(text)
	if !bytes.HasPrefix(s.Text[i:], []byte(text)) || quote && (end >= len(s.Text) || s.Text[end] != s.Text[i-1]) {
		return 0, 0, false
	}
	return i, end, true
}

// End returns the end of a node.
func (s *Source) End(n *Node) (int, bool) {
	i, ok := s.Start(n)
	switch {
	case !ok || n.IsNull() && n.Text == "":
		return 0, false
	case !n.IsMap() && !n.IsList():
		_, end, ok := s.literal(i, n.Text)
		if ok && (s.Text[i] == '"' || s.Text[i] == '\'') {
			end++
		}
		return end, ok
	case n.Form.Flow:
		return s.closing(i)
	case n.IsMap():
		if len(n.Entries) == 0 || slices.ContainsFunc(n.Entries, func(e Entry) bool { return e.From != nil }) {
			return 0, false
		}
		return s.EntryEnd(&n.Entries[len(n.Entries)-1])
	case len(n.Items) == 0 || n.Items[len(n.Items)-1].Form.Alias:
		return 0, false
	}
	return s.End(n.Items[len(n.Items)-1])
}

// EntryEnd returns the end of the value of an entry.
func (s *Source) EntryEnd(e *Entry) (int, bool) {
	switch {
	case e.Value.Form.Alias:
		return 0, false
	case e.Value.IsNull() && e.Value.Text == "":
		return s.AfterColon(e)
	}
	return s.End(e.Value)
}

// EntryStart returns the start of an entry, including a quote.
func (s *Source) EntryStart(e *Entry) (int, bool) {
	_, _, ok := s.Key(e)
	return s.lines[e.At.Line-1] + e.At.Col - 1, ok
}

// AfterColon returns the position after the colon of an entry.
func (s *Source) AfterColon(e *Entry) (int, bool) {
	_, i, ok := s.Key(e)
	if !ok {
		return 0, false
	}
	if i < len(s.Text) && (s.Text[i] == '"' || s.Text[i] == '\'') {
		i++
	}
	for i < len(s.Text) && s.Text[i] == ' ' {
		i++
	}
	return i + 1, i < len(s.Text) && s.Text[i] == ':'
}

// closing returns the end of the list or map in brackets that opens at i.
func (s *Source) closing(i int) (int, bool) {
	if s.Text[i] != '{' && s.Text[i] != '[' {
		return 0, false
	}
	depth := 0
	for i < len(s.Text) {
		switch s.Text[i] {
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

// next returns the position after the character at i, or after the quoted text or
// the comment that begins there.
func (s *Source) next(i int) int {
	switch c := s.Text[i]; {
	case s.isComment(i):
		return max(s.LineEnd(i), i+1)
	case (c == '"' || c == '\'') && s.beginsToken(i):
		for i++; i < len(s.Text); i++ {
			switch {
			case c == '"' && s.Text[i] == '\\':
				i++
			case c == '\'' && s.Text[i] == c && i+1 < len(s.Text) && s.Text[i+1] == c:
				i++
			case s.Text[i] == c:
				return i + 1
			}
		}
		return len(s.Text)
	}
	return i + 1
}

// isComment reports whether a comment begins at i. As in the YAML library, a space
// before it is required only after plain text.
func (s *Source) isComment(i int) bool {
	return s.Text[i] == '#' && (i == 0 || IsBlank(s.Text[i-1]) || bytes.IndexByte([]byte(",{}[]\"'"), s.Text[i-1]) >= 0)
}

// beginsToken reports whether a quote at i opens text, rather than being an
// apostrophe.
func (s *Source) beginsToken(i int) bool {
	before := bytes.TrimRight(s.Text[:i], " ")
	return len(before) == 0 || bytes.IndexByte([]byte("\r\n\t{[,:-?"), before[len(before)-1]) >= 0
}

// IsBlank reports whether c separates tokens.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// A Comment is a comment, text[Start:End], including its #.
type Comment struct {
	Start, End int
	Text       string
}

// Comments returns the comments in text[start:end].
func (s *Source) Comments(start, end int) (list []Comment) {
	for i := start; i < end; {
		n := s.next(i)
		if s.isComment(i) {
			list = append(list, Comment{i, n, string(s.Text[i:n])})
		}
		i = n
	}
	return list
}

// CommentsByLine returns the comments of a file by line. root is the parsed file,
// which is needed to skip block scalars.
func (s *Source) CommentsByLine(root *Node) map[int]Comment {
	blocks := map[int]bool{}
	root.blocks(blocks)
	comments := map[int]Comment{}
	for i := 0; i < len(s.Text); {
		n := s.next(i)
		switch line := s.Line(i); {
		case s.isComment(i):
			comments[line] = Comment{i, n, string(s.Text[i:n])}
		case (s.Text[i] == '|' || s.Text[i] == '>') && blocks[line]:
			delete(blocks, line)
			n = s.blockEnd(line)
		}
		i = n
	}
	return comments
}

// blocks adds the lines on which block scalars, | or >, begin.
func (n *Node) blocks(lines map[int]bool) {
	if n.Form.Block {
		lines[n.Line] = true
	}
	for _, e := range n.Entries {
		e.Value.blocks(lines)
	}
	for _, item := range n.Items {
		item.blocks(lines)
	}
}

// blockEnd returns the end of the block scalar that begins on a line: the start of
// the first line that is indented less than its first one.
func (s *Source) blockEnd(line int) int {
	indent := 0
	for ; line < len(s.lines); line++ {
		text := s.Text[s.lines[line]:]
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
	return len(s.Text)
}
