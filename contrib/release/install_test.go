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
	r := release{root: root, tree: root, proxy: t.TempDir()}
	version := module.Version{Path: "github.com/retrygen/retrygen", Version: "v0.1.0"}
	if err := r.serve(".", version, mod); err != nil {
		t.Fatal(err)
	}
	proxies, err := r.proxies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cache, err := output(t.Context(), root, "go", "env", "GOCACHE")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "HOME="+e.WorkDir, "GOCACHE="+cache, "GOMODCACHE="+filepath.Join(e.WorkDir, "modules"),
				"GOFLAGS=-modcacherw", "GOSUMDB=off", "GOPROXY="+proxies)
			return nil
		},
	})
}
