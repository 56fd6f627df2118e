// Package scripttest runs testdata/script/*.txtar for the tests of commands:
// each is a consumer's module, the commands that are run in it, and what they
// must print and write.
package scripttest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// consumerMod is the go.mod of every script: this repository stands at ROOT.
const consumerMod = `module example.com/shop

go 1.26.0

require github.com/retrygen/retrygen v0.0.0

replace github.com/retrygen/retrygen => ROOT
`

// Run runs the scripts of a package two folders below the root of the
// repository, each with env in its environment.
func Run(t *testing.T, env ...string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// Modules and builds come from the caches of whoever runs the test.
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "CGO_ENABLED", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	cache, modules, cgo, proxy := lines[0], lines[1], lines[2] == "1", lines[3]
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"await": await,
			"publish": publisher(root)},
		Condition: func(name string) (bool, error) {
			switch name {
			case "cgo":
				return cgo, nil
			case "race":
				return raceEnabled(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "HOME="+e.WorkDir, "GOCACHE="+cache, "GOMODCACHE="+modules, "GOPROXY=off", "PROXY="+proxy,
				"GOFLAGS=-mod=mod")
			e.Vars = append(e.Vars, env...)
			return os.WriteFile(filepath.Join(e.WorkDir, "go.mod"), []byte(strings.ReplaceAll(consumerMod, "ROOT", root)), 0o666)
		},
	})
}

// raceEnabled reports whether this test was built with the race detector.
func raceEnabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// await FILE REGEXP waits until a command in the background has brought the
// file to match.
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

// publisher makes the command publish FOLDER VERSION: it writes the module at
// root to the folder as a proxy serves it, under the version.
func publisher(root string) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: publish folder version")
		}
		v := module.Version{Path: "github.com/retrygen/retrygen", Version: args[1]}
		dir := filepath.Join(ts.MkAbs(args[0]), v.Path, "@v")
		ts.Check(os.MkdirAll(dir, 0o777))
		mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
		ts.Check(err)
		write := func(name, text string) {
			ts.Check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
		}
		write("list", v.Version+"\n")
		write(v.Version+".mod", string(mod))
		write(v.Version+".info", fmt.Sprintf(`{"Version":%q}`, v.Version))
		f, err := os.Create(filepath.Join(dir, v.Version+".zip"))
		ts.Check(err)
		ts.Check(errors.Join(zip.CreateFromDir(f, v, root), f.Close()))
	}
}
