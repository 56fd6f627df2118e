package retrygen

import (
	"go/ast"
	"go/token"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLintDependencies: who imports package lint, as golangci-lint does, compiles the analysis
// framework, and neither parsers of policies nor the engine of durable runs.
func TestLintDependencies(t *testing.T) {
	const format = "{{with .Module}}{{.Path}} {{$.ImportPath}}{{end}}"
	out, err := exec.Command("go", "list", "-deps", "-f", format, "./lint").Output()
	if err != nil {
		t.Fatal(err)
	}
	heavy := []string{"policy", "schema", "foreign", "gen", "runtime/durable"}
	for line := range strings.Lines(string(out)) {
		of, pkg, _ := strings.Cut(strings.TrimSpace(line), " ")
		own, local := strings.CutPrefix(pkg, module+"/")
		switch {
		case !local && of != "golang.org/x/tools":
			t.Errorf("lint imports %s of %s: only golang.org/x/tools", pkg, of)
		case local && slices.Contains(heavy, own):
			t.Errorf("lint imports %s", own)
		}
	}
}

// TestLintEndsNothing: an analyzer neither ends the program that runs it nor does anything
// before that.
func TestLintEndsNothing(t *testing.T) {
	ends := map[string]bool{"panic": true, "os.Exit": true, "log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true}
	eachGoFile(t, func(name string, files *token.FileSet, file *ast.File, _ []byte) {
		if !strings.HasPrefix(name, "lint/") || strings.HasSuffix(name, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: a function init", files.Position(n.Pos()))
				}
			case *ast.CallExpr:
				if called := calledName(n.Fun); ends[called] {
					t.Errorf("%s: a call of %s", files.Position(n.Pos()), called)
				}
			}
			return true
		})
	})
}

// calledName returns the name of a function as a call has it: panic or os.Exit.
func calledName(fn ast.Expr) string {
	switch fn := fn.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		if pkg, ok := fn.X.(*ast.Ident); ok {
			return pkg.Name + "." + fn.Sel.Name
		}
	}
	return ""
}
