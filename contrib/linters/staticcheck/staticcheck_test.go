package staticcheck

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// root is the root of the repository.
const root = "../../.."

// findings matches lines of staticcheck about generated files, and about packages
// that do not compile.
var findings = regexp.MustCompile(`(?m)^.*(retry_gen(_test)?\.go:|\(compile\)).*$`)

// TestGenerated runs staticcheck on the generated code in this repository.
func TestGenerated(t *testing.T) {
	staticcheck := filepath.Join(t.TempDir(), "staticcheck.exe")
	build := exec.Command("go", "build", "-o", staticcheck, "honnef.co/go/tools/cmd/staticcheck")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folders := []string{"contrib/consumer", "examples", "examples/database", "contrib/bench", "contrib/clients/grpc"}
	for _, dir := range folders {
		t.Run(dir, func(t *testing.T) {
			cmd := exec.Command(staticcheck, "./...")
			cmd.Dir = filepath.Join(root, dir)
			out, _ := cmd.CombinedOutput() // its exit status is 1 for findings in other files, too
			if found := findings.FindAllString(string(out), -1); len(found) > 0 {
				t.Errorf("%d findings:\n%s", len(found), out)
			}
		})
	}
}
