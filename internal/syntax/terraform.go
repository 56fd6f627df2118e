package syntax

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
)

// Terraform returns the documents of a text in the language of Terraform: its resources as
// in Terraform JSON, the arguments of jsonencode, and texts after << that are JSON. An
// expression is a text ${…} in them. What it cannot read is skipped: Terraform reports it.
func (e *Excerpt) Terraform() []Document { return append(e.terraformResources(), e.terraformJSON()...) }

// terraformJSON returns the JSON documents that a text in the language of Terraform writes.
func (e *Excerpt) terraformJSON() (docs []Document) {
	t := terraform{text: e.bytes, lines: e.source()}
	for t.at < len(t.text) {
		rest := t.text[t.at:]
		switch {
		case t.skipComment():
		case rest[0] == '"':
			if _, ok := t.quoted(); !ok {
				return docs
			}
		case bytes.HasPrefix(rest, []byte("<<")):
			if from, to, ok := t.heredoc(); ok {
				docs = append(docs, e.slice(from, to).jsonOnly()...)
			}
		case t.word() == "jsonencode" && t.skipWord() && t.skip('('):
			if root, ok := t.value(0); ok && (root.IsMap() || root.IsList()) {
				docs = append(docs, Document{Root: root, text: e})
			}
		case t.skipWord():
		default:
			t.at++
		}
	}
	return docs
}

// jsonOnly returns the documents of a text, if it is a map in braces that can be read.
func (e *Excerpt) jsonOnly() []Document {
	if !isJSON(e.bytes) {
		return nil
	}
	docs := e.Documents()
	if hasProblems(docs) {
		return nil
	}
	return docs
}

// A terraform reads expressions of Terraform: github.com/hashicorp/hcl, hclsyntax/spec.md.
type terraform struct {
	text  []byte
	lines *Source
	at    int
}

// span returns the position of what is written from an offset to the current one.
func (t *terraform) span(from int) Span {
	return Span{t.lines.Line(from), from - t.lines.LineStart(from) + 1, max(min(t.at, t.lines.LineEnd(from))-from, 1)}
}

// skipComment skips a comment, and reports whether one begins here.
func (t *terraform) skipComment() bool {
	for _, c := range []struct{ begin, end string }{{"#", "\n"}, {"//", "\n"}, {"/*", "*/"}} {
		rest := t.text[t.at:]
		if !bytes.HasPrefix(rest, []byte(c.begin)) {
			continue
		}
		n := bytes.Index(rest, []byte(c.end))
		switch {
		case n < 0:
			t.at = len(t.text)
		case c.end == "\n":
			t.at += n // a newline ends an expression
		default:
			t.at += n + len(c.end)
		}
		return true
	}
	return false
}

// space skips comments, spaces, and newlines if they are no end.
func (t *terraform) space(newlines bool) {
	for t.at < len(t.text) {
		c := t.text[t.at]
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' && newlines {
			t.at++
		} else if !t.skipComment() {
			return
		}
	}
}

// skip skips spaces and then a character, and reports whether that is there.
func (t *terraform) skip(c byte) bool {
	t.space(true)
	if t.at < len(t.text) && t.text[t.at] == c {
		t.at++
		return true
	}
	return false
}

