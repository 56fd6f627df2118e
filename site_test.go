package retrygen

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/retrygen/retrygen/internal/filetree"
)

// TestSite checks the layout of the documentation site: it has no copies of pages, which are in
// docs, and its code has the lines of other code. What it shows is tested by npm test in site.
func TestSite(t *testing.T) {
	names, err := new(filetree.Lister).Below("site")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("site has no files")
	}
	markdown := []string{"site/README.md", "site/index.md"}
	for _, name := range names {
		name = filepath.ToSlash(name)
		switch path.Ext(name) {
		case ".md":
			if !slices.Contains(markdown, name) {
				t.Errorf("%s: pages are in docs; the site renders them as they are", name)
			}
		case ".js", ".vue":
			for i, line := range strings.Split(readFile(t, name), "\n") {
				if n := utf8.RuneCountInString(line); n > maxLine {
					t.Errorf("%s:%d: the line has %d characters, more than %d", name, i+1, n, maxLine)
				}
			}
		}
	}
	const icon, console = "site/public/icon.svg", "cmd/retryctl/internal/console/static/icon.svg"
	if readFile(t, icon) != readFile(t, console) {
		t.Errorf("%s differs from %s", icon, console)
	}
}

// TestSitePackages: a build of the site takes the same packages on each machine, from the
// public registry of npm.
func TestSitePackages(t *testing.T) {
	var site struct{ DevDependencies map[string]string }
	if err := json.Unmarshal([]byte(readFile(t, "site/package.json")), &site); err != nil {
		t.Fatal(err)
	}
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	for name, version := range site.DevDependencies {
		if !exact.MatchString(version) {
			t.Errorf("site/package.json: %s has version %s: write the exact one", name, version)
		}
	}
	var lock struct {
		Packages map[string]struct{ Resolved, Integrity string }
	}
	if err := json.Unmarshal([]byte(readFile(t, "site/package-lock.json")), &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" && !strings.HasPrefix(p.Resolved, "https://registry.npmjs.org/") {
			t.Errorf("site/package-lock.json: %s comes from %s", name, p.Resolved)
		}
		if name != "" && p.Integrity == "" {
			t.Errorf("site/package-lock.json: %s has no checksum", name)
		}
	}
}

// readFile returns the text of a file of this repository.
func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
