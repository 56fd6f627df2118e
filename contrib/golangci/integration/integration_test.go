package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const source = `package shop

import "time"

type client interface{ Ping() error }

func start(c client) {
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
}

func started(c client) {
	//retrylint:forever there is nothing to do without it
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
}
`

const config = `version: "2"
linters:
  default: none
  enable: [retrylint]
  settings:
    custom:
      retrylint:
        type: module
`

// TestPlugin runs the real golangci-lint, with the plugin linked in, over a
// module with one finding.
func TestPlugin(t *testing.T) {
	lint := filepath.Join(t.TempDir(), "golangci-lint.exe")
	if out, err := exec.Command("go", "build", "-o", lint, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, test := range []struct{ name, settings, want string }{
		{"all", "", "shop.go:8:2: unboundedretry: retry of Ping never stops"},
		{"disabled", "        settings:\n          disable: [RL101]\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"go.mod": "module shop\n\ngo 1.26\n", "shop.go": source,
				".golangci.yml": config + test.settings} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			run := exec.Command(lint, "run", "./...")
			run.Dir = dir
			run.Env = append(os.Environ(), "GOLANGCI_LINT_CACHE="+t.TempDir())
			out, err := run.Output()
			if found := err != nil; found != (test.want != "") || !strings.Contains(string(out), test.want) {
				t.Errorf("golangci-lint: %v\ngot:\n%s\nwant: %q", err, out, test.want)
			}
			if n := strings.Count(string(out), "(RL101)"); n > 1 {
				t.Errorf("%d findings, want at most 1:\n%s", n, out)
			}
		})
	}
}
