// Package gocommand asks the go command, which golang.org/x/tools/go/packages
// calls, for what that package does not return: its own messages, its flags, its
// module.
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

// List returns what the go command in dir says against patterns, or nil.
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

// Said returns an error of packages.Load as the go command has said it.
func Said(err error) error {
	before, text, ok := strings.Cut(err.Error(), ": stderr: ")
	if text = strings.TrimSpace(text); !ok || text == "" {
		text = strings.TrimPrefix(before, "err: ")
	}
	return errors.New(text)
}

// notInStd is what the go command reports of an import path whose first element
// has no dot. It names the folder of Go on this machine.
var notInStd = regexp.MustCompile(`^package (\S+) is not in std \(.*\)$`)

// Reason returns in one line what the go command reports of a package, and what
// to write if it finds none because the path is not whole.
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

// IsOwn reports whether a module's sources are those of the program at hand: it is the main
// module, or one of the workspace, or a folder stands in its place.
func IsOwn(m *packages.Module) bool {
	return m != nil && (m.Main || m.Replace != nil && m.Replace.Version == "")
}

// Module returns the go.mod of the module of a folder, "" if there is none. It is
// not ok if the go command uses a workspace or no modules, or fails.
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
