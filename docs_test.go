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

// allRules returns the rules of both commands by id.
func allRules() []rules.Rule {
	return slices.SortedFunc(slices.Values(slices.Concat(policy.Rules(), lint.Rules)), func(a, b rules.Rule) int {
		return strings.Compare(a.ID, b.ID)
	})
}

// TestRulePages keeps docs/rules the same as the rules.
func TestRulePages(t *testing.T) {
	var names []string
	for _, r := range allRules() {
		names = append(names, r.ID+".md")
		page(t, filepath.Join("docs", "rules", r.ID+".md"), r.Markdown())
		if !strings.HasSuffix(r.Reports, ".") || strings.Contains(r.Reports, ". ") {
			t.Errorf("%s: what it reports is not one sentence: %s", r.ID, r.Reports)
		}
		for _, part := range []string{r.Title, r.Why, r.Wrong, r.Right, strings.Join(r.NotReported, ""), r.Fix,
			strings.Join(r.Related, "")} {
			if part == "" {
				t.Errorf("%s: a part of the page is empty", r.ID)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join("docs", "rules"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "README.md" && !slices.Contains(names, e.Name()) {
			t.Errorf("docs/rules/%s is of no rule: remove it", e.Name())
		}
	}
}

// TestRuleIndex keeps docs/rules/README.md the same as the rules.
func TestRuleIndex(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Rules

P rules check policies, in policy files and in ` + "`retry.Policy`" +
		` literals in Go, and those of other systems; retrylint checks gRPC
service configs that are constants in Go. RL rules check Go code. On the command line,
` + "`retrygen explain P301` and `retrylint explain RL101`" + ` print the same text as these pages.

An error fails ` + "`retrygen`" + `, and a warning fails ` + "`retrygen check -strict`" + `. Any finding fails ` +
		"`retrylint`" + `. Rules of severity info are off by default:
` + "`retrygen check -info`" + ` reports them for policy files, and ` + "`retrylint -enable RL110`" +
		` for Go code. The severity is that of the
example on the page; some rules report milder cases with a lower one.

| rule | reports | severity | default | automatic fix |
|---|---|---|---|---|
`)
	for _, r := range allRules() {
		byDefault, fix := "on", ""
		switch {
		case r.Severity == rules.Info:
			byDefault = "off"
		case lint.IsNamed(r.ID):
			byDefault = "`-confidence named`"
		}
		if r.Automatic {
			fix = "`retrylint -fix`"
		}
		fmt.Fprintf(&b, "| [%s](%[1]s.md) | %s | %s | %s | %s |\n", r.ID, r.Title, r.Severity, byDefault, fix)
	}
	page(t, filepath.Join("docs", "rules", "README.md"), b.String())
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
