package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/retrygen/retrygen/internal/atomicfile"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/format"
)

// formatFiles rewrites policy files to the canonical spellings, as gofmt does Go:
// to standard output, as a diff, or in place.
func formatFiles(args []string, stdout, stderr io.Writer) int {
	flags := newFlags("fmt")
	asDiff := flags.Bool("d", false, "")
	write := flags.Bool("w", false, "")
	if status, ok := parse(flags, args, stdout, stderr); !ok {
		return status
	}
	f := formatter{*asDiff, *write, stdout, stderr}
	if flags.NArg() == 0 {
		if *write {
			fmt.Fprintln(stderr, "retrygen: fmt -w needs files or folders: standard input cannot be rewritten")
			return failed
		}
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return fail(stderr, err)
		}
		return f.format("<standard input>", text)
	}
	status := done
	for _, arg := range flags.Args() {
		files, err := policyFiles(arg)
		if err != nil {
			return fail(stderr, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				return fail(stderr, err)
			}
			status = max(status, f.format(name, text))
		}
	}
	return status
}

type formatter struct {
	diff, write    bool
	stdout, stderr io.Writer
}

// format formats one file. One with problems is left as it is; the others are
// not held up by it.
func (f formatter) format(name string, text []byte) (status int) {
	formatted, found := format.Source(name, text)
	switch {
	case len(found) > 0:
		policy.Print(f.stderr, found, map[string][]byte{name: text})
		return problems
	case !f.diff && !f.write:
		f.stdout.Write(formatted)
		return done
	case bytes.Equal(formatted, text):
		return done
	}
	if f.diff {
		slashed := filepath.ToSlash(name)
		f.stdout.Write(diff.Diff(slashed+".orig", text, slashed, formatted))
		status = problems
	}
	if f.write {
		if err := atomicfile.Write(name, formatted); err != nil {
			return fail(f.stderr, err)
		}
		status = done
	}
	return status
}
