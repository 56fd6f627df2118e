package syntax

import (
	"bytes"
	"slices"

	"gopkg.in/yaml.v3"
)

// An Excerpt is a file of another system, or a text inside of such a file that is a file
// itself, as a ConfigMap contains them. Every position that a caller sees is one in the
// outermost file.
type Excerpt struct {
	bytes   []byte
	lines   *Source // of bytes; nil: not needed so far
	file    *Source
	base    int   // where the text begins in the file, if offsets is nil
	offsets []int // where each byte of the text, and its end, is in the file
}

// A Document is a document of an [Excerpt].
type Document struct {
	Root     *Node // nil: it cannot be read
	Problems []Problem
	Partial  bool // it is a template that was read without its actions: they may write more
	Template bool // it is a Helm template that cannot be read without its values

	repeats bool // a map has a key twice
	text    *Excerpt
}

// File returns the text of a whole file.
func File(text []byte) *Excerpt { return &Excerpt{bytes: text, file: NewSource(text)} }

// slice returns a part of the text.
func (e *Excerpt) slice(from, to int) *Excerpt {
	s := &Excerpt{bytes: e.bytes[from:to], file: e.file, base: e.base + from}
	if e.offsets != nil {
		s.offsets = e.offsets[from : to+1]
	}
	return s
}

// Documents returns the documents of the text that are not empty. A document that
// cannot be read does not affect the others.
//
// There is no limit on the size of a text, but one on the depth of values and on what
// aliases expand to. Values that a policy file may not contain are read as their text:
// dates, numbers that are infinite or too large, and values with a tag of an
// application. Keys may be any scalar. JSON may have comments and trailing commas.
func (e *Excerpt) Documents() (docs []Document) {
	if root := decodeJSON(e.bytes); root != nil {
		return e.build(e.bytes, []*yaml.Node{root})
	}
	for _, part := range e.split() {
		docs = append(docs, part.yaml()...)
	}
	return docs
}

// parser returns a parser of the text, or of one with the same offsets, and where it
// reports problems.
func (e *Excerpt) parser(text []byte) (p *parser, problems *[]Problem) {
	problems = new([]Problem)
	report := func(found Problem) { *problems = append(*problems, found) }
	return &parser{report: report, lines: bytes.Split(text, []byte("\n")), foreign: true}, problems
}

// build returns the documents with some roots.
func (e *Excerpt) build(text []byte, roots []*yaml.Node) (docs []Document) {
	for _, root := range roots {
		p, problems := e.parser(text)
		doc := Document{Root: p.node(root, 0), text: e}
		if p.failed {
			doc.Root = nil
		}
		doc.Problems, doc.repeats = *problems, p.repeats
		docs = append(docs, doc)
	}
	return docs
}

// yaml returns the documents of a text in YAML. A template is read without its actions.
func (e *Excerpt) yaml() []Document {
	p, problems := e.parser(e.bytes)
	if !p.isText(e.bytes) {
		return []Document{{Problems: *problems, text: e}}
	}
	roots, err := p.decode(bytes.NewReader(e.bytes))
	docs := e.build(e.bytes, roots)
	at, isTemplate := findAction(e.bytes)
	switch {
	case err == nil && (!isTemplate || !hasProblems(docs)): // valid YAML may have templates in texts
		return docs
	case isTemplate:
		return e.template(at)
	case p.invalidJSON(e.bytes):
	default:
		p.syntax(e.bytes, err)
	}
	return []Document{{Problems: *problems, text: e}}
}

// template returns the documents of a template whose first action is at an offset.
func (e *Excerpt) template(at int) []Document {
	text := withoutActions(e.bytes)
	p, _ := e.parser(text)
	if roots, err := p.decode(bytes.NewReader(text)); err == nil {
		if docs := e.build(text, roots); !hasProblems(docs) {
			for i := range docs {
				docs[i].Partial = true
			}
			return docs
		}
	}
	line := bytes.Count(e.bytes[:at], []byte("\n"))
	return []Document{{text: e, Template: true, Problems: []Problem{{
		Span: Span{line + 1, at - bytes.LastIndexByte(e.bytes[:at], '\n'), 2}, Rule: "P100",
		Text: "this is a Helm template, which has no values yet: run helm template and check what it prints",
	}}}}
}

