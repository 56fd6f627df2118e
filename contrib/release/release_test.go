package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// repository is one with a module in its root, one that uses it, and a program that uses both.
const repository = `
-- go.mod --
module example.com/demo

go 1.26.0
-- LICENSE --
Do what you want.
-- CHANGELOG.md --
# Changelog

## v0.1.0 (unreleased)
-- demo.go --
package demo

const Name = "demo"
-- cmd/root/main.go --
package main

func main() {}
-- contrib/store/go.mod --
module example.com/demo/contrib/store

go 1.26.0

replace example.com/demo => ../..

require example.com/demo v0.0.0
-- contrib/store/store.go --
package store

import "example.com/demo"

const Name = demo.Name + " store"
-- cmd/tool/go.mod --
module example.com/demo/cmd/tool

go 1.26.0

replace (
	example.com/demo => ../..
	example.com/demo/contrib/store => ../../contrib/store
)

require (
	example.com/demo v0.0.0
	example.com/demo/contrib/store v0.0.0
)
-- cmd/tool/main.go --
package main

import (
	"fmt"

	"example.com/demo"
	"example.com/demo/contrib/store"
)

func main() { fmt.Println(demo.Name, store.Name) }
`

// checkout returns a release of the repository, with all that is in it committed.
func checkout(t *testing.T, text string) *release {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"GIT_AUTHOR_NAME": "test", "GIT_AUTHOR_EMAIL": "test@example.com", "GIT_COMMITTER_NAME": "test",
		"GIT_COMMITTER_EMAIL": "test@example.com", "GIT_CONFIG_GLOBAL": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	for _, args := range []string{"init -q -b main", "add -A", "commit -q -m first"} {
		if _, err := output(t.Context(), dir, append([]string{"git"}, strings.Fields(args)...)...); err != nil {
			t.Fatal(err)
		}
	}
	return &release{
		root: dir, version: "v0.1.0", modules: []string{".", "contrib/store", "cmd/tool"},
		programs: []string{"cmd/root", "cmd/tool"},
	}
}

// A release can be installed and required. Its commit, which all tags name, has no replace
// lines, and the branch is as before.
func TestRelease(t *testing.T) {
	r := checkout(t, repository)
	before, err := output(t.Context(), r.root, "git", "rev-parse", "main")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.run(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	after, err := output(t.Context(), r.root, "git", "rev-parse", "main", "HEAD")
	if err != nil || after != before+"\n"+before {
		t.Errorf("main and HEAD are %s, want %s: %v", after, before, err)
	}
	commits := map[string]bool{}
	for _, tag := range []string{"v0.1.0", "contrib/store/v0.1.0", "cmd/tool/v0.1.0"} {
		commit, err := output(t.Context(), r.root, "git", "rev-parse", tag+"^{commit}")
		if err != nil {
			t.Error(err)
		}
		commits[commit] = true
	}
	if len(commits) != 1 {
		t.Errorf("the tags are on %d commits", len(commits))
	}
	mod, err := output(t.Context(), r.root, "git", "show", "cmd/tool/v0.1.0:cmd/tool/go.mod")
	if err != nil || strings.Contains(mod, "replace") || strings.Count(mod, " v0.1.0") != 2 {
		t.Errorf("%v\n%s", err, mod)
	}
	if worktrees, _ := output(t.Context(), r.root, "git", "worktree", "list"); strings.Contains(worktrees, "\n") {
		t.Errorf("a worktree is left:\n%s", worktrees)
	}
	if err := r.run(t.Context(), false); err == nil || !strings.Contains(err.Error(), "there is a tag v0.1.0 already") {
		t.Errorf("a second release: %v", err)
	}
}

func TestReleaseRefuses(t *testing.T) {
	for want, change := range map[string]func(*release){
		"is not a version":    func(r *release) { r.version = "0.1" },
		"has no section":      func(r *release) { r.version = "v0.2.0" },
		"has changes":         func(r *release) { _ = os.WriteFile(filepath.Join(r.root, "new"), nil, 0o644) },
		"not released before": func(r *release) { r.modules = []string{".", "cmd/tool", "contrib/store"} },
	} {
		r := checkout(t, repository)
		change(r)
		if err := r.run(t.Context(), true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if tags, err := output(t.Context(), r.root, "git", "tag"); tags != "" || err != nil {
			t.Errorf("%s: tags %s, %v", want, tags, err)
		}
	}
}

// The page of licenses has what the go.mod files have.
func TestLicenses(t *testing.T) {
	got, err := licenses(t.Context(), filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "licenses.md"))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error("docs/licenses.md is stale: go run . -licenses")
	}
}
