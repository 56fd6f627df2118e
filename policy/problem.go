package policy

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/diagnostic"
	"github.com/retrygen/retrygen/policy/rules"
)

// A Pos is a place in a policy file. Both numbers count from 1; columns count
// bytes, as the Go compiler's do.
type Pos struct{ Line, Col int }

// A Problem is something wrong in the user's file: what is wrong, then what to
// do about it.
type Problem struct {
	File string
	Pos
	Width    int // bytes to underline; 0: the word that begins here
	Rule     string
	Severity rules.Severity
	Text     string
	Paste    string // lines of a policy file that are part of the text, or ""
}

// String returns the problem as file:line:col: severity: text [rule].
func (p Problem) String() string { return p.diagnostic().String() }

// diagnostic returns the problem in the form in which it is printed.
func (p Problem) diagnostic() diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		File: p.File, Line: p.Line, Col: p.Col, Width: p.Width,
		Severity: p.Severity, Text: p.Text, Rule: p.Rule, Paste: p.Paste,
	}
}

// Sort orders problems by file, place and rule.
func Sort(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.Text, b.Text),
		)
	})
}

// Print prints each problem with the line of its file, carets under the place,
// and the lines to paste, in color for a terminal if color is set. sources holds
// the text of the files by name; of a file that it does not hold no line is
// printed.
func Print(w io.Writer, problems []Problem, sources map[string][]byte, color bool) {
	out := diagnostic.Printer{W: w, Color: color, Source: func(file string) []byte { return sources[file] }}
	for _, p := range problems {
		out.Print(p.diagnostic())
	}
}

// Summary counts problems by severity: 3 errors, 1 warning. It is empty if there
// are none.
func Summary(problems []Problem) string {
	var list []diagnostic.Diagnostic
	for _, p := range problems {
		list = append(list, p.diagnostic())
	}
	return diagnostic.Summary(list)
}

// AtLeast returns the problems of a severity and above.
func AtLeast(severity rules.Severity, problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Severity < severity })
}
