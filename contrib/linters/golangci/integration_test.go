package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// files are those of the module that is checked.
var files = map[string]string{
	"go.mod": `module shop

go 1.26

require google.golang.org/grpc v1.84.0

replace google.golang.org/grpc => ./grpc
`,
	"grpc/go.mod": "module google.golang.org/grpc\n\ngo 1.26\n",
	"grpc/grpc.go": `package grpc

type DialOption any

func WithDefaultServiceConfig(text string) DialOption { return nil }
`,
	"shop.go": `package shop

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
`,
	"again.go": `package shop

import (
	"os"
	"time"
)

func load(name string) (err error) {
	for range 5 {
		unlock := lock()
		defer unlock()
		if err = os.Remove(name); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	return err
}

func lock() (unlock func()) { return func() {} }
`,
	"dial.go": "package shop\n\nimport \"google.golang.org/grpc\"\n\n" +
		"var option = grpc.WithDefaultServiceConfig(`{\"methodConfig\": [{\"name\": [{}], \"timeout\": \"5\"}]}`)\n",
}

const config = `version: "2"
linters:
  default: none
  enable: [retrylint]
  settings:
    custom:
      retrylint:
        type: module
`

// TestPlugin runs the real golangci-lint, with the plugin linked in, over a module.
func TestPlugin(t *testing.T) {
	lint := filepath.Join(t.TempDir(), "golangci-lint.exe")
	if out, err := exec.Command("go", "build", "-o", lint, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	const (
		endless  = "shop.go:8:2: unboundedretry: retry of Ping never stops"
		dial     = "dial.go:5:89: policyliteral: grpc-go refuses \"5\" as timeout"
		deferred = "again.go:11:3: deferinretry: this defer runs when the function returns"
	)
	for _, test := range []struct {
		name, settings string
		want           []string
	}{
		{"all", "", []string{dial, endless}},
		{"disabled", "disable: [RL101, P103]", nil},
		{"named", "confidence: named", []string{deferred, dial, endless}},
		{"proven", "confidence: proven", []string{endless}},
		{"enabled", "confidence: proven\n          enable: [RL306]", []string{deferred, endless}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			settings := config
			if test.settings != "" {
				settings += "        settings:\n          " + test.settings + "\n"
			}
			for name, text := range files {
				write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
			}
			write(t, filepath.Join(dir, ".golangci.yml"), settings)
			run := exec.Command(lint, "run", "./...")
			run.Dir = dir
			run.Env = append(os.Environ(), "GOLANGCI_LINT_CACHE="+t.TempDir())
			out, err := run.Output()
			if found := err != nil; found != (len(test.want) > 0) {
				t.Errorf("golangci-lint: %v\n%s", err, out)
			}
			for _, want := range test.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("got:\n%s\nwant: %q", out, want)
				}
			}
			if n := strings.Count(string(out), ".go:"); n != len(test.want) {
				t.Errorf("%d findings, want %d:\n%s", n, len(test.want), out)
			}
		})
	}
}

// write writes a file and makes its folder.
func write(t *testing.T, name, text string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