// word returns the name that begins here, or "".
func (t *terraform) word() string {
	rest := t.text[t.at:]
	n := bytes.IndexFunc(rest, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if n < 0 {
		n = len(rest)
	}
	if n > 0 && (rest[0] == '-' || '0' <= rest[0] && rest[0] <= '9') {
		return ""
	}
	return string(rest[:n])
}

func (t *terraform) skipWord() bool {
	n := len(t.word())
	t.at += n
	return n > 0
}

// quoted reads a text in quotes. Its expressions are part of the text.
func (t *terraform) quoted() (text string, ok bool) {
	var b strings.Builder
	depth := 0 // of braces in ${…} or %{…}
	for i := t.at + 1; i < len(t.text); i++ {
		rest := t.text[i:]
		switch c := rest[0]; {
		case depth == 0 && (bytes.HasPrefix(rest, []byte("$${")) || bytes.HasPrefix(rest, []byte("%%{"))): // an escape
			b.Write(rest[1:3])
			i += 2
		case depth == 0 && (bytes.HasPrefix(rest, []byte("${")) || bytes.HasPrefix(rest, []byte("%{"))):
			depth++
			b.Write(rest[:2])
			i++
		case c == '{' && depth > 0:
			depth++
			b.WriteByte('{')
		case c == '}' && depth > 0:
			depth--
			b.WriteByte('}')
		case c == '"' && depth == 0:
			t.at = i + 1
			return b.String(), true
		case c == '\\' && i+1 < len(t.text):
			i++
			if r, err := strconv.Unquote(`"\` + string(t.text[i]) + `"`); err == nil {
				b.WriteString(r)
			} else {
				b.WriteByte(t.text[i])
			}
		case c == '\n' && depth == 0:
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// heredoc returns where the text after << or <<- is, and moves to the end of its last line.
func (t *terraform) heredoc() (from, to int, ok bool) {
	t.at += 2
	if t.at < len(t.text) && t.text[t.at] == '-' {
		t.at++
	}
	mark := t.word()
	end := bytes.IndexByte(t.text[t.at:], '\n')
	if mark == "" || end < 0 {
		return 0, 0, false
	}
	from = t.at + end + 1
	for at := from; at < len(t.text); {
		line := t.text[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		if string(bytes.TrimSpace(line)) == mark {
			t.at = at + len(bytes.TrimRight(line, "\n")) // a newline ends an expression
			return from, at, true
		}
		at += len(line)
	}
	t.at = len(t.text)
	return 0, 0, false
}

// value reads an expression. One that is no constant becomes the text ${…}.
func (t *terraform) value(depth int) (n *Node, ok bool) {
	t.space(true)
	from := t.at
	if depth > maxDepth || from >= len(t.text) {
		return nil, false
	}
	if n, ok = t.constant(depth); !ok || !t.ends() {
		t.at = from
		if !t.skipExpression() {
			return nil, false
		}
		text := "${" + strings.TrimSpace(string(t.text[from:t.at])) + "}"
		n = &Node{Text: text, Value: text}
	}
	n.Span = t.span(from)
	return n, true
}

// constant reads a map, a list, a text, a number, true, false or null.
func (t *terraform) constant(depth int) (n *Node, ok bool) {
	switch c := t.text[t.at]; {
	case c == '{':
		return t.object(depth)
	case c == '[':
		return t.tuple(depth)
	case c == '"':
		text, ok := t.quoted()
		return &Node{Text: text, Value: text, Form: Form{Quoted: true}}, ok
	case c == '-' || c >= '0' && c <= '9':
		from := t.at
		for t.at < len(t.text) && strings.IndexByte("+-.0123456789eE", t.text[t.at]) >= 0 {
			t.at++
		}
		text := string(t.text[from:t.at])
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return &Node{Text: text, Value: i}, true
		}
		f, err := strconv.ParseFloat(text, 64)
		return &Node{Text: text, Value: f}, err == nil
	}
	word := t.word()
	t.skipWord()
	switch word {
	case "true", "false":
		return &Node{Text: word, Value: word == "true"}, true
	case "null":
		return &Node{Text: word}, true
	}
	return nil, false
}

// ends reports whether an expression ends here.
func (t *terraform) ends() bool {
	t.space(false)
	return t.at == len(t.text) || strings.IndexByte(",)]}\n", t.text[t.at]) >= 0
}

// skipExpression skips an expression, with what is in its brackets.
func (t *terraform) skipExpression() bool {
	depth := 0
	for t.at < len(t.text) {
		c := t.text[t.at]
		switch {
		case depth == 0 && strings.IndexByte(",)]}\n", c) >= 0:
			return true
		case c == '"':
			if _, ok := t.quoted(); !ok {
				return false
			}
			continue
		case bytes.HasPrefix(t.text[t.at:], []byte("<<")):
			t.heredoc()
			continue
		case t.skipComment():
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		}
		t.at++
	}
	return depth == 0
}

// object reads a map. A map that is computed with for is no constant.
func (t *terraform) object(depth int) (n *Node, ok bool) {
	var entries []Entry
	seen := map[string]bool{}
	for t.at++; !t.skip('}'); t.skip(',') {
		if t.at >= len(t.text) {
			return nil, false
		}
		from := t.at
		key := t.word()
		if key == "" && t.text[t.at] == '"' {
			key, ok = t.quoted()
		} else {
			ok = t.skipWord() && key != "for"
		}
		at := t.span(from)
		if !ok || !t.skip('=') && !t.skip(':') {
			return nil, false
		}
		value, ok := t.value(depth + 1)
		if !ok {
			return nil, false
		}
		if !seen[key] {
			entries = append(entries, Entry{Key: key, At: at, Value: value})
		}
		seen[key] = true
	}
	return Map(entries...), true
}

// tuple reads a list. A list that is computed with for is no constant.
func (t *terraform) tuple(depth int) (n *Node, ok bool) {
	var items []*Node
	for t.at++; !t.skip(']'); t.skip(',') {
		if t.at >= len(t.text) || t.word() == "for" {
			return nil, false
		}
		item, ok := t.value(depth + 1)
		if !ok {
			return nil, false
		}
		items = append(items, item)
	}
	return List(items...), true
}
