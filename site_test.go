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
	markdown := []string{"site/README.md", "site/index.md", "site/playground.md"}
	for _, name := range names {
		name = filepath.ToSlash(name)
		switch path.Ext(name) {
		case ".md":
			if !slices.Contains(markdown, name) {
				t.Errorf("%s: pages are in docs; the site renders them as they are", name)
			}
		case ".js", ".vue":
			testLines(t, name)
		}
	}
	const console = "cmd/retryctl/internal/console/static/icon.svg"
	for _, icon := range []string{"site/public/icon.svg", "playground/web/pages/icon.svg"} {
		if readFile(t, icon) != readFile(t, console) {
			t.Errorf("%s differs from %s", icon, console)
		}
	}
}

// TestPackages: builds of the site and of the playground take the same packages on each
// machine, from the public registry of npm.
func TestPackages(t *testing.T) {
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	for _, folder := range []string{"site", "playground/web"} {
		var own struct{ DevDependencies map[string]string }
		if err := json.Unmarshal([]byte(readFile(t, folder+"/package.json")), &own); err != nil {
			t.Fatal(err)
		}
		for name, version := range own.DevDependencies {
			if !exact.MatchString(version) {
				t.Errorf("%s/package.json: %s has version %s: write the exact one", folder, name, version)
			}
		}
		var lock struct {
			Packages map[string]struct{ Resolved, Integrity string }
		}
		if err := json.Unmarshal([]byte(readFile(t, folder+"/package-lock.json")), &lock); err != nil {
			t.Fatal(err)
		}
		for name, p := range lock.Packages {
			if p.Resolved != "" && !strings.HasPrefix(p.Resolved, "https://registry.npmjs.org/") {
				t.Errorf("%s/package-lock.json: %s comes from %s", folder, name, p.Resolved)
			}
			if name != "" && p.Integrity == "" {
				t.Errorf("%s/package-lock.json: %s has no checksum", folder, name)
			}
		}
	}
}

// TestPlaygroundLines: the code of the playground has the lines of other code.
func TestPlaygroundLines(t *testing.T) {
	names, err := filepath.Glob("playground/web/*/*.js")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("the playground has no code")
	}
	for _, name := range append(names, "playground/web/build.js") {
		if !strings.HasPrefix(filepath.ToSlash(name), "playground/web/dist/") {
			testLines(t, name)
		}
	}
}

// testLines tests the length of the lines of a file.
func testLines(t *testing.T, name string) {
	t.Helper()
	for i, line := range strings.Split(readFile(t, name), "\n") {
		if n := utf8.RuneCountInString(line); n > maxLine {
			t.Errorf("%s:%d: the line has %d characters, more than %d", name, i+1, n, maxLine)
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
