//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/retrygen/retrygen/contrib/sqlite"
)

// TestServe starts the console, logs in, and ends it with Ctrl-C.
func TestServe(t *testing.T) {
	const token = "0123456789abcdef"
	dir := t.TempDir()
	store, err := sqlite.Open(filepath.Join(dir, "retry.db"))
	if err == nil {
		err = fill(t.Context(), store)
	}
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, nil, "serve", "-store", "sqlite:"+filepath.Join(dir, "retry.db"), "-listen", "127.0.0.1:0",
		"-token", filepath.Join(dir, "token"))
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(first), "retryctl: the console is at ")
	if !found || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("got %q, %v", first, err)
	}
	response, err := http.Get(url + "/runs")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(response.Body)
	if err != nil || !bytes.Contains(page, []byte(`name="token"`)) {
		t.Errorf("got %v, %s, want the login page", err, page)
	}
	response.Body.Close()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || bytes.Contains(rest, []byte(token)) {
		t.Errorf("got %v, %s", err, rest)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, rest)
	}
}
