package retrygen

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// parsed returns the files with a name of all modules and workspaces, parsed, by their
// folders.
func parsed[T any](
	t *testing.T, name string, parse func(string, []byte, modfile.VersionFixer) (T, error),
) map[string]T {
	t.Helper()
	files := map[string]T{}
	for _, pattern := range []string{name, "*/*/" + name} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if files[filepath.ToSlash(filepath.Dir(path))], err = parse(path, text, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

// goMods returns the go.mod files of this repository, by the folders of their modules.
func goMods(t *testing.T) map[string]*modfile.File {
	t.Helper()
	return parsed(t, "go.mod", modfile.Parse)
}

// TestWorkspaces: each module is in the workspace of the repository, or in one of its own,
// so that the go command works in its folder.
func TestWorkspaces(t *testing.T) {
	mods := goMods(t)
	in := map[string]int{}
	for dir, work := range parsed(t, "go.work", modfile.ParseWork) {
		if work.Go.Version != mods["."].Go.Version {
			t.Errorf("%s/go.work: go %s, but go.mod has go %s", dir, work.Go.Version, mods["."].Go.Version)
		}
		for _, use := range work.Use {
			in[path.Join(dir, use.Path)]++
		}
	}
	for dir, mod := range mods {
		if in[dir] != 1 {
			t.Errorf("%s is in %d workspaces, want 1: add it to go.work, or give it a go.work of its own", dir, in[dir])
		}
		if want := path.Join(module, dir); mod.Module.Mod.Path != want {
			t.Errorf("%s/go.mod: module %s, want %s", dir, mod.Module.Mod.Path, want)
		}
		if mod.Go.Version != mods["."].Go.Version {
			t.Errorf("%s/go.mod: go %s, but go.mod has go %s", dir, mod.Go.Version, mods["."].Go.Version)
		}
	}
}

// TestVersions: all modules require the same version of a dependency. To update one, run
// go get in one module, and then this test with -update, which raises the others.
func TestVersions(t *testing.T) {
	older := olderVersions(goMods(t))
	if *update {
		// Newer versions may require more, so that one pass may not do.
		for pass := 0; len(older) > 0 && pass < 5; pass++ {
			for dir, newest := range older {
				raiseVersions(t, dir, newest)
			}
			older = olderVersions(goMods(t))
		}
	}
	for dir, newest := range older {
		t.Errorf("%s/go.mod: another module requires %s: go test . -run TestVersions -update", dir,
			strings.Join(newest, ", "))
	}
}

// olderVersions returns what modules require in an older version than another one does, by
// folder: as path@newest.
func olderVersions(mods map[string]*modfile.File) map[string][]string {
	newest := map[string]string{}
	for _, mod := range mods {
		for _, r := range mod.Require {
			newest[r.Mod.Path] = slices.MaxFunc([]string{newest[r.Mod.Path], r.Mod.Version}, semver.Compare)
		}
	}
	older := map[string][]string{}
	for dir, mod := range mods {
		for _, r := range mod.Require {
			if v := newest[r.Mod.Path]; v != r.Mod.Version {
				older[dir] = append(older[dir], r.Mod.Path+"@"+v)
			}
		}
	}
	return older
}

// raiseVersions lets the module in dir require the given versions.
func raiseVersions(t *testing.T, dir string, versions []string) {
	t.Helper()
	args := []string{"mod", "edit"}
	for _, version := range versions {
		args = append(args, "-require="+version)
	}
	for _, args := range [][]string{args, {"mod", "tidy"}} {
		command := exec.Command("go", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: go %s: %v\n%s", dir, strings.Join(args, " "), err, out)
		}
	}
}
