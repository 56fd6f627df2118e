package live_test

import (
	"fmt"
	"strings"

	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/genapi"
)

// many returns what a package with n policies has, and two versions of its file that differ
// in each policy.
func many(n int) (pkg genapi.Live, versions [2][]byte) {
	for i := range versions {
		var b strings.Builder
		b.WriteString("version: 1\nreload: true\npolicies:\n")
		for k := range n {
			fmt.Fprintf(&b, "  policy%d: {max_attempts: %d, initial_delay: 100ms, jitter: full, timeout: 30s}\n", k, 4-i)
		}
		versions[i] = []byte(b.String())
	}
	file, _ := policy.Check("retry.yaml", versions[1])
	pkg = genapi.Live{Package: "example.com/many", File: "retry.yaml", Text: string(versions[1])}
	for _, p := range file.Policies {
		compiled := p.Compiled()
		pkg.Policies = append(pkg.Policies, retry.NewLive(&compiled))
	}
	return pkg, versions
}
