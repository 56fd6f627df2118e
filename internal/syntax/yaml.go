package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// maxSearched is the size in bytes up to which the line of an error is searched
// for. The binary search parses the file once in each step.
const maxSearched = 64 << 10

// syntax reports an error of the YAML library, at its line and in words about the
// file.
func (p *parser) syntax(text []byte, err error) {
	if errors.Is(err, errSecondDocument) {
		at := Span{1, 1, 3}
		for i, line := range p.lines[1:] {
			if bytes.HasPrefix(line, []byte("---")) {
				at.Line = i + 2
				break
			}
		}
		p.problem(at, "P100", "a second document begins here: write one policy file for each package")
		return
	}
	_, what := lineAndText(err)
	if strings.HasPrefix(what, "control characters") {
		p.problem(p.firstControl(), "P100", "this is not YAML: %s", what)
		return
	}
	line, what := p.syntaxLine(text, what)
	source, at := p.lines[line-1], p.body(line)
	if strings.HasPrefix(what, "found incompatible YAML") {
		p.problem(at, "P100", "only YAML 1.1 is read after the directive %%YAML: remove the directive")
		return
	}
	if i := bytes.IndexByte(source, '\t'); i >= 0 && strings.Contains(what, "cannot start any token") {
		what = "tabs are not allowed here: indent with spaces"
		at = Span{line, i + 1, 1}
	}
	if m := unknownAnchor.FindStringSubmatch(what); m != nil {
		if i := bytes.Index(source, []byte("*"+m[1])); i >= 0 {
			at = Span{line, i + 1, 1 + len(m[1])}
		}
	}
	if before, closing := p.unclosed(at.Line, what); before > 0 {
		at = p.body(before)
		what = closing
	}
	p.problem(at, "P100", "this is not YAML: %s", fix(what))
}

// body returns the span of a line without leading and trailing space.
func (p *parser) body(line int) Span {
	source := bytes.TrimRight(p.lines[line-1], " \t\r")
	body := bytes.TrimLeft(source, " \t")
	return Span{line, len(source) - len(body) + 1, max(len(body), 1)}
}

// unclosed returns the line at whose end the closing bracket of a list in […] or a
// map in {…} is missing, and what to write. It returns 0 if the error is a
// different one.
func (p *parser) unclosed(line int, what string) (before int, text string) {
	m := flowEnd.FindStringSubmatch(what)
	if m == nil {
		return 0, ""
	}
	before = line - 1
	for before > 0 && len(bytes.TrimSpace(p.lines[before-1])) == 0 {
		before--
	}
	closed := append(bytes.Join(p.lines[:before], []byte("\n")), "\n "+m[1]...)
	if _, err := p.decode(bytes.NewReader(closed)); before == 0 || err != nil {
		return 0, ""
	}
	began := ""
	if m[2] != "" && m[2] != strconv.Itoa(before) {
		began = " of line " + m[2]
	}
	return before, fmt.Sprintf("the %s%s is not closed: add %s or a comma at the end of this line",
		flow[m[1]], began, m[1])
}

// flowEnd matches the error of a list or map in brackets that is not closed, or
// lacks a comma.
var flowEnd = regexp.MustCompile(`^did not find expected ',' or '([\]}])'(?: for what begins on line (\d+))?`)

// flow names what a bracket closes.
var flow = map[string]string{"]": "list", "}": "map"}

// fix returns what to write to fix an error of the library.
func fix(what string) string {
	if m := flowEnd.FindStringSubmatch(what); m != nil {
		return fmt.Sprintf("the %s is not closed, or has no comma between two of its items: add %s or a comma",
			flow[m[1]], m[1])
	}
	for _, e := range libraryErrors {
		if strings.HasPrefix(what, e.text) {
			return e.fix
		}
	}
	return what
}

