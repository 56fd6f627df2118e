package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/retrygen/retrygen/internal/atomicfile"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/format"
)

// formatFiles is the command fmt. It rewrites policy files to the canonical
// spellings, as gofmt does for Go: to standard output, as a diff, or in place. Without
// arguments it formats the policy files below the current folder.
func formatFiles(flags *flag.FlagSet) cli.Run {
	var f formatter
	flags.BoolVar(&f.diff, "d", false, "print a diff, and exit with 1 if there is one")
	f.color = cli.ColorFlag(flags)
	cli.FolderFlag(flags)
	flags.BoolVar(&f.write, "w", false, "rewrite the files")
	return func(args []string, stdout, stderr io.Writer) int {
		f.stdout, f.stderr = stdout, stderr
		defer func() { summarize(stderr, f.found) }()
		if len(args) == 0 {
			args = []string{"."}
		}
		if f.write && slices.Contains(args, "-") {
			return fail(stderr, errors.New("fmt -w needs files or folders: standard input cannot be rewritten"))
		}
		return f.files(args)
	}
}

// files formats files and all policy files below folders.
func (f *formatter) files(args []string) int {
	status := cli.OK
	for _, arg := range args {
		files, err := ownFiles(arg)
		if err != nil {
			return fail(f.stderr, err)
		}
		printMisnamed(f.stderr, files)
		for _, name := range files {
			name, text, err := readFile(name)
			if err != nil {
				return fail(f.stderr, err)
			}
			status = max(status, f.format(name, text))
		}
	}
	return status
}

// A formatter holds the flags and the state of the command fmt.
type formatter struct {
	diff, write    bool
	color          *cli.Color
	stdout, stderr io.Writer
	found          []policy.Problem
}

// format formats one file. A file with problems is unchanged; the others are
// not affected.
func (f *formatter) format(name string, text []byte) (status int) {
	formatted, found := format.Source(name, text)
	switch {
	case len(found) > 0:
		policy.Print(f.stderr, found, map[string][]byte{name: text}, f.color.On(f.stderr))
		f.found = append(f.found, found...)
		return cli.Problems
	case !f.diff && !f.write:
		f.stdout.Write(formatted)
		return cli.OK
	case bytes.Equal(formatted, text):
		return cli.OK
	}
	if f.diff {
		slashed := filepath.ToSlash(name)
		f.stdout.Write(diff.Diff(slashed+".orig", text, slashed, formatted))
		status = cli.Problems
	}
	if f.write {
		if err := atomicfile.Write(name, formatted); err != nil {
			return fail(f.stderr, err)
		}
		status = cli.OK
	}
	return status
}
