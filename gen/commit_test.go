package gen

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/retrygen/retrygen/gen/internal/emit"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RETRYGEN_COMMIT_FOREVER"); dir != "" {
		commitForever(dir)
	}
	os.Exit(m.Run())
}

// versions are texts of an output, which take several writes.
var versions = [2][]byte{
	bytes.Repeat([]byte(emit.Header(SourceName)+" A\n"), 2000),
	bytes.Repeat([]byte(emit.Header(SourceName)+" B\n"), 3000),
}

func commitForever(dir string) {
	for n := 0; ; n++ {
		r := &Result{Dir: dir}
		for i := range 8 {
			r.Files = append(r.Files, Output{Path: fmt.Sprintf("p%d/%s", i, OutputName), Old: []byte{}, New: versions[n%2]})
		}
		if err := r.Commit(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if n == 0 {
			fmt.Println("ready")
		}
	}
}

// TestKilledCommit kills a process that commits: every file is whole at any
// time, and nothing that remains is read as Go.
func TestKilledCommit(t *testing.T) {
	dir := t.TempDir()
	for i := range 8 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint("p", i)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for range 25 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "RETRYGEN_COMMIT_FOREVER="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("ready"))); err != nil {
			t.Fatalf("it ended by itself: %v", err)
		}
		time.Sleep(rand.N(10 * time.Millisecond)) // real: it is to be hit anywhere
		if err := cmd.Process.Kill(); err != nil {
			t.Fatalf("it ended by itself: %v", err)
		}
		cmd.Wait()
		all, err := filepath.Glob(filepath.Join(dir, "*", "[^.]*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			found++
			text, err := os.ReadFile(name)
			if err != nil || filepath.Base(name) != OutputName ||
				!bytes.Equal(text, versions[0]) && !bytes.Equal(text, versions[1]) {
				t.Errorf("%s: %d bytes, error %v", name, len(text), err)
			}
		}
	}
	if found == 0 {
		t.Errorf("nothing was ever committed")
	}
}

// TestCommit commits next to files that must not change, and through links.
func TestCommit(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * time.Hour).Truncate(time.Second)
	write := func(name string, text []byte) {
		t.Helper()
		name = filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(name), 0o777)
		if err := os.WriteFile(name, text, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"same/retry_gen.go", "changed/retry_gen.go", "stale/retry_gen.go"} {
		write(name, versions[0])
	}
	write("changed/.retrygen-1", versions[0])
	write("changed/other_gen.go", versions[0])
	write("link/_gen.go", versions[0])
	for link, to := range map[string]string{"link": "_gen.go", "dangling": "none.go"} {
		os.MkdirAll(filepath.Join(dir, link), 0o777)
		if err := os.Symlink(to, filepath.Join(dir, link, OutputName)); err != nil {
			t.Fatal(err)
		}
	}
	r := &Result{Dir: dir, Files: []Output{
		{Path: "link/retry_gen.go", Old: versions[0], New: versions[1]},
		{Path: "dangling/retry_gen.go", Old: nil, New: versions[1]},
		{Path: "same/retry_gen.go", Old: versions[0], New: versions[0]},
		{Path: "changed/retry_gen.go", Old: versions[0], New: versions[1]},
		{Path: "stale/retry_gen.go", Old: versions[0], New: nil},
		{Path: "gone/retry_gen.go", Old: nil, New: versions[0]},
	}}
	// The folder that is gone does not hold up the others.
	want := "dangling/retry_gen.go cannot be written: it is a link to a missing file\ngone/retry_gen.go cannot be " +
		"written: no such file or directory"
	if err := r.Commit(); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	for _, test := range []struct {
		name    string
		want    []byte // nil: gone
		touched bool
	}{
		{"link/_gen.go", versions[1], true},
		{"same/retry_gen.go", versions[0], false},
		{"changed/retry_gen.go", versions[1], true},
		{"changed/other_gen.go", versions[0], false},
		{"changed/.retrygen-1", nil, true},
		{"stale/retry_gen.go", nil, true},
	} {
		name := filepath.Join(dir, test.name)
		text, _ := os.ReadFile(name)
		if !bytes.Equal(text, test.want) {
			t.Errorf("%s: %d bytes, want %d", test.name, len(text), len(test.want))
		}
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		if touched := !info.ModTime().Equal(old); touched != test.touched || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: touched %v, want %v; mode %v", test.name, touched, test.touched, info.Mode())
		}
	}
	for _, link := range []string{"link", "dangling"} {
		if info, err := os.Lstat(filepath.Join(dir, link, OutputName)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s: the link is gone: %v, %v", link, info, err)
		}
	}
}
