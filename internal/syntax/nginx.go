package syntax

import (
	"bytes"
	"fmt"
	"strings"
)

// Nginx returns a text in the language of nginx as one document. It returns none if the text is in another
// language: nginx refuses it, and it does not choose the next server, which only nginx does. A
// directive is a list with an item for each time that it is written: the text of its arguments, or a
// map of the directives in its block, with the text of its arguments under the empty key.
func (e *Excerpt) Nginx() []Document {
	x := nginx{text: e.bytes, lines: e.source()}
	root, ok := x.block(0, word{})
	if !ok && bytes.Contains(e.bytes, []byte("_next_upstream")) {
		return []Document{{text: e, Problems: []Problem{{
			Span: x.refused, Rule: "P100", Text: "this is no nginx configuration: " + x.reason,
		}}}}
	}
	if !ok || len(root.Entries) == 0 {
		return nil
	}
	root.Span = Span{1, 1, 1}
	return []Document{{Root: root, text: e}}
}

// An nginx reads directives: nginx/nginx, ngx_conf_read_token in src/core/ngx_conf_file.c.
type nginx struct {
	text  []byte
	lines *Source
	at    int

	refused Span // of what nginx refuses
	reason  string
}

// refuse records the first mistake.
func (x *nginx) refuse(at Span, format string, args ...any) {
	if x.reason == "" {
		x.refused, x.reason = at, fmt.Sprintf(format, args...)
	}
}

// A word is a word of a directive, or, in the language of nginx, one of the characters that end it: { } ;
type word struct {
	text string
	at   Span
	ends byte // 0: it is a word
}

// block reads directives, up to the brace that closes them or to the end of the text. name is the directive
// that the block belongs to.
func (x *nginx) block(depth int, name word) (n *Node, ok bool) {
	n = &Node{Value: map[string]any{}}
	for depth <= maxDepth {
		var words []word
		w, ok := x.word()
		for ; ok && w.ends == 0; w, ok = x.word() {
			words = append(words, w)
		}
		switch {
		case !ok && x.at < len(x.text):
			x.refuse(x.span(x.at), "the quote is not closed")
			return nil, false
		case !ok && depth > 0:
			x.refuse(name.at, "the block of %s is not closed", name.text)
			return nil, false
		case !ok && len(words) > 0:
			x.refuse(words[0].at, "%s does not end with a semicolon", words[0].text)
			return nil, false
		case !ok:
			return n, true
		case len(words) == 0 && w.ends == '}' && depth > 0:
			return n, true
		case len(words) == 0:
			x.refuse(w.at, "a directive is missing before %c", w.ends)
			return nil, false
		case w.ends == '}':
			x.refuse(words[0].at, "%s does not end with a semicolon", words[0].text)
			return nil, false
		}
		value := arguments(words)
		if w.ends == '{' {
			inner, ok := x.inner(words[0], depth)
			if !ok {
				return nil, false
			}
			inner.put([]string{""}, Entry{At: value.Span, Value: value})
			inner.Span = words[0].at
			value = inner
		}
		n.putDirective(Entry{Key: words[0].text, At: words[0].at, Value: value})
	}
	x.refuse(name.at, "%s is nested deeper than %d levels", name.text, maxDepth)
	return nil, false
}

// inner reads the block of a directive.
func (x *nginx) inner(name word, depth int) (n *Node, ok bool) {
	if strings.HasSuffix(name.text, "_by_lua_block") {
		if !x.skipLua() {
			x.refuse(name.at, "the block of %s is not closed", name.text)
			return nil, false
		}
		return &Node{Value: map[string]any{}}, true
	}
	return x.block(depth+1, name)
}

// arguments returns the words after the name of a directive as a text.
func arguments(words []word) *Node {
	n := &Node{Span: words[0].at}
	var texts []string
	for i, w := range words[1:] {
		texts = append(texts, w.text)
		if i == 0 {
			n.Span = w.at
		} else if w.at.Line == n.Line {
			n.Width = w.at.Col + w.at.Width - n.Col
		}
	}
	n.Text = strings.Join(texts, " ")
	n.Value = n.Text
	return n
}

// putDirective adds a directive to the list of the directives with its name.
func (n *Node) putDirective(e Entry) {
	if written := n.Get(e.Key); written != nil {
		written.Value.Items = append(written.Value.Items, e.Value)
		return
	}
	list := List(e.Value)
	list.Span = e.At
	n.add(Entry{Key: e.Key, At: e.At, Value: list})
}

// word reads a word, or a character that ends a directive.
func (x *nginx) word() (w word, ok bool) {
	for x.at < len(x.text) && (IsBlank(x.text[x.at]) || x.text[x.at] == '#') {
		if x.text[x.at] != '#' {
			x.at++
			continue
		}
		for x.at < len(x.text) && x.text[x.at] != '\n' {
			x.at++
		}
	}
	from := x.at
	if from == len(x.text) {
		return word{}, false
	}
	switch c := x.text[from]; c {
	case '{', '}', ';':
		x.at++
		return word{ends: c, at: x.span(from)}, true
	case '"', '\'':
		text, ok := x.quoted(c)
		return word{text: text, at: x.span(from)}, ok
	}
	for ; x.at < len(x.text) && !IsBlank(x.text[x.at]); x.at++ {
		switch x.text[x.at] {
		case ';', '{':
			return word{text: string(x.text[from:x.at]), at: x.span(from)}, true
		case '\\':
			x.at = min(x.at+1, len(x.text)-1)
		case '$':
			x.skipVariable()
		}
	}
	return word{text: string(x.text[from:x.at]), at: x.span(from)}, true
}

// skipVariable moves to the last character of ${name}, if it is here.
func (x *nginx) skipVariable() {
	rest := x.text[x.at:]
	if len(rest) < 2 || rest[1] != '{' {
		return
	}
	for i, c := range rest {
		if c == '}' {
			x.at += i
			return
		}
		if IsBlank(c) {
			return
		}
	}
}

// quoted reads a text in quotes.
func (x *nginx) quoted(quote byte) (text string, ok bool) {
	var b strings.Builder
	for i := x.at + 1; i < len(x.text); i++ {
		switch c := x.text[i]; {
		case c == quote:
			x.at = i + 1
			return b.String(), true
		case c == '\\' && i+1 < len(x.text):
			i++
			b.WriteByte(x.text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// skipLua skips the program in a block, up to the brace that closes it.
func (x *nginx) skipLua() bool {
	for depth := 1; x.at < len(x.text); x.at++ {
		switch x.text[x.at] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				x.at++
				return true
			}
		}
	}
	return false
}

// span returns the position of what is written from an offset to the current one.
func (x *nginx) span(from int) Span {
	end := min(x.at, x.lines.LineEnd(from))
	return Span{x.lines.Line(from), from - x.lines.LineStart(from) + 1, max(end-from, 1)}
}
