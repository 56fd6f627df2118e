package retrygen

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestMessages: no text that the commands print is longer than 200 characters. Texts are
// the string constants with a space that are arguments, as formats are.
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
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, arg := range call.Args {
			text := textOf(arg)
			if n := len([]rune(text)); n > longest && strings.Contains(text, " ") && !strings.Contains(text, "\n") {
				t.Errorf("%v: %d characters, more than %d: %s", files.Position(arg.Pos()), n, longest, text)
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
