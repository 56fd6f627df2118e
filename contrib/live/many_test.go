package live_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/contrib/live"
	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/genapi"
)

// many returns what a package with n policies has, and two versions of its file that differ
// in each policy.
func many(n int) (pkg genapi.LivePackage, versions [2][]byte) {
	for i := range versions {
		var b strings.Builder
		b.WriteString("version: 1\nreload: true\npolicies:\n")
		for k := range n {
			fmt.Fprintf(&b, "  policy%d: {max_attempts: %d, initial_delay: 100ms, jitter: full, timeout: 30s}\n", k, 4-i)
		}
		versions[i] = []byte(b.String())
	}
	file, _ := policy.Check("retry.yaml", versions[1])
	pkg = genapi.LivePackage{Package: "example.com/many", File: "retry.yaml", Text: string(versions[1])}
	for _, p := range file.Policies {
		compiled := p.Compiled()
		pkg.Policies = append(pkg.Policies, retry.NewLive(&compiled))
	}
	return pkg, versions
}

// Each policy file of the tests changes nothing where it is in force already: what New and
// Load make of it agrees.
func TestLoadEveryFile(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "policies", "ok", "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, _ := policy.Check(name, text)
		if file == nil {
			t.Fatalf("%s is not accepted", name)
		}
		pkg := genapi.LivePackage{Package: "example.com/one", File: name, Text: string(text)}
		var before []retry.Settings
		for _, p := range file.Policies {
			compiled := p.Compiled()
			before = append(before, compiled.Settings())
			pkg.Policies = append(pkg.Policies, retry.NewLive(&compiled))
		}
		c, err := live.New(pkg, live.Log(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Error(err)
			continue
		}
		if change, err := c.Load(text, "test"); err != nil || change.Settings != nil {
			t.Errorf("%s: %v, %v", name, change.Settings, err)
		}
		for i, p := range c.Policies() {
			if p.Settings() != before[i] {
				t.Errorf("%s: policy %s differs: %v", name, p.Name, p.Settings().Changes(before[i]))
			}
		}
	}
}
