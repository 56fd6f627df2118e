// Package gocommand runs the go command for results that
// golang.org/x/tools/go/packages does not return: error messages and the module of
// a folder.
package gocommand

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// List runs go list in dir and returns its error message for patterns, or nil.
func List(ctx context.Context, dir, tags string, patterns ...string) error {
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"list"}, BuildFlags(tags), patterns)...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	err := cmd.Run()
	if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
		return errors.New(text)
	}
	return err
}

// Message returns an error of packages.Load with only the message of the go
// command.
func Message(err error) error {
	before, text, ok := strings.Cut(err.Error(), ": stderr: ")
	if text = strings.TrimSpace(text); !ok || text == "" {
		text = strings.TrimPrefix(before, "err: ")
	}
	return errors.New(text)
}

// notInStd matches the message of the go command for a missing import path whose
// first element has no dot. The message contains a path of this machine.
var notInStd = regexp.MustCompile(`^package (\S+) is not in std \(.*\)$`)

// Reason returns a message of the go command about a package in one line. It
// explains the message for an incomplete import path.
func Reason(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return notInStd.ReplaceAllString(text,
		"there is no package $1: outside of the standard library, an import path begins with the path of its module")
}

// BuildFlags returns the flags of the go command for build tags.
func BuildFlags(tags string) []string {
	if tags == "" {
		return nil
	}
	return []string{"-tags=" + tags}
}

// IsOwn reports whether the source code of a module belongs to the user: it is the
// main module, a module of the workspace, or replaced by a folder.
func IsOwn(m *packages.Module) bool {
	return m != nil && (m.Main || m.Replace != nil && m.Replace.Version == "")
}

// Module returns the name of the go.mod that applies in dir, or "" if there is
// none. ok is false if the go command uses a workspace or no modules, or fails.
func Module(ctx context.Context, dir string) (name string, ok bool) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMOD", "GOWORK")
	cmd.Dir = dir
	out, err := cmd.Output()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 2 {
		return "", false
	}
	name, work := strings.TrimSpace(lines[0]), strings.TrimSpace(lines[1])
	if name == os.DevNull {
		return "", work == ""
	}
	return name, name != "" && work == ""
}
