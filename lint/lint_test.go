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
// they see the real runtime.
func TestSuite(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := os.ReadDir(filepath.Join("testdata", "src"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		name := dir.Name()
		t.Run(name, func(t *testing.T) {
			for _, result := range analysistest.Run(t, root, together, "./lint/testdata/src/"+name) {
				if result.Err != nil {
					t.Error(result.Err)
				}
			}
		})
	}
}

// TestLibraries runs the suite over uses of retry libraries, of which
// testdata/libraries declares what is used.
func TestLibraries(t *testing.T) {
	root, err := filepath.Abs("testdata/libraries")
	if err != nil {
		t.Fatal(err)
	}
	analysistest.Run(t, root, together, "example.com/unboundedlibrary")
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
