package main

import (
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrygen/retrygen/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"retrylint": main, "terminal": scripttest.Terminal})
}

// TestScript gives the scripts the path of retrylint, for go vet, in TOOL.
func TestScript(t *testing.T) {
	tool, err := exec.LookPath("retrylint") // TestMain has added it to PATH
	if err != nil {
		t.Fatal(err)
	}
	scripttest.Run(t, "TOOL="+tool)
}
