package foreign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/policy/rules"
)

// TestRoundTrips: what export writes for a valid policy file is recognized, imported and checked
// without an error, or export refuses the file.
func TestRoundTrips(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "policies", "ok", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d policy files: %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range Kinds() {
			if !kind.Exports() {
				continue
			}
			document, _, problems := Export(kind, "retry.yaml", text)
			if document == nil {
				if len(problems) == 0 {
					t.Errorf("%s to %s: there is no document, and no reason", filepath.Base(name), kind.Name)
				}
				continue
			}
			f, problems := Check("exported", document, Options{})
			if len(f.Kinds) != 1 || f.Kinds[0] != kind {
				t.Errorf("%s to %s: the document is not recognized:\n%s", filepath.Base(name), kind.Name, document)
				continue
			}
			for _, p := range append(problems, f.Unread...) {
				if p.Severity == rules.Error {
					t.Errorf("%s to %s: %v", filepath.Base(name), kind.Name, p)
				}
			}
		}
	}
}

// TestExportNothing: errors for which a system has no condition are not retried, rather than
// others that it retries where no condition is written; and what applies to nothing is a loss.
func TestExportNothing(t *testing.T) {
	const file = "version: 1\nerrors: {odd: {pattern: odd}}\npolicies:\n  p: {max_attempts: 3, retry_on: [odd]}\n"
	for _, tt := range []struct{ kind, document, loss string }{
		{"istio", "      attempts: 0\n", "has no condition for these errors, so nothing is retried"},
		{"envoy", "num_retries: 0\n", "has no condition for these errors, so nothing is retried"},
		{"grpc", `"methodConfig"`, "no gRPC code is retried, so the config has no retryPolicy"},
		{"dapr", "maxRetries: 2\n", "no target is known"},
	} {
		document, losses, problems := Export(ByName(tt.kind), "retry.yaml", []byte(file))
		var all strings.Builder
		for _, l := range losses {
			fmt.Fprintln(&all, l)
		}
		if !strings.Contains(string(document), tt.document) || !strings.Contains(all.String(), tt.loss) {
			t.Errorf("%s: got %q, %s, %v; want %q, %s", tt.kind, document, all.String(), problems, tt.document, tt.loss)
		}
	}
}
