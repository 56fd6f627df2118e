package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"retrylint": main})
}

// TestScript runs testdata/script/*.txtar: each is a module, the commands that
// are run in it, and what they must print.
func TestScript(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(t.TempDir(), "retrylint.exe")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			// Modules come from the cache of whoever runs the test.
			env.Setenv("HOME", env.WorkDir)
			out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
			if err != nil {
				return err
			}
			dirs := strings.Fields(string(out))
			env.Setenv("GOCACHE", dirs[0])
			env.Setenv("GOMODCACHE", dirs[1])
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOFLAGS", "-mod=mod")
			env.Setenv("TOOL", tool)
			mod := "module example.com/shop\n\ngo 1.26.0\n\nrequire github.com/retrygen/retrygen v0.0.0\n\nreplace github.com/retrygen/retrygen => " + root + "\n"
			return os.WriteFile(filepath.Join(env.WorkDir, "go.mod"), []byte(mod), 0o666)
		},
	})
}
