package lint

import (
	"flag"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

var update = flag.Bool("update", false, "write the expected counts")

// TestDifference counts what only one of the two models of retries finds in testdata/src, until
// the last rule has moved to package attempt.
func TestDifference(t *testing.T) {
	dirs := []string{"deafwait", "endlesshelper", "hiddenexhaustion", "lookalikes", "nodelay", "rebuiltbudget",
		"unboundedretry"}
	var patterns []string
	for _, dir := range dirs {
		patterns = append(patterns, testdata+dir)
	}
	var got strings.Builder
	got.WriteString("package\tboth\tonly retryloop\tonly attempt\n")
	count := &analysis.Analyzer{Name: "count", Doc: "count: counts differences",
		Requires: []*analysis.Analyzer{retries, attempts}, ResultType: reflect.TypeFor[string](),
		Run: func(pass *analysis.Pass) (any, error) { return countDifferences(pass), nil }}
	lines := map[string]string{}
	for _, result := range analysistest.Run(silent{t}, absolute(t, ".."), count, patterns...) {
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		lines[result.Pass.Pkg.Name()] = result.Result.(string)
	}
	for _, dir := range dirs {
		fmt.Fprintf(&got, "%s\t%s\n", dir, lines[dir])
	}
	golden := filepath.Join("testdata", "difference.tsv")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}

// silent does not report that want comments are not met: the rules are not run.
type silent struct{ testing.TB }

func (silent) Errorf(string, ...any) {}

func countDifferences(pass *analysis.Pass) string {
	old, found := map[token.Pos]bool{}, map[token.Pos]bool{}
	for _, r := range pass.ResultOf[retries].([]retryloop.Retry) {
		old[r.Call.Pos()] = true
	}
	for _, a := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		if !a.IsDaemon() && !a.ByAnswer && a.Fails {
			found[a.Pos()] = true
		}
	}
	both := 0
	for pos := range old {
		if found[pos] {
			both++
		}
	}
	return fmt.Sprintf("%d\t%d\t%d", both, len(old)-both, len(found)-both)
}
