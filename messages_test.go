package retrygen

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// metaphors are words that messages and documentation use only in their
// literal sense, which programs have no use for.
var metaphors = regexp.MustCompile(
	`(?i)\b(stands|tells|told|mends?|mended|anew|beside|behind|ways? out|gives? up|giving up|shuts? out|in a circle)\b`)

// TestMessages: no text that the commands print is longer than 200 characters
// or uses a metaphor. Texts are the string constants with a space: the length
// counts where they are arguments, as formats are.
func TestMessages(t *testing.T) {
	for _, root := range []string{"cmd", "gen", "internal/cli", "lint", "policy"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			return checkMessages(t, name)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func checkMessages(t *testing.T, name string) error {
	const longest = 200
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			for _, arg := range n.Args {
				text := textOf(arg)
				if len([]rune(text)) > longest && strings.Contains(text, " ") && !strings.Contains(text, "\n") {
					t.Errorf("%v: %d characters, more than %d: %s", files.Position(arg.Pos()), len([]rune(text)), longest, text)
				}
			}
		case *ast.BasicLit:
			text := textOf(n)
			if word := metaphors.FindString(text); word != "" && strings.Contains(text, " ") {
				t.Errorf("%v: %q is a metaphor: %s", files.Position(n.Pos()), word, text)
			}
		}
		return true
	})
	return nil
}

// textOf returns the value of a string literal, or of a sum of them, or "".
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return constant.StringVal(constant.MakeFromLiteral(e.Value, e.Kind, 0))
		}
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	}
	return ""
}