// libraryErrors maps errors about the YAML grammar to texts about the file.
var libraryErrors = []struct{ text, fix string }{
	{"found unexpected end of stream", "the quote that opens here is not closed: add the closing quote"},
	{"mapping values are not allowed in this context",
		"a colon is not allowed here: put the text into quotes, or add the colon that is missing on the line before"},
	{"did not find expected key",
		"a key is expected here: align it with the keys before it, or put the whole text into quotes"},
	{"did not find expected '-' indicator", "a list item is expected here: begin it with - or indent the line less"},
	{"could not find expected ':'", "a colon is missing after this key: write KEY: VALUE"},
	{"did not find expected node content", "a value is missing here: write it, or remove the comma or bracket"},
	{"found character that cannot start any token", "a text cannot begin with @, % or a backtick: put it into quotes"},
}

var (
	yamlLine      = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	// byParser matches the errors for which the library reports no line, or the line
	// before the start of the map or list.
	byParser = regexp.MustCompile(
		`^(?:unknown anchor |did not find expected (?:',' or|node content|key|'-' indicator|<)|found (?:undefined tag handle|duplicate %|incompatible YAML))`)
)

const (
	noSeparator = "did not find expected ',' or " // in {…} or […]
	noValue     = "did not find expected node content"
)

// lineAndText returns the line of an error of the library, 0 if it has none, and
// its text.
func lineAndText(err error) (line int, what string) {
	if err == nil {
		return 0, ""
	}
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, err.Error()
	}
	line, _ = strconv.Atoi(m[1])
	return line, m[2]
}

// syntaxLine returns the line of an error and its text. The text names the line on
// which the unclosed map or list begins, if that is a different one.
func (p *parser) syntaxLine(text []byte, what string) (int, string) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	// The library omits the number of the first line, which is 0: add a line.
	_, err := p.decode(io.MultiReader(strings.NewReader("#\n"), bytes.NewReader(text)))
	began, again := lineAndText(err)
	switch {
	case again != what:
		return 1, what
	case !byParser.MatchString(what):
		return p.line(began - 1), what
	}
	if began = p.line(began); len(text) > maxSearched {
		return began, what + ", here or below"
	}
	line := 1 + sort.Search(len(p.lines)-1, func(i int) bool {
		return p.hasError(bytes.Join(p.lines[:i+1], []byte("\n")), what)
	})
	// An error at the end of the file is reported on the last line that is not blank.
	for line > 1 && len(bytes.TrimSpace(p.lines[line-1])) == 0 {
		line--
	}
	if strings.HasPrefix(what, noSeparator) && began < line {
		what += fmt.Sprintf(" for what begins on line %d", began)
	}
	return line, what
}

func (p *parser) line(n int) int { return min(max(n, 1), len(p.lines)) }

// hasError reports whether parsing text, the beginning of a file, results in the
// error what, regardless of the rest of the file. It appends text that would
// otherwise cause another error, or none.
func (p *parser) hasError(text []byte, what string) bool {
	ends := []string{""} // closes all blocks
	switch {
	case strings.HasPrefix(what, noSeparator):
		// Two commas would be another error after a complete item.
		ends = []string{"\n, ,"}
	case what == noValue:
		// A value that is missing at the end may follow: append one, indented by more
		// than any block, so that it cannot be a key.
		ends = []string{"", "\n" + strings.Repeat(" ", 1000) + "a"}
	}
	// The text may end inside of quotes.
	return slices.ContainsFunc([]string{"", `"`, "'"}, func(quote string) bool {
		return !slices.ContainsFunc(ends, func(end string) bool {
			_, err := p.decode(io.MultiReader(bytes.NewReader(text), strings.NewReader(quote+end)))
			_, again := lineAndText(err)
			return again != what
		})
	})
}

// firstControl returns the place of the first control character.
func (p *parser) firstControl() Span {
	for i, line := range p.lines {
		for at, r := range string(line) {
			if r < ' ' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff {
				return Span{i + 1, at + 1, len(string(r))}
			}
		}
	}
	return Span{1, 1, 1}
}
