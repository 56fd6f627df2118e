//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hundred makes a module of a hundred packages, each with an interface of five
// methods that two policies serve. All is as if written long ago.
func hundred(t testing.TB) (dir string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	// What runs remember goes elsewhere, but builds are where they were.
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, strings.TrimSpace(string(value)))
	}
	for _, name := range []string{"HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	long := time.Now().Add(-time.Hour)
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(name), 0o777)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, long, long); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod",
		"module example.com/shop\n\ngo 1.26.0\n\nrequire github.com/retrygen/retrygen v0.0.0\n\nreplace "+
			"github.com/retrygen/retrygen => "+root+"\n")
	var methods strings.Builder
	for i := range 5 {
		fmt.Fprintf(&methods, "\t// M%d does.\n\tM%d(ctx context.Context, id string, h http.Header) (*User, error)\n", i, i)
	}
	for i := range 100 {
		write(fmt.Sprintf("p%d/retry.yaml", i), `version: 1
policies:
  read: {max_attempts: 3, jitter: full}
  slow: {max_attempts: 3, attempt_timeout: 2s, timeout: 20s}
bind:
  Store: {policy: read, methods: {M1: slow, M2: slow}}
`)
		write(fmt.Sprintf("p%d/p.go", i),
			fmt.Sprintf(
				"package p%d\n\nimport (\n\t\"context\"\n\t\"net/http\"\n)\n\ntype User struct{}\n\ntype Store interface {\n%s}\n",
				i, &methods))
	}
	return dir
}

// generateIn runs retrygen in dir with more in its environment.
func generateIn(t testing.TB, dir string, env ...string) *os.ProcessState {
	t.Helper()
	cmd := exec.Command("retrygen")
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod"), env...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	return cmd.ProcessState
}

// TestGoCommands counts the go commands of a run: three at most, none where
// nothing has changed.
func TestGoCommands(t *testing.T) {
	dir := hundred(t)
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	// A go command that counts, of the version that it says.
	root := t.TempDir()
	counted := filepath.Join(root, "counted")
	script := fmt.Sprintf("#!/bin/sh\necho \"$1\" >>'%s'\nexec '%s' \"$@\"\n", counted, goCommand)
	for name, text := range map[string]string{"bin/go": script, "VERSION": runtime.Version()} {
		name = filepath.Join(root, name)
		os.MkdirAll(filepath.Dir(name), 0o777)
		if err := os.WriteFile(name, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name    string
		atMost  int
		outputs int
	}{{"first run", 3, 100}, {"unchanged", 0, 100}} {
		os.Remove(counted)
		generateIn(t, dir, "PATH="+filepath.Join(root, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		calls, err := os.ReadFile(counted)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if n := strings.Count(string(calls), "\n"); n > test.atMost {
			t.Errorf("%s: %d go commands, want at most %d:\n%s", test.name, n, test.atMost, calls)
		}
		if outputs, _ := filepath.Glob(filepath.Join(dir, "*", "retry_gen.go")); len(outputs) != test.outputs {
			t.Errorf("%s: %d outputs, want %d", test.name, len(outputs), test.outputs)
		}
	}
}

// BenchmarkHundred generates a hundred packages, all again or none, and reports
// the processor time with that of the go commands, and the peak of memory.
func BenchmarkHundred(b *testing.B) {
	dir := hundred(b)
	generateIn(b, dir)
	for _, test := range []struct {
		name   string
		before func()
	}{
		{"unchanged", func() {}},
		{"new", func() {
			outputs, _ := filepath.Glob(filepath.Join(dir, "*", "retry_gen.go"))
			for _, name := range outputs {
				os.Remove(name)
			}
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			var cpu time.Duration
			var peak int64
			for b.Loop() {
				b.StopTimer()
				test.before()
				b.StartTimer()
				state := generateIn(b, dir)
				cpu += state.UserTime() + state.SystemTime()
				peak = max(peak, int64(state.SysUsage().(*syscall.Rusage).Maxrss))
			}
			b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(peak)/1024, "peak-MB") // in kilobytes on Linux
		})
	}
}
