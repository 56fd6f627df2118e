package docpages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func blocksOf(t *testing.T, page string) ([]Block, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.md"), []byte(strings.ReplaceAll(page, "'''", "```")),
		0o666); err != nil {
		t.Fatal(err)
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
		{"page.md:3", "go", "a/b.go", false, []string{}},
		{"page.md:8", "go", "", true, []string{"fragment"}},
		{"page.md:12", "yaml", "", false, []string{"P401"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if blocks[0].Path() != "page/a/b.go" {
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
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Foreign(blocks)
	if diff := cmp.Diff(map[string]bool{"page/foreign": true, "page/near": true}, got); diff != "" || err != nil {
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
