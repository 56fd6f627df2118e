package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/policy/rules"
)

// TestSuite runs the whole suite over each package of testdata/src, where
// comments say what must be reported, and nope functions must not be reported by
// default. A line marked missed should be reported, and is not. The packages are part
// of this module, so that they see the real runtime.
func TestSuite(t *testing.T) {
	request(t, "RL109", Named)
	fixed := run(t, absolute(t, ".."), filepath.Join("testdata", "src"), testdata)
	for _, r := range Rules {
		if isAutomatic(r.ID) && !fixed[r.ID] {
			t.Errorf("the page of %s has an automatic fix, and its findings have none", r.ID)
		}
	}
}

// isAutomatic reports whether the page of a rule says that its findings have fixes.
func isAutomatic(rule string) bool {
	return strings.Contains(string(docs.Rule(rule)), "\n## Fix\n\nAutomatic with `retrylint -fix`.")
}

// TestOnRequest runs it with the rules that only inform.
func TestOnRequest(t *testing.T) {
	request(t, "RL110,RL114,RL304", Library)
	run(t, absolute(t, ".."), filepath.Join("testdata", "onrequest"), "./lint/testdata/onrequest/")
}

// TestLibraries runs the suite over uses of retry libraries, of which
// testdata/libraries declares what is used, next to the real runtime.
func TestLibraries(t *testing.T) {
	request(t, "RL109", Named)
	CheckServiceConfig = foreign.CheckGRPC
	t.Cleanup(func() { CheckServiceConfig = nil })
	dir := goPath(t)
	run(t, dir, filepath.Join(dir, "src", "example.com"), "example.com/")
}

// TestDefaults runs the suite as it is run without settings.
func TestDefaults(t *testing.T) {
	run(t, absolute(t, ".."), filepath.Join("testdata", "defaults"), "./lint/testdata/defaults/")
}

// request selects what is reported for the rest of a test.
func request(t *testing.T, rules string, weakest Evidence) {
	t.Helper()
	was, most := informing, confidence
	informing, confidence = rules, weakest
	t.Cleanup(func() { informing, confidence = was, most })
}

// TestFacts: what packages tell of their functions to those that import them.
func TestFacts(t *testing.T) {
	root := absolute(t, "..")
	analysistest.Run(t, root, retrierCalls, testdata+"endlesshelper/helper")
	analysistest.Run(t, root, retryingFunctions, testdata+"nestedretry/wrapped")
	analysistest.Run(t, root, boundFunctions, testdata+"directcall/orders")
}

// testdata begins the patterns of the packages that are part of this module.
const testdata = "./lint/testdata/src/"

// run runs the suite over the packages in the folders of src that have files,
// and holds its fixes against the golden files where there are some. It loads
// them together, since what they import takes longer than they do. It returns the
// rules that are fixed.
func run(t *testing.T, root, src, prefix string) map[string]bool {
	t.Helper()
	var plain, fixed []string
	dirs, err := os.ReadDir(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		switch pattern := prefix + dir.Name(); {
		case has(t, filepath.Join(src, dir.Name(), "*.golden")):
			fixed = append(fixed, pattern)
		case has(t, filepath.Join(src, dir.Name(), "*.go")):
			plain = append(plain, pattern)
		}
	}
	results := analysistest.Run(t, root, together, plain...)
	if len(fixed) > 0 {
		results = append(results, analysistest.RunWithSuggestedFixes(t, root, together, fixed...)...)
	}
	fixes := map[string]bool{}
	for _, result := range results {
		if result.Err != nil {
			t.Error(result.Err)
		}
		for _, d := range result.Diagnostics {
			if len(d.SuggestedFixes) == 0 {
				continue
			}
			text, ids, _ := Parse(d)
			if !slices.ContainsFunc(ids, isAutomatic) {
				t.Errorf("there is a fix for %s, and no page of %v has one", text, ids)
			}
			for _, id := range ids {
				fixes[id] = true
			}
		}
	}
	return fixes
}

func has(t *testing.T, glob string) bool {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil {
		t.Fatal(err)
	}
	return len(files) > 0
}

func absolute(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
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

// TestDocs: analyzers are described by their rules, and every rule that is
// reported has a description.
func TestDocs(t *testing.T) {
	if err := analysis.Validate(Suite); err != nil {
		t.Fatal(err)
	}
	for _, a := range Suite {
		if !strings.HasPrefix(a.Doc, a.Name+": ") || !strings.Contains(a.Doc, "\n## Example\n") {
			t.Errorf("%s: the doc does not begin with the name, or has no example", a.Name)
		}
	}
	if !slices.IsSortedFunc(Rules, func(a, b rules.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the rules are not sorted by id")
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range regexp.MustCompile(`RL\d{3}`).FindAllString(string(text), -1) {
			if RuleByID(id) == nil || docs.Rule(id) == "" {
				t.Errorf("%s: %s has no description", name, id)
			}
		}
	}
}
