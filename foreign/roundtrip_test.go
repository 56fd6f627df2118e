package foreign

import (
	"os"
	"path/filepath"
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
