package filetree

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// tree writes the files of an archive to a folder, makes it the current folder and
// returns it.
func tree(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

const repository = `
-- .git/HEAD --
ref: refs/heads/main
-- .git/info/exclude --
local.yaml
-- .gitignore --
# build
/build/
*.tmp
!keep.tmp
logs/**/debug.json
docs/*.yaml
a/**/z
foo[0-9].yaml
bar[!0-9].yaml
que?y.yaml
\#hash.yaml
\!bang.yaml
trailing.yaml   
**/deep/x.yaml
only/
[unclosed.yaml
left[]-]right.yaml
left[!]+]right.yaml
x/**
!x/y.yaml
-- sub/.gitignore --
!special.tmp
/here.yaml
inner/*
!inner/kept.yaml
-- build/a.yaml --
-- other/build/a.yaml --
-- a.tmp --
-- keep.tmp --
-- sub/special.tmp --
-- sub/other.tmp --
-- sub/here.yaml --
-- sub/more/here.yaml --
-- sub/inner/gone.yaml --
-- sub/inner/kept.yaml --
-- logs/debug.json --
-- logs/x/y/debug.json --
-- logs/x/other.json --
-- docs/a.yaml --
-- docs/more/a.yaml --
-- a/z --
-- a/b/c/z --
-- foo1.yaml --
-- foox.yaml --
-- bar1.yaml --
-- barx.yaml --
-- query.yaml --
-- quey.yaml --
-- #hash.yaml --
-- !bang.yaml --
-- trailing.yaml --
-- [unclosed.yaml --
-- left]right.yaml --
-- left-right.yaml --
-- left+right.yaml --
-- left=right.yaml --
-- deep/x.yaml --
-- q/deep/x.yaml --
-- only/a.yaml --
-- q/only --
-- local.yaml --
-- x/y.yaml --
-- x/z.yaml --
-- .github/workflows/ci.yaml --
`

// TestBelowIsWhatGitKeeps compares the files of a folder with those that git does not
// ignore.
func TestBelowIsWhatGitKeeps(t *testing.T) {
	tree(t, repository)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		out, err := exec.Command(git, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q", ".")
	if err := os.WriteFile(".git/info/exclude", []byte("local.yaml\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.Trim(run("-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard"),
		"\x00"), "\x00")
	got, err := new(Lister).Below(".")
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = filepath.ToSlash(got[i])
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-git +got:\n%s", d)
	}
}

// TestBelow: the lists of outer folders apply to inner ones, folders of others are
// skipped, and patterns exclude more.
func TestBelow(t *testing.T) {
	tree(t, repository+`
-- vendor/a.yaml --
-- sub/node_modules/a.yaml --
`)
	for _, tt := range []struct {
		folder, want string
		exclude      []string
	}{
		{folder: "sub", want: "sub/.gitignore sub/inner/kept.yaml sub/more/here.yaml sub/special.tmp"},
		{folder: "sub", exclude: []string{"*.tmp", "/sub/inner/"}, want: "sub/.gitignore sub/more/here.yaml"},
		{folder: "build", want: "build/a.yaml"},
		{folder: "logs", want: "logs/x/other.json"},
	} {
		var l Lister
		for _, pattern := range tt.exclude {
			if err := l.Exclude(pattern); err != nil {
				t.Fatal(err)
			}
		}
		got, err := l.Below(tt.folder)
		if list := filepath.ToSlash(strings.Join(got, " ")); err != nil || list != tt.want {
			t.Errorf("%s without %v: got %s, %v; want %s", tt.folder, tt.exclude, list, err, tt.want)
		}
	}
	if err := new(Lister).Exclude("[a"); err == nil {
		t.Error("got no error for [a")
	}
}

func TestMatching(t *testing.T) {
	tree(t, `
-- deploy/a.yaml --
-- deploy/x/b.yaml --
-- deploy/x/y/c.yaml --
-- deploy/x/y/c.json --
-- other.yaml --
`)
	for pattern, want := range map[string]string{
		"*.yaml":           "other.yaml",
		"deploy/*.yaml":    "deploy/a.yaml",
		"deploy/**/*.yaml": "deploy/a.yaml deploy/x/b.yaml deploy/x/y/c.yaml",
		"dep*":             "deploy/a.yaml deploy/x/b.yaml deploy/x/y/c.json deploy/x/y/c.yaml",
		"./deploy/?.yaml":  "deploy/a.yaml",
		"**/c.*":           "deploy/x/y/c.json deploy/x/y/c.yaml",
	} {
		got, err := new(Lister).Matching(pattern)
		if list := filepath.ToSlash(strings.Join(got, " ")); err != nil || list != want {
			t.Errorf("%s: got %s, %v; want %s", pattern, list, err, want)
		}
	}
	if _, err := new(Lister).Matching("*.toml"); err == nil {
		t.Error("got no error for a pattern that matches nothing")
	}
}