// hasProblems reports whether a document has a problem. In a template that is read without
// its actions, a key that is there twice is one: it is in two branches.
func hasProblems(docs []Document) bool {
	return slices.ContainsFunc(docs, func(d Document) bool { return len(d.Problems) > 0 || d.repeats })
}

// split returns the parts of a text that begin with the marker ---. No scalar contains
// one at the start of a line.
func (e *Excerpt) split() (parts []*Excerpt) {
	start, content := 0, false
	for i := 0; i < len(e.bytes); {
		end := len(e.bytes)
		if n := bytes.IndexByte(e.bytes[i:], '\n'); n >= 0 {
			end = i + n + 1
		}
		line := e.bytes[i:end]
		isMarker := bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || IsBlank(line[3]))
		if isMarker && content {
			parts = append(parts, e.slice(start, i))
			start, content = i, false
		}
		// Comments and directives belong to the document after them.
		body := bytes.TrimSpace(line)
		content = content || isMarker || len(body) > 0 && body[0] != '#' && body[0] != '%'
		i = end
	}
	return append(parts, e.slice(start, len(e.bytes)))
}

// Embedded returns the text of a scalar of the document as a text of its own. If the
// place of its parts is not known, they all have the place of the scalar. It must be
// called before Place.
func (d *Document) Embedded(n *Node) *Excerpt {
	inner := &Excerpt{bytes: []byte(n.Text), file: d.text.file}
	start := d.text.source().offset(n.Line, n.Col)
	offsets, ok := align(d.text.bytes, start, n)
	if !ok {
		offsets = make([]int, len(n.Text)+1)
		for i := range offsets {
			offsets[i] = start
		}
	}
	for i := range offsets {
		offsets[i] = d.text.inFile(offsets[i])
	}
	inner.offsets = offsets
	return inner
}

// Place gives every part of the document its position in the outermost file.
func (d *Document) Place() {
	if d.text.offsets == nil && d.text.base == 0 {
		return
	}
	move := d.text.span
	for i := range d.Problems {
		d.Problems[i].Span = move(d.Problems[i].Span)
	}
	if d.Root != nil {
		d.Root.move(move)
	}
}

func (n *Node) move(to func(Span) Span) {
	n.Span = to(n.Span)
	for i := range n.Entries {
		n.Entries[i].At = to(n.Entries[i].At)
		n.Entries[i].Value.move(to)
	}
	for i := range n.Repeated {
		n.Repeated[i].At = to(n.Repeated[i].At)
	}
	for _, item := range n.Items {
		item.move(to)
	}
}

// inFile returns where an offset of the text is in the file.
func (e *Excerpt) inFile(i int) int {
	if e.offsets != nil {
		return e.offsets[min(i, len(e.offsets)-1)]
	}
	return e.base + i
}

// source returns the lines of the text.
func (e *Excerpt) source() *Source {
	if e.lines == nil {
		e.lines = NewSource(e.bytes)
	}
	return e.lines
}

// span returns where a span of the text is in the file.
func (e *Excerpt) span(at Span) Span {
	i := e.source().offset(at.Line, at.Col)
	from := e.inFile(i)
	to := max(e.inFile(min(i+at.Width, len(e.bytes))), from+1)
	line := e.file.Line(from)
	start := e.file.lines[line-1]
	return Span{Line: line, Col: from - start + 1, Width: max(min(to, e.file.LineEnd(from))-from, 1)}
}

// offset returns the offset of a position, which may be after the end of its line.
func (s *Source) offset(line, col int) int {
	line = min(max(line, 1), len(s.lines))
	return min(s.lines[line-1]+max(col, 1)-1, len(s.Text))
}
