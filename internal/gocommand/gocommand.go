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

// An Environment describes how the go command works in a folder.
type Environment struct {
	// Module is the name of the go.mod that applies, or "" if there is none.
	Module string
	// Plain reports whether the packages of the folder are those of Module: the go
	// command uses modules, and no workspace.
	Plain bool
	// Version is the version of the go command, as go1.26.1 or a text that begins with
	// devel.
	Version string
}

// EnvironmentOf returns the environment of a folder, or an error if the go command
// fails.
func EnvironmentOf(ctx context.Context, dir string) (Environment, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMOD", "GOWORK", "GOVERSION")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return Environment{}, err
	}
	lines := append(strings.Split(string(out), "\n"), "", "", "")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	e := Environment{Module: lines[0], Plain: lines[0] != "" && lines[1] == "", Version: lines[2]}
	if e.Module == os.DevNull {
		e.Module = ""
	}
	return e, nil
}
