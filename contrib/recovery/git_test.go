package recovery

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
)

func TestParseStatus(t *testing.T) {
	for out, want := range map[string][]string{
		"":                               {},
		"?? new\x00 M b\x00M  a\x00":     {"a", "b", "new"},
		"R  to\x00from\x00 D gone\x00":   {"from", "gone", "to"},
		"C  copy\x00from\x00UU both\x00": {"both", "copy"},
		" R to\x00from\x00?? a b\nc\x00": {"a b\nc", "from", "to"},
		"MM a\x00?? a\x00?? R  x\x00":    {"R  x", "a"},
		"R  torn\x00":                    {"torn"},
	} {
		if got := parseStatus([]byte(out)); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", out, got, want)
		}
	}
}

// repository returns a work tree with the files committed.
func repository(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_DIR=") })
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	run("init", "-q")
	for _, name := range files {
		write(t, dir, name, "the text of "+name+" in the first commit\n")
	}
	run("add", ".")
	run("commit", "-q", "-m", "first")
	if slices.Contains(files, "renamed") {
		run("mv", "renamed", "to")
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestGit: the uncommitted changes are those of the work tree, without the files
// of the run.
func TestGit(t *testing.T) {
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "of a hook")) // which must not matter
	for name, recorder := range map[string]func(dir string) *Recorder{
		"below the top": func(dir string) *Recorder { return &Recorder{Base: filepath.Join(dir, "runs", "1"), Dir: dir} },
		"from a folder": func(dir string) *Recorder {
			return &Recorder{Base: filepath.Join(dir, "runs", "1"), Dir: filepath.Join(dir, "src")}
		},
		"elsewhere":     func(dir string) *Recorder { return &Recorder{Base: t.TempDir(), Dir: dir} },
		"the work tree": func(dir string) *Recorder { return &Recorder{Base: dir, Dir: dir} },
		"another one":   func(dir string) *Recorder { return &Recorder{Base: repository(t, "file"), Dir: dir} },
		"through links": func(dir string) *Recorder {
			return &Recorder{Base: filepath.Join(link(t, dir), "runs", "1"), Dir: link(t, dir)}
		},
	} {
		dir := repository(t, "kept", "renamed", "src/auth.py", "gone", ".gitignore")
		write(t, dir, ".gitignore", "*.log\n")
		write(t, dir, "src/auth.py", "changed\n")
		write(t, dir, "src/new file\nof two lines", "")
		write(t, dir, "src/ignored.log", "")
		write(t, dir, "runs/2/other", "of another run")
		if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
			t.Fatal(err)
		}
		r := recorder(dir)
		r.Flow = "build"
		got := mustCapture(t, r, Step{ID: "s"}, retry.Timeout{}).Context.Changes
		want := []string{".gitignore", "gone", "renamed", "runs/2/other", "src/auth.py", "src/new file\nof two lines", "to"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// link returns a symbolic link to a path.
func link(t *testing.T, to string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestNoGit: without a repository, or without git, the changes are not known.
func TestNoGit(t *testing.T) {
	r := &Recorder{Base: t.TempDir(), Flow: "build", Dir: t.TempDir()}
	receipt, err := r.Capture(t.Context(), Step{ID: "s"}, retry.Timeout{})
	if err == nil || !strings.Contains(err.Error(), "not a git repository") || receipt.Context.Changes != nil {
		t.Errorf("error %v, receipt %+v", err, receipt)
	}
	t.Setenv("PATH", "")
	if _, err := r.Capture(t.Context(), Step{ID: "s"}, retry.Timeout{}); err == nil {
		t.Error("no error without git")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := git(ctx, ".", "status"); err == nil {
		t.Error("git runs after its time has ended")
	}
}
