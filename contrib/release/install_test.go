package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/module"
)

// TestInstall uses version v0.1.0 of this checkout as a consumer does, from a module proxy
// and with an empty module cache.
func TestInstall(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := t.TempDir()
	r := release{root: root, tree: root, proxy: proxy}
	version := module.Version{Path: "github.com/retrygen/retrygen", Version: "v0.1.0"}
	if err := r.serve(".", version, mod); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY"} {
		if env[name], err = output(t.Context(), ".", "go", "env", name); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "HOME="+e.WorkDir, "GOCACHE="+env["GOCACHE"], "GOFLAGS=-modcacherw", "GOSUMDB=off",
				"GOMODCACHE="+filepath.Join(e.WorkDir, "modules"),
				"GOPROXY="+fileURL(proxy)+","+fileURL(filepath.Join(env["GOMODCACHE"], "cache", "download"))+","+env["GOPROXY"])
			return nil
		},
	})
}
