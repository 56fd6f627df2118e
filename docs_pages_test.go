package retrygen

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/docpages"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// blocksOf returns the code blocks of the README and of all pages but those of the
// rules, which are tested where they are defined.
func blocksOf(t *testing.T) []docpages.Block {
	t.Helper()
	blocks, err := docpages.Blocks(".")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(blocks, func(b docpages.Block) bool { return strings.HasPrefix(b.Page, "docs/rules/") })
}

// TestOutputs: an output on a page is that of a command which a test runs. TestDocs
// of each program runs its commands, and TestGoBlocks the programs on the pages.
func TestOutputs(t *testing.T) {
	_, texts, err := docpages.Pages(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocksOf(t) {
		switch {
		case b.Fragment():
		case b.Lang == "" || b.Lang == "text":
			t.Errorf("%s: the output needs the language console and its command, or the mark fragment", b.Place())
		case b.Lang == "console":
			words, _ := b.Command()
			if len(words) == 0 || !slices.Contains([]string{"retrygen", "retrylint", "retryctl", "go"}, words[0]) {
				t.Errorf("%s: the block needs one command that a test runs, as $ retrygen check", b.Place())
			}
		}
	}
	for name, text := range texts {
		if code := indented.FindString(fence.ReplaceAllString(text, "")); code != "" {
			t.Errorf("%s: the block needs fences: %s", name, code)
		}
	}
}

// TestPolicyBlocks checks the policy files on the pages. The mark of a rule
// says that the file breaks it.
func TestPolicyBlocks(t *testing.T) {
	for _, b := range blocksOf(t) {
		if b.Lang != "yaml" || b.Fragment() || b.File() != "" && path.Base(b.File()) != "retry.yaml" {
			continue
		}
		var got []string
		_, problems := policy.Check(b.Place(), []byte(b.Text))
		for _, p := range policy.AtLeast(rules.Warning, problems) {
			got = append(got, p.Rule)
			if !slices.Contains(b.Marks, p.Rule) {
				t.Errorf("%s: %v", b.Place(), p)
			}
		}
		for _, id := range b.Marks {
			if !slices.Contains(got, id) {
				t.Errorf("%s does not break %s", b.Place(), id)
			}
		}
	}
}

// TestGoBlocks generates, compiles, tests and runs the packages on the pages that
// need no other module; contrib/clients/docs has the others.
func TestGoBlocks(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	blocks := blocksOf(t)
	for _, b := range blocks {
		if b.Lang == "go" && b.File() == "" && !b.Fragment() && !b.Generated() {
			t.Errorf("%s: the block needs a file name in its first line, as // client.go, or the mark fragment", b.Place())
		}
	}
	foreign, err := docpages.Foreign(root, blocks)
	if err != nil {
		t.Fatal(err)
	}
	blocks = slices.DeleteFunc(blocks, func(b docpages.Block) bool { return foreign[path.Dir(b.Path())] })
	dir := t.TempDir()
	if err := errors.Join(docpages.WriteModule(dir, root), docpages.Write(dir, blocks)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	result, err := gen.Generate(t.Context(), gen.Config{Dir: dir, Strict: true, Tests: true, Faults: true})
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

var (
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	inline  = regexp.MustCompile("`[^`\n]*`")
	fence   = regexp.MustCompile("(?s)```.*?\n *```")

	indented = regexp.MustCompile(`\n\n(?: {4}|\t)\S.*`)
)

// TestLinks: what a page links to exists, and docs/README.md leads to every
// page.
func TestLinks(t *testing.T) {
	names, texts, err := docpages.Pages(".")
	if err != nil {
		t.Fatal(err)
	}
	links := map[string][]string{}
	for _, name := range append(names[:len(names):len(names)], others(t, texts)...) {
		text := inline.ReplaceAllString(fence.ReplaceAllString(texts[name], ""), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.FromSlash(to)); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
			if anchor != "" && !slices.Contains(anchors(texts[to]), anchor) {
				t.Errorf("%s links to %s: there is no such heading", name, m[1])
			}
			links[name] = append(links[name], to)
		}
	}
	reached := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		if !reached[name] {
			reached[name] = true
			for _, to := range links[name] {
				visit(to)
			}
		}
	}
	visit("docs/README.md")
	lost := slices.DeleteFunc(names, func(name string) bool { return reached[name] || name == "README.md" })
	if len(lost) > 0 {
		t.Errorf("no path of links leads from docs/README.md to %v", lost)
	}
}

// others adds the texts of the pages outside of docs to texts, and returns the names
// of those that it has added.
func others(t *testing.T, texts map[string]string) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "examples/*/*.md", "contrib/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.ToSlash(file)
			if _, ok := texts[name]; !ok {
				names, texts[name] = append(names, name), string(text)
			}
		}
	}
	return names
}

// anchors returns the anchors that GitHub gives to the headings of a page.
func anchors(text string) []string {
	drop := regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
	var names []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), ""), " ", "-")
		names = append(names, name)
	}
	return names
}
