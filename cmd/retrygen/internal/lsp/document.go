package lsp

import (
	"bytes"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/assist"
)

// A document is one version of an open file. It is not changed.
type document struct {
	uri     string
	path    string // "": it is not a file of this machine
	version int
	utf8    bool // positions of the protocol count bytes, else UTF-16 code units
	isOwn   func() bool
	*assist.Document

	// fromGo are the problems that the Go code shows with the file on disk. Their places
	// are those in this version.
	fromGo []policy.Problem
}

func (s *server) newDocument(uri string, version int, text []byte) *document {
	d := &document{uri: uri, path: pathOf(uri), version: version, utf8: s.utf8}
	name := filepath.Base(d.path)
	if d.path == "" {
		name = uri[strings.LastIndexAny(uri, "/:")+1:]
	}
	d.Document = assist.New(name, text)
	d.isOwn = sync.OnceValue(func() bool { return s.config.IsOwn(d.Name, d.Text) })
	return d
}

// pathOf returns the path of a file, or "" for another URI.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	path := u.Path
	if u.Host != "" && u.Host != "localhost" { // a shared folder of Windows
		path = "//" + u.Host + path
	}
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // of Windows
		path = path[1:]
	}
	return filepath.FromSlash(path)
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if shared, ok := strings.CutPrefix(path, "//"); ok {
		host, rest, _ := strings.Cut(shared, "/")
		return (&url.URL{Scheme: "file", Host: host, Path: "/" + rest}).String()
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// changed returns the next version of a document.
func (s *server) changed(d *document, version int, changes []contentChange) *document {
	text, problems := d.Text, slices.Clone(d.fromGo)
	for _, c := range changes {
		if c.Range == nil {
			text, problems = []byte(c.Text), nil
			continue
		}
		at := s.newDocument(d.uri, version, text) // the ranges of a list follow each other
		start, end := at.Offset(at.pos(c.Range.Start)), at.Offset(at.pos(c.Range.End))
		end = max(start, end)
		problems = moved(problems, at.Place(start), at.Place(end), c.Text)
		text = slices.Concat(text[:start], []byte(c.Text), text[end:])
	}
	next := s.newDocument(d.uri, version, text)
	next.fromGo = problems
	return next
}

// moved returns the problems where an edit moves them, without those on lines that it
// changes.
func moved(problems []policy.Problem, start, end policy.Pos, text string) []policy.Problem {
	lines := strings.Count(text, "\n") - (end.Line - start.Line)
	splits := start.Line < end.Line || strings.HasPrefix(text, "\n") || strings.HasPrefix(text, "\r\n")
	last := end.Line // that is changed
	if end.Col == 1 && (strings.HasSuffix(text, "\n") || text == "" && start.Col == 1) {
		last--
	}
	problems = slices.DeleteFunc(problems, func(p policy.Problem) bool {
		return start.Line <= p.Line && p.Line <= last && !(p.Line == start.Line && p.Col < start.Col && splits)
	})
	for i := range problems {
		if problems[i].Line > last {
			problems[i].Line += lines
		}
	}
	return problems
}

// line returns a line, counted from 1, without its newline.
func (d *document) line(n int) []byte {
	start := d.Offset(policy.Pos{Line: n, Col: 1})
	line := d.Text[start:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	return line
}

// pos returns a position of the protocol as one of package policy.
func (d *document) pos(p position) policy.Pos {
	line := max(p.Line, 0) + 1
	if d.utf8 {
		return policy.Pos{Line: line, Col: max(p.Character, 0) + 1}
	}
	text := d.line(line)
	col, units := 0, 0
	for col < len(text) && units < p.Character {
		r, size := utf8.DecodeRune(text[col:])
		units += utf16.RuneLen(r)
		col += size
	}
	return policy.Pos{Line: line, Col: col + 1}
}

// position returns a position of package policy as one of the protocol.
func (d *document) position(p policy.Pos) position {
	at := position{Line: max(p.Line-1, 0)}
	text := d.line(p.Line)
	col := min(max(p.Col-1, 0), len(text))
	if d.utf8 {
		at.Character = col
		return at
	}
	for _, r := range string(text[:col]) {
		at.Character += max(utf16.RuneLen(r), 1)
	}
	return at
}

func (d *document) textRange(r assist.Range) textRange {
	return textRange{d.position(r.Start), d.position(r.End)}
}

// within returns a range of the protocol as one of package assist.
func (d *document) within(r textRange) assist.Range {
	return assist.Range{Start: d.pos(r.Start), End: d.pos(r.End)}
}
