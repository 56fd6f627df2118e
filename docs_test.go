package retrygen

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/lint"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

var update = flag.Bool("update", false, "rewrite the pages under docs/rules and the generated files")

// TestRulePages keeps docs/rules the same as what the code says of itself.
func TestRulePages(t *testing.T) {
	pages := map[string]string{}
	for _, r := range slices.Concat(policy.Language, rules.All) {
		pages[r.ID] = r.Markdown()
	}
	for _, a := range lint.Suite {
		if id := strings.TrimSuffix(filepath.Base(a.URL), ".md"); strings.HasPrefix(id, "RL") {
			pages[id] = markdown(id, a.Doc)
		}
	}
	for id, want := range pages {
		page(t, filepath.Join("docs", "rules", id+".md"), want)
	}
}

// markdown turns the doc of an analyzer into a page: its indented examples
// into fenced ones.
func markdown(id, doc string) string {
	title, body, _ := strings.Cut(doc, "\n")
	_, title, _ = strings.Cut(title, ": ")
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n", id, title)
	fenced := false
	lines := strings.Split(strings.Trim(body, "\n"), "\n")
	for i, line := range lines {
		code := strings.HasPrefix(line, "\t") || line == "" && fenced && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t")
		if code != fenced {
			if code {
				b.WriteString("\n```go")
			} else {
				b.WriteString("\n```")
			}
			fenced = code
		}
		b.WriteString("\n" + strings.TrimPrefix(line, "\t"))
	}
	if fenced {
		b.WriteString("\n```")
	}
	return b.String() + "\n"
}

// TestGeneratedFilesAreFresh runs the generator over this repository.
func TestGeneratedFilesAreFresh(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	result, err := gen.Generate(t.Context(), gen.Config{Dir: dir, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Failed) > 0 {
		t.Errorf("problems: %v", result.Problems)
	}
	if *update {
		if err := result.Commit(); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := result.Diff(); !bytes.Equal(diff, nil) {
		t.Errorf("generated files are stale: go generate ./...\n%s", diff)
	}
}
