package retrygen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
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
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name()[0] == '.'):
			return fs.SkipDir
		case filepath.Ext(name) != ".go" || name == "words_test.go":
			return nil
		}
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			// Words may be on two lines.
			text := strings.Join(strings.Fields(group.Text()), " ")
			if word := metaphorIn(text); word != "" {
				t.Errorf("%v: %q is a metaphor: %s", files.Position(group.Pos()), word, text)
			}
		}
		if strings.HasSuffix(name, "_test.go") {
			return nil
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
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
