package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/retrygen/retrygen/internal/atomicfile"
)

func check(t *testing.T, path, want string, mode os.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want || info.Mode().Perm() != mode {
		t.Errorf("got %q, mode %o; want %q, mode %o", got, info.Mode().Perm(), want, mode)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	write := func(path, text string) {
		t.Helper()
		if err := atomicfile.Write(path, []byte(text)); err != nil {
			t.Error(err)
		}
	}
	write(path, "new")
	check(t, path, "new", 0o644)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	write(path, "changed")
	check(t, path, "changed", 0o600)

	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	write(link, "through the link")
	check(t, path, "through the link", 0o600)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is a file now: %v, %v", info, err)
	}
	write(os.DevNull, "lost")
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is a file now: %v, %v", os.DevNull, info, err)
	}
}

// TestNothingLeft: what fails leaves neither a change nor a temporary file.
func TestNothingLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dangling", "folder", "missing/file"} {
		if err := atomicfile.Write(filepath.Join(dir, name), []byte("x")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("in the folder are %v, %v", entries, err)
	}
}
