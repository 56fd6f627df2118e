package retrygen

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// metaphors are words that texts use only in their literal sense, which programs have
// no use for.
var metaphors = regexp.MustCompile(
	`(?i)\b(stands|tells|told|mends?|mended|anew|beside|behind|ways? out|gives? up|giving up|shuts? out|in a circle)\b`)

// metaphorIn returns the first metaphor in a text, or "". A placeholder stands for a value.
func metaphorIn(text string) string {
	return metaphors.FindString(strings.ReplaceAll(text, "stands for", ""))
}

// TestWords: no package of this repository, nested modules included, uses a metaphor in a
// comment, or in a string with a space that is not in a test.
func TestWords(t *testing.T) {
	eachGoFile(t, func(name string, files *token.FileSet, file *ast.File, _ []byte) {
		if name == "words_test.go" {
			return
		}
		for _, group := range file.Comments {
			// Words may be on two lines.
			text := strings.Join(strings.Fields(group.Text()), " ")
			if word := metaphorIn(text); word != "" {
				t.Errorf("%v: %q is a metaphor: %s", files.Position(group.Pos()), word, text)
			}
		}
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok {
				return true
			}
			text := textOf(lit)
			if word := metaphorIn(text); word != "" && strings.Contains(text, " ") {
				t.Errorf("%v: %q is a metaphor: %s", files.Position(lit.Pos()), word, text)
			}
			return true
		})
	})
}
