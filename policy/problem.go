package policy

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/excerpt"
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

// String returns the problem as file:line:col: text [rule], with "warning: " or
// "info: " before the text of what does not fail the run.
func (p Problem) String() string {
	kind := ""
	if p.Severity != rules.Error {
		kind = p.Severity.String() + ": "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s [%s]", p.File, p.Line, p.Col, kind, p.Text, p.Rule)
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

// Print writes each problem with the line of its file, a caret under the place,
// and the lines to paste. sources holds the text of the files by name; without it only the
// problem is printed.
func Print(w io.Writer, problems []Problem, sources map[string][]byte) {
	lines := map[string]excerpt.Lines{}
	for _, p := range problems {
		fmt.Fprintln(w, p)
		if lines[p.File] == nil {
			lines[p.File] = excerpt.LinesOf(sources[p.File])
		}
		lines[p.File].Print(w, p.Line, p.Col, p.Width)
		for line := range strings.Lines(p.Paste) {
			fmt.Fprint(w, "      "+line)
		}
	}
}

// AtLeast returns the problems of a severity and above.
func AtLeast(severity rules.Severity, problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Severity < severity })
}
