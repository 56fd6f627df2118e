package lint

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
	goimports "golang.org/x/tools/imports"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/internal/docpages"
	"github.com/retrygen/retrygen/policy/rules"
)

// TestExamples runs the suite over the code on the pages of the rules. An example must break its
// rule, with the evidence that the index of the rules shows, and other rules only if the page
// relates them. What is fixed must break no rule.
func TestExamples(t *testing.T) {
	request(t, "RL109,RL110,RL114,RL304", Named)
	src := filepath.Join(goPath(t), "src")
	// RL502 judges a whole file, and what is fixed is a policy file.
	judged := slices.DeleteFunc(slices.Clone(Rules), func(r rules.Rule) bool { return r.ID == "RL502" })
	var patterns []string
	for _, r := range judged {
		for _, section := range []string{"Example", "Fixed"} {
			pattern := path.Join(r.ID, section)
			if err := writeExample(filepath.Join(src, pattern), docpages.Code(docs.Rule(r.ID), section)); err != nil {
				t.Fatalf("%s: %v", pattern, err)
			}
			patterns = append(patterns, pattern)
		}
	}
	reported := map[string]Evidence{} // the rules of examples
	for _, act := range analyze(t, src, patterns) {
		rule, section := path.Split(act.Package.PkgPath)
		rule = path.Clean(rule)
		_, related, _ := strings.Cut(string(docs.Rule(rule)), "\n## Related\n")
		for _, d := range act.Diagnostics {
			_, ids, evidence := Parse(d)
			for _, id := range ids {
				switch {
				case section == "Fixed", id != rule && !strings.Contains(related, "["+id+"]"):
					t.Errorf("%s: line %d: %s", act.Package, act.Package.Fset.Position(d.Pos).Line, d.Message)
				case id == rule:
					reported[rule] = evidence
				}
			}
		}
	}
	for _, r := range judged {
		switch evidence, ok := reported[r.ID]; {
		case !ok:
			t.Errorf("%s is not reported for its example", r.ID)
		case r.Severity != rules.Info && (evidence == Named) != IsNamed(r.ID):
			t.Errorf("%s is reported for its example with evidence %v", r.ID, evidence)
		}
	}
}

// goPath returns a GOPATH with the libraries of testdata/libraries and the runtime.
func goPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{
		"testdata/libraries/src": "",
		"../runtime":             "github.com/retrygen/retrygen/runtime",
		"../internal/captured":   "github.com/retrygen/retrygen/internal/captured",
		"../internal/grpcstatus": "github.com/retrygen/retrygen/internal/grpcstatus",
		"../internal/idempotent": "github.com/retrygen/retrygen/internal/idempotent",
	} {
		if err := os.CopyFS(filepath.Join(dir, "src", to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// writeExample writes a package with an example, of statements or declarations.
func writeExample(dir, code string) error {
	if err := os.CopyFS(dir, os.DirFS("testdata/examples")); err != nil {
		return err
	}
	const clause = "package example\n\n"
	if _, err := parser.ParseFile(token.NewFileSet(), "", clause+code, parser.SkipObjectResolution); err != nil {
		ctx := ""
		if strings.Contains(code, "ctx") {
			ctx = "ctx context.Context, "
		}
		code = fmt.Sprintf("func example(%sc *Client) (err error) {\n%s\nreturn err\n}\n", ctx, code)
	}
	name := filepath.Join(dir, "example.go")
	text, err := goimports.Process(name, []byte(clause+code), nil)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o666)
}

// analyze runs the suite over packages in the src folder of a GOPATH.
func analyze(t *testing.T, src string, patterns []string) []*checker.Action {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax, Dir: src,
		Env: append(os.Environ(), "GO111MODULE=off", "GOWORK=off", "GOPATH="+filepath.Dir(src)),
	}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range pkgs {
		for _, err := range pkg.Errors {
			t.Errorf("%s: %v", pkg, err)
		}
	}
	graph, err := checker.Analyze(Suite, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Error(act.Err)
		}
	}
	return graph.Roots
}
