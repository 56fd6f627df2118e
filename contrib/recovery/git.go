package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// gitStatus returns the paths with uncommitted changes in the work tree of dir,
// relative to its top, without those of the run whose flow has the folder flow.
func gitStatus(ctx context.Context, dir, flow string) ([]string, error) {
	out, err := git(ctx, dir, "status", "--porcelain=v1", "-z", "--untracked-files=all")
	if err != nil {
		return nil, err
	}
	prefix, err := runPrefix(ctx, dir, flow)
	if err != nil {
		return nil, err
	}
	changes := parseStatus(out)
	if prefix != "" {
		changes = slices.DeleteFunc(changes, func(name string) bool { return strings.HasPrefix(name, prefix) })
	}
	return changes, nil
}

// runPrefix returns the path of the folder around flow relative to the top of the
// work tree of dir, with a slash at its end. If the folder is the top itself, the
// result is the path of flow; if it is not in the work tree, the result is empty.
func runPrefix(ctx context.Context, dir, flow string) (string, error) {
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	out, err := git(ctx, flow, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return "", ctx.Err() // in no work tree
	}
	rest, same := bytes.CutPrefix(out, top)
	prefix := strings.TrimSuffix(string(rest), "\n")
	if !same || prefix == "" {
		return "", nil
	}
	if run := path.Dir(path.Clean(prefix)); run != "." {
		return run + "/", nil
	}
	return prefix, nil
}

// parseStatus returns the paths in the output of git status --porcelain=v1 -z, in
// order and without duplicates. A rename changes two files: its new path is
// followed by the old one. A copy leaves the old one unchanged.
func parseStatus(out []byte) []string {
	paths := []string{}
	entries := strings.Split(string(out), "\x00")
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		if len(e) < 4 { // two letters, a space and a path
			continue
		}
		paths = append(paths, e[3:])
		renamed, copied := strings.Contains(e[:2], "R"), strings.Contains(e[:2], "C")
		if !renamed && !copied || i+1 == len(entries) {
			continue
		}
		i++
		if renamed && entries[i] != "" {
			paths = append(paths, entries[i])
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// git runs git in dir and returns its output.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	// Optional locks would make a git command of the user fail.
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-C", dir}, args...)...)
	// In a git hook, these name another work tree than that of dir.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}, name)
	})
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		first, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, first)
	}
	return nil, fmt.Errorf("git %s: %w", args[0], err)
}
