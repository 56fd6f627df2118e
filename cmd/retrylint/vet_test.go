package main

import (
	"bytes"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestPosition(t *testing.T) {
	for text, want := range map[string]token.Position{
		"/a/b.go:3:14":      {Filename: "/a/b.go", Line: 3, Column: 14},
		`C:\a\b.go:3:14`:    {Filename: `C:\a\b.go`, Line: 3, Column: 14},
		"/a/gram.y:15":      {Filename: "/a/gram.y", Line: 15}, // after a line comment
		"/a/b.go":           {Filename: "/a/b.go"},
		"/a:b/c.go:3:14":    {Filename: "/a:b/c.go", Line: 3, Column: 14},
		"/a/b.go:12:3:14":   {Filename: "/a/b.go:12", Line: 3, Column: 14},
		"-":                 {Filename: "-"},
		`C:\a\gram.y:15`:    {Filename: `C:\a\gram.y`, Line: 15},
		"/a/b.go:x:3":       {Filename: "/a/b.go:x", Line: 3},
		"/a/b.go:184467440": {Filename: "/a/b.go", Line: 184467440},
	} {
		if got := position(text); got != want {
			t.Errorf("position(%q) = %+v, want %+v", text, got, want)
		}
	}
}

// A shop is a module without imports, and an empty build cache.
type shop struct{ dir, cache, tool string }

func newShop(t *testing.T) shop {
	tool, err := exec.LookPath("retrylint")
	if err != nil {
		t.Fatal(err)
	}
	s := shop{t.TempDir(), t.TempDir(), tool}
	for name, text := range map[string]string{
		"go.mod": "module example.com/shop\n\ngo 1.26\n",
		"shop.go": `package shop

func ping() error { return nil }

func start() {
	for ping() != nil {
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// lint runs retrylint -v and returns its output.
func (s shop) lint() (stdout, stderr string) {
	var out, errs bytes.Buffer
	cmd := exec.Command(s.tool, "-v")
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &errs
	cmd.Env = append(cmd.Environ(), "GOCACHE="+s.cache, "GOFLAGS=")
	_ = cmd.Run() // findings are an error
	return out.String(), errs.String()
}

// damage changes the findings and facts in the cache.
func (s shop) damage(t *testing.T, change func(text []byte) []byte) {
	err := filepath.WalkDir(s.cache, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "-d") { // the contents; files with -a index them
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, change(text), 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedCache(t *testing.T) {
	s := newShop(t)
	want, stderr := s.lint()
	if !strings.Contains(want, "[RL101]") || !strings.Contains(stderr, "packages analyzed: 1") {
		t.Fatalf("the first run printed\n%s%s", want, stderr)
	}
	// An incomplete entry is not used.
	s.damage(t, func(text []byte) []byte { return text[:len(text)/2] })
	if got, stderr := s.lint(); got != want || !strings.Contains(stderr, "packages analyzed: 1") {
		t.Errorf("with an incomplete cache:\n%s%swant:\n%s", got, stderr, want)
	}
	// Another text is not taken for findings.
	s.damage(t, func(text []byte) []byte {
		if !bytes.Contains(text, []byte("RL101")) {
			return text
		}
		return bytes.Repeat([]byte("x"), len(text))
	})
	if got, stderr := s.lint(); got != "" || !strings.Contains(stderr, "run go clean -cache") {
		t.Errorf("with a damaged cache:\n%s%s", got, stderr)
	}
}

// The go command stores facts before findings: a run that reads between the two has to
// ask again.
func TestRunsAtOnce(t *testing.T) {
	s := newShop(t)
	var outputs [3]string
	var runs sync.WaitGroup
	for i := range outputs {
		runs.Go(func() { outputs[i], _ = s.lint() })
	}
	runs.Wait()
	want, stderr := s.lint()
	if !strings.Contains(want, "[RL101]") || !strings.Contains(stderr, "packages analyzed: 0") {
		t.Fatalf("after them, a run printed\n%s%s", want, stderr)
	}
	for _, got := range outputs {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A go command that was killed may have stored the facts and not the findings.
func TestFindingsLost(t *testing.T) {
	s := newShop(t)
	want, _ := s.lint()
	s.damage(t, func(text []byte) []byte {
		if bytes.Contains(text, []byte("RL101")) {
			return nil // of another length than the index says, so it is not there
		}
		return text
	})
	if got, stderr := s.lint(); got != want || !strings.Contains(stderr, "packages analyzed: 1") {
		t.Errorf("without the findings in the cache:\n%s%swant:\n%s", got, stderr, want)
	}
}
