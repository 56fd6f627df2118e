package docpages

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func blocksOf(t *testing.T, page string) ([]Block, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"README.md": "", "docs/page.md": page} {
		err := writeFile(filepath.Join(dir, filepath.FromSlash(name)), strings.ReplaceAll(text, "'''", "```"))
		if err != nil {
			t.Fatal(err)
		}
	}
	return Blocks(dir)
}

func TestBlocks(t *testing.T) {
	blocks, err := blocksOf(t,
		"# Page\n\n'''go\n// a/b.go\npackage b\n'''\n\n'''go fragment\n// c.go\n'''\n\n'''yaml P401\nversion: 1\n'''\n")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Place, Lang, File string
		Fragment          bool
		Marks             []string
	}
	var got []row
	for _, b := range blocks {
		got = append(got, row{b.Place(), b.Lang, b.File(), b.Fragment(), b.Marks})
	}
	want := []row{
		{"docs/page.md:3", "go", "a/b.go", false, []string{}},
		{"docs/page.md:8", "go", "", true, []string{"fragment"}},
		{"docs/page.md:12", "yaml", "", false, []string{"P401"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if blocks[0].Path() != "docs/page/a/b.go" {
		t.Errorf("the path is %s", blocks[0].Path())
	}
	if _, err := blocksOf(t, "'''go\npackage a\n"); err == nil {
		t.Error("a block without an end is no error")
	}
}

func TestForeign(t *testing.T) {
	blocks, err := blocksOf(t, `'''go
// own/a.go
package own

import (
	"fmt"
	"github.com/retrygen/retrygen/runtime"
	"example.com/docs/page/other"
)
'''
'''go
// foreign/a.go
package foreign

import "example.org/sdk"
'''
'''go
// near/a.go
package near

import "github.com/retrygen/retrygenerator"
'''
'''go
// nested/a.go
package nested

import "github.com/retrygen/retrygen/contrib/sqlite"
'''
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Foreign("../..", blocks)
	want := map[string]bool{"docs/page/foreign": true, "docs/page/near": true, "docs/page/nested": true}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCommandLines(t *testing.T) {
	for _, tt := range []struct {
		lang, text string
		want       [][]string
	}{
		{"sh", "go tool retrygen -check ./... # why\n", [][]string{{"-check", "./..."}}},
		{"sh", "retrygen check && go tool retrygen schema > file\nretrylint .\n", [][]string{{"check"}, {"schema"}}},
		{"console", "$ retrygen explain read\nretrygen: no such policy\n", [][]string{{"explain", "read"}}},
		{"yaml", "      - run: go tool retrygen -check\n      - run: go test\n", [][]string{{"-check"}}},
		{"go", "retrygen check\n", nil},
	} {
		if diff := cmp.Diff(tt.want, commands(Block{Lang: tt.lang, Text: tt.text}, "retrygen")); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", tt.lang, tt.text, diff)
		}
	}
}

func TestCommand(t *testing.T) {
	for _, tt := range []struct {
		lang, text, output string
		words              []string
	}{
		{"console", "$ go tool retrygen check \"a b\"\n1 error\n", "1 error\n", []string{"retrygen", "check", "a b"}},
		{"console", "$ go run .\n", "", []string{"go", "run", "."}},
		{"console", "1 error\n", "", nil},
		{"console", "$ retrygen check\n1 error\n$ retrygen list\n", "", nil},
		{"text", "$ retrygen check\n", "", nil},
	} {
		words, output := Block{Lang: tt.lang, Text: tt.text}.Command()
		if diff := cmp.Diff(tt.words, words); diff != "" || output != tt.output {
			t.Errorf("%s %q: output %q (-want +got):\n%s", tt.lang, tt.text, output, diff)
		}
	}
}

func TestNormalize(t *testing.T) {
	const printed = "2026/11/27 06:54:45 INFO wait=2ms timeout=1m0s call=183134244258782 budget_left=48.05732\n4.0 °C\n"
	const want = "TIME INFO wait=WAIT timeout=WAIT call=ID budget_left=LEFT\n4.0 °C\n"
	if diff := cmp.Diff(want, normalize(printed)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
