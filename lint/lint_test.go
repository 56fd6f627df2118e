package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestSuite runs the whole suite over each package of testdata/src, where
// comments say what must be reported. They are part of this module, so that
// they see the real runtime. All are loaded at once, since what they import
// takes longer than they do.
func TestSuite(t *testing.T) {
	dirs, err := os.ReadDir(filepath.Join("testdata", "src"))
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, dir := range dirs {
		patterns = append(patterns, testdata+dir.Name())
	}
	for _, result := range analysistest.Run(t, root(t), together, patterns...) {
		if result.Err != nil {
			t.Error(result.Err)
		}
	}
}

// TestFacts: what packages tell of their functions to those that import them.
func TestFacts(t *testing.T) {
	analysistest.Run(t, root(t), endlessRetries, testdata+"endlesshelper/helper")
	analysistest.Run(t, root(t), retryingFunctions, testdata+"nestedretry/wrapped")
}

const testdata = "./lint/testdata/src/"

func root(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestLibraries runs the suite over uses of retry libraries, of which
// testdata/libraries declares what is used.
func TestLibraries(t *testing.T) {
	dir, err := filepath.Abs("testdata/libraries")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "src", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	analysistest.Run(t, dir, together, names...)
}

// together reports what every analyzer of the suite does: a want comment is
// held against all of them at once.
var together = &analysis.Analyzer{
	Name: "together",
	Doc:  "together: the whole suite as one analyzer",
	Requires: func() (all []*analysis.Analyzer) {
		for _, a := range Suite {
			all = append(all, a.Requires...)
		}
		return all
	}(),
	Run: func(pass *analysis.Pass) (any, error) {
		results := pass.ResultOf
		defer func() { pass.ResultOf = results }()
		for _, a := range Suite {
			pass.Analyzer = a
			result, err := a.Run(pass)
			if err != nil {
				return nil, err
			}
			results[a] = result
		}
		return nil, nil
	},
}

func TestDocs(t *testing.T) {
	if err := analysis.Validate(Suite); err != nil {
		t.Fatal(err)
	}
	for _, a := range Suite {
		if !strings.HasPrefix(a.Doc, a.Name+": ") || !strings.Contains(a.Doc, "WRONG:") || !strings.Contains(a.Doc, "RIGHT:") {
			t.Errorf("%s: the doc does not begin with the name, or has no example", a.Name)
		}
	}
}
