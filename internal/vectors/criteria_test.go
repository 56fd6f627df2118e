package vectors_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// quoted matches the names in the last column of CRITERIA.md: of a package, or of a
// test in the package before it.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestCriteria checks that the tests that CRITERIA.md names exist.
func TestCriteria(t *testing.T) {
	text, err := os.ReadFile("CRITERIA.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string][]byte{}
	named := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[2]) == "tests" {
			continue
		}
		folder := ""
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			name := m[1]
			if !strings.HasPrefix(name, "Test") {
				folder = name
				continue
			}
			if sources[folder] == nil {
				sources[folder] = testsOf(t, folder)
			}
			if named++; !bytes.Contains(sources[folder], []byte("func "+name+"(t *testing.T)")) {
				t.Errorf("%s has no %s, which shows: %s", folder, name, strings.TrimSpace(cells[1]))
			}
		}
		if folder == "" {
			t.Errorf("no test is named for: %s", strings.TrimSpace(cells[1]))
		}
	}
	if named < 30 {
		t.Errorf("only %d tests are named", named)
	}
}

// testsOf returns the test files of a folder of the repository, one after the other.
func testsOf(t *testing.T, folder string) (all []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests: %v", folder, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}
