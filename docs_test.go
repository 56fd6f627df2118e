package retrygen

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/lint"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the pages, and the generated files")

// allRules returns the rules of both commands by id.
func allRules() []rules.Rule {
	return slices.SortedFunc(slices.Values(slices.Concat(policy.Rules(), lint.Rules)), func(a, b rules.Rule) int {
		return strings.Compare(a.ID, b.ID)
	})
}

// rulePage matches a page of a rule. Its groups are the id, the severity, what the rule reports,
// the languages and the texts of both examples, whether the fix is automatic, and the links.
var rulePage = regexp.MustCompile("^# (\\w+): .+\n\nSeverity: (.+)\\.\n\n" +
	"## What it reports\n\n(.+)\\.\n\n" +
	"## Why it matters\n\n.+\n\n" +
	"## Example\n\n```(\\w+)\n((?s:.+?))```\n\n" +
	"## Fixed\n\n```(\\w+)\n((?s:.+?))```\n\n" +
	"## Not reported\n\n(?:- .+\n)+\n" +
	"## Fix\n\n(Automatic with `retrylint -fix`|Not automatic)\\. .+\n\n" +
	"## Related\n\n(\\[.+\\.md\\))\n$")

// TestRulePages: each rule has a page with all parts, which agrees with the code.
func TestRulePages(t *testing.T) {
	names := []string{"README.md"}
	for _, r := range allRules() {
		names = append(names, r.ID+".md")
		m := rulePage.FindStringSubmatch(string(docs.Rule(r.ID)))
		if m == nil {
			t.Errorf("docs/rules/%s.md is missing, or does not have the headings of the other pages: compare it with "+
				"docs/rules/P201.md", r.ID)
			continue
		}
		if m[1] != r.ID || m[2] != severityLine(r) {
			t.Errorf("%s: the page is of %s with severity %q, want %q", r.ID, m[1], m[2], severityLine(r))
		}
		if strings.Contains(m[3], ". ") {
			t.Errorf("%s: what it reports is not one sentence: %s", r.ID, m[3])
		}
		for _, example := range [][]string{m[4:6], m[6:8]} {
			code, err := format.Source([]byte(example[1]))
			if example[0] == "go" && (err != nil || string(code) != example[1]) {
				t.Errorf("%s: an example is not formatted Go code: %v\n%s", r.ID, err, example[1])
			}
		}
		for related := range strings.SplitSeq(m[9], ", ") {
			if id, _, _ := strings.Cut(strings.TrimPrefix(related, "["), "]"); related != fmt.Sprintf("[%s](%[1]s.md)", id) {
				t.Errorf("%s: %s is not a link to a rule", r.ID, related)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join("docs", "rules"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) {
			t.Errorf("docs/rules/%s is of no rule: add the rule, or remove the page", e.Name())
		}
	}
}

// severityLine returns the severity on the page of a rule.
func severityLine(r rules.Rule) string {
	switch isGo := strings.HasPrefix(r.ID, "RL"); {
	case r.Severity != rules.Info, policy.IsNote(r.ID):
		return r.Severity.String()
	case isGo:
		return "info, off by default: enable it with `retrylint -enable " + r.ID + "`"
	}
	return "info, off by default: enable it with `retrygen check -info`"
}

// TestRuleIndex keeps the table in docs/rules/README.md the same as the rules and their pages.
func TestRuleIndex(t *testing.T) {
	name := filepath.Join("docs", "rules", "README.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const header = "| rule | reports | severity | default | automatic fix |\n|---|---|---|---|---|\n"
	before, _, _ := strings.Cut(string(text), header)
	var b strings.Builder
	for _, r := range allRules() {
		rulePage := docs.Rule(r.ID)
		byDefault, fix := "on", ""
		switch {
		case r.Severity == rules.Info && !policy.IsNote(r.ID):
			byDefault = "off"
		case lint.IsNamed(r.ID):
			byDefault = "`-confidence named`"
		}
		if strings.Contains(string(rulePage), "\nAutomatic with") {
			fix = "`retrylint -fix`"
		}
		fmt.Fprintf(&b, "| [%s](%[1]s.md) | %s | %s | %s | %s |\n", r.ID, rulePage.Title(), r.Severity, byDefault, fix)
	}
	page(t, name, before+header+b.String())
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
