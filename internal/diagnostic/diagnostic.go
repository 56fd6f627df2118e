// Package diagnostic prints problems of policy files and findings in Go code in one
// form: file:line:col: severity: text [rule], with the source line underlined.
package diagnostic

import (
	"bytes"
	"fmt"
	"go/token"
	"io"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/policy/rules"
)

// A Diagnostic is a problem of a policy file or a finding in Go code.
type Diagnostic struct {
	File      string
	Line, Col int // from 1; Col counts bytes and is 0 if it is not known
	Width     int // bytes to underline; 0: the word that begins at Col
	Severity  rules.Severity
	Text      string // what is wrong, then what to do
	Rule      string // P103
	Fixable   bool   // retrylint -fix fixes it
	Named     bool   // it rests on names in the code, so it may be wrong
	Paste     string // lines of a policy file that are part of the text, or ""
}

// String returns the first line of the output of a Printer, without color.
func (d Diagnostic) String() string { return new(Printer).headline(d) }

// A Printer prints diagnostics to W. It must not be used concurrently.
type Printer struct {
	W     io.Writer
	Color bool
	// Source returns the text of a file, or nil if it is not known. The diagnostic
	// is then printed without its source line.
	Source func(file string) []byte

	file  string // the file to which lines belongs
	lines [][]byte
}

// Print prints a diagnostic, its source line with carets under the position, and
// the lines to paste. Errors of W are ignored.
func (p *Printer) Print(d Diagnostic) {
	fmt.Fprintln(p.W, p.headline(d))
	if p.file != d.File || p.lines == nil {
		p.file, p.lines = d.File, slices.Collect(bytes.Lines(p.Source(d.File)))
	}
	if 1 <= d.Line && d.Line <= len(p.lines) {
		p.printLine(p.lines[d.Line-1], d.Line, d.Col, d.Width, paints[d.Severity])
	}
	for line := range strings.Lines(d.Paste) {
		fmt.Fprint(p.W, "      "+line)
	}
}

// headline returns file:line:col: severity: text [rule] [named] [fixable].
func (p *Printer) headline(d Diagnostic) string {
	at := token.Position{Filename: d.File, Line: d.Line, Column: d.Col}
	text := fmt.Sprintf("%s %s %s %s", p.painted(bold, at.String()+":"),
		p.painted(paints[d.Severity], d.Severity.String()+":"), d.Text, p.painted(cyan, "["+d.Rule+"]"))
	if d.Named {
		text += " " + p.painted(cyan, "[named]")
	}
	if d.Fixable {
		text += " " + p.painted(green, "[fixable]")
	}
	return text
}

// The colors, as parameters of the SGR control sequence of terminals.
const (
	bold  = "1"
	green = "32"
	cyan  = "36"
)

// paints are the colors of the severities: cyan, yellow and red, in bold.
var paints = [...]string{rules.Info: "1;36", rules.Warning: "1;33", rules.Error: "1;31"}

// painted returns a text in a color, if the printer prints in color.
func (p *Printer) painted(color, text string) string {
	if !p.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Summary returns the number of diagnostics by severity, as "3 errors, 1 warning; 2
// fixable with retrylint -fix". It returns "" if there are none.
func Summary(list []Diagnostic) string {
	var count [len(paints)]int
	fixable := 0
	for _, d := range list {
		count[d.Severity]++
		if d.Fixable {
			fixable++
		}
	}
	var parts []string
	for severity, n := range slices.Backward(count[:]) {
		noun := rules.Severity(severity).String()
		if n > 1 && severity != int(rules.Info) {
			noun += "s"
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, noun))
		}
	}
	text := strings.Join(parts, ", ")
	if fixable > 0 {
		text += fmt.Sprintf("; %d fixable with retrylint -fix", fixable)
	}
	return text
}
