package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/internal/docpages"
)

// TestDocs: the commands and the flags on the pages of docs exist.
func TestDocs(t *testing.T) {
	blocks, err := docpages.Blocks("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	commands := docpages.Commands(blocks, "retrygen")
	if len(commands) == 0 {
		t.Error("there are no commands")
	}
	for _, c := range commands {
		if err := program().Verify(c.Args); err != nil {
			t.Errorf("%s: retrygen %q: %v", c.Place, c.Args, err)
		}
	}
}

// TestDocsOutput runs the command of each console block on the policy file that
// comes before it on the page, and compares what it prints.
func TestDocsOutput(t *testing.T) {
	docs, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docpages.Blocks(docs)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	file, page := "", ""
	for _, b := range blocks {
		if b.Lang == "yaml" && !b.Fragment() {
			file, page = b.Text, b.Page
		}
		if b.Lang != "console" {
			continue
		}
		commands := docpages.Commands([]docpages.Block{b}, "retrygen")
		if len(commands) != 1 || page != b.Page {
			t.Errorf("%s: want one command of retrygen, after a policy file", b.Place())
			continue
		}
		if err := os.WriteFile("retry.yaml", []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		run(commands[0].Args, &out, &out)
		prompt, _, _ := strings.Cut(b.Text, "\n")
		want := prompt + "\n" + out.String()
		if flag.Lookup("update").Value.String() == "true" {
			if err := docpages.Replace(docs, b, want); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(want, b.Text); diff != "" {
			t.Errorf("%s is stale: go test ./cmd/retrygen -run TestDocs -update (-want +got):\n%s", b.Place(), diff)
		}
	}
}
