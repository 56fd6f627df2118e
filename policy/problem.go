package policy

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/diagnostic"
	"github.com/retrygen/retrygen/policy/rules"
)

// A Pos is a position in a policy file. Lines and columns start at 1. Columns count
// bytes, as in the messages of the Go compiler.
type Pos struct{ Line, Col int }

// A Problem is a mistake in the user's file. Its text describes the mistake and then how
// to fix it.
type Problem struct {
	File string
	Pos
	Width    int    // number of bytes to underline; 0 means the word that begins here
	Rule     string // the id, such as P102
	Severity rules.Severity
	Text     string
	Paste    string // lines that the text suggests pasting into a policy file, or ""

	Finding *rules.Finding `json:"-"` // set for a policy file: the finding from which Text was written
}

// String returns the problem as file:line:col: severity: text [rule].
func (p Problem) String() string { return p.Diagnostic().String() }

// Diagnostic returns the problem in the form in which it is printed.
func (p Problem) Diagnostic() diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		File: p.File, Line: p.Line, Col: p.Col, Width: p.Width,
		Severity: p.Severity, Text: p.Text, Rule: p.Rule, Paste: p.Paste,
	}
}

// Sort orders problems by file, position and rule.
func Sort(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.Text, b.Text),
		)
	})
}

// Print prints each problem with its source line, carets under the position, and the
// lines to paste. It uses terminal colors if color is set. sources maps file names to
// their contents. For a file that is not in sources, Print omits the source line. Errors
// from w are ignored.
func Print(w io.Writer, problems []Problem, sources map[string][]byte, color bool) {
	out := diagnostic.Printer{W: w, Color: color, Source: func(file string) []byte { return sources[file] }}
	for _, p := range problems {
		out.Print(p.Diagnostic())
	}
}

// Summary returns the number of problems by severity, as in "3 errors, 1 warning". It
// returns "" if there are none.
func Summary(problems []Problem) string {
	var list []diagnostic.Diagnostic
	for _, p := range problems {
		list = append(list, p.Diagnostic())
	}
	return diagnostic.Summary(list)
}

// AtLeast returns the problems with the given severity or a higher one.
func AtLeast(severity rules.Severity, problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Severity < severity })
}
