// Package scripttest runs the scripts testdata/script/*.txtar for the tests of
// commands. A script contains the files of a user's module, commands to run in it,
// and their expected output.
package scripttest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// consumerMod is the go.mod of every script. ROOT is the folder of this repository.
const consumerMod = `module example.com/shop

go 1.26.0

require github.com/retrygen/retrygen v0.0.0

replace github.com/retrygen/retrygen => ROOT
`

// Run runs the scripts of the tested package, which must be two folders below the
// root of the repository. env is added to the environment of each script.
func Run(t *testing.T, env ...string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// Scripts use the caches of the user who runs the test.
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "CGO_ENABLED").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	cache, modules, cgo := lines[0], lines[1], lines[2] == "1"
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"await": await},
		Condition: func(name string) (bool, error) {
			if name == "cgo" {
				return cgo, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "HOME="+e.WorkDir, "GOCACHE="+cache, "GOMODCACHE="+modules, "GOPROXY=off",
				"GOFLAGS=-mod=mod",
				// The go command takes half of the time, and a seventh of that to collect garbage.
				"GOGC=400")
			e.Vars = append(e.Vars, env...)
			return os.WriteFile(filepath.Join(e.WorkDir, "go.mod"), []byte(strings.ReplaceAll(consumerMod, "ROOT", root)), 0o666)
		},
	})
}

// await implements the command await FILE REGEXP: it waits up to a minute until the
// file matches.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await file regexp")
	}
	name, want := ts.MkAbs(args[0]), regexp.MustCompile("(?m)"+args[1])
	var text []byte
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		if text, err = os.ReadFile(name); err == nil && want.Match(text) {
			return
		}
	}
	ts.Fatalf("%s does not match %s:\n%s", args[0], args[1], text)
}
