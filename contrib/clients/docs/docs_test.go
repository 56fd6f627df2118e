// Package docs compiles the code on the pages of docs that needs other modules:
// clients to bind, and the libraries that a page migrates from.
package docs

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/docpages"
)

// TestPages generates, compiles, tests and runs the packages in a module with the
// requirements of this one.
func TestPages(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docpages.Blocks(root)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := docpages.Foreign(root, blocks)
	if err != nil {
		t.Fatal(err)
	}
	blocks = slices.DeleteFunc(blocks, func(b docpages.Block) bool { return !foreign[path.Dir(b.Path())] })
	dir := t.TempDir()
	if err := docpages.Write(dir, blocks); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.NewReplacer("=> ../..", "=> "+root, "=> ../", "=> "+root+"/contrib/").Replace(string(text)))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "-mod=mod") // the module in dir lacks some of the imports
	result, err := gen.Generate(t.Context(), gen.Config{Dir: dir, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Failed) > 0 {
		t.Errorf("problems: %v", result.Problems)
	}
	if err := result.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-vet=off", "./..."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s of the pages: %v\n%s", args[0], err, out)
		}
	}
	for _, b := range blocks {
		if err := docpages.VerifyGo(root, dir, b); err != nil {
			t.Errorf("%s: %v", b.Place(), err)
		}
	}
}
