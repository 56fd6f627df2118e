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
	testscript.Main(m, map[string]func(){"retrygen": main})
}

// TestScript runs testdata/script/*.txtar: each is a consumer's module, the
// commands that are run in it, and what they must print and write.
func TestScript(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			// Modules come from the cache of whoever runs the test.
			env.Setenv("HOME", env.WorkDir)
			for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
				env.Setenv(name, goEnv(t, name))
			}
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOFLAGS", "-mod=mod")
			return os.WriteFile(filepath.Join(env.WorkDir, "go.mod"), []byte(strings.ReplaceAll(consumerMod, "ROOT", root)), 0o666)
		},
	})
}

// consumerMod is the go.mod of the consumer of every script.
const consumerMod = `module example.com/shop

go 1.26.0

require github.com/retrygen/retrygen v0.0.0

replace github.com/retrygen/retrygen => ROOT
`

// goEnv asks the go command for one of its settings.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
