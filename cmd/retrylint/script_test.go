package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrygen/retrygen/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"retrylint": main})
}

// TestScript gives the scripts the path of a built retrylint, for go vet, in
// TOOL.
func TestScript(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "retrylint.exe")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	scripttest.Run(t, "TOOL="+tool)
}
