package gen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/internal/atomicfile"
)

var conflictMarks = []string{"<<<<<<<", "|||||||", "======="}

// isOurs reports whether the file is an output of ours: its name is, and it
// has our header, or had it before a merge put its marks into it.
func isOurs(path string, text []byte) bool {
	if filepath.Base(path) != OutputName {
		return false
	}
	for line := range bytes.Lines(text[:min(len(text), 1024)]) {
		if string(bytes.TrimRight(line, "\r\n")) == emit.Header(SourceName) {
			return true
		}
		// Only marks of a conflict may stand before the header.
		if !slices.ContainsFunc(conflictMarks, func(mark string) bool { return bytes.HasPrefix(line, []byte(mark)) }) {
			return false
		}
	}
	return len(text) == 0
}

// Commit writes what has changed: each file first beside its place under
// another name, then all renamed, so that whoever reads, and whatever crash,
// finds the old text or the new one. Files that are as they should be are not
// touched. What a killed run has left is swept up. One file that cannot be
// written does not hold up the others: the error tells of all such.
func (r *Result) Commit() error {
	type step struct {
		temp, path string
		output     Output
	}
	var steps []step
	defer func() {
		for _, s := range steps {
			os.Remove(s.temp)
		}
	}()
	var stale []string
	var errs []error
	for _, f := range r.Files {
		path := r.absolute(f.Path)
		atomicfile.Sweep(filepath.Dir(path))
		switch {
		case !f.Changed():
			r.whole = append(r.whole, f)
		case f.New == nil:
			stale = append(stale, path)
		default:
			real, err := atomicfile.Resolve(path) // a symbolic link stays
			var temp string
			if err == nil {
				atomicfile.Sweep(filepath.Dir(real))
				temp, err = atomicfile.Stage(real, f.New)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s cannot be written: %w", f.Path, cause(err)))
				continue
			}
			steps = append(steps, step{temp, real, f})
		}
	}
	for len(steps) > 0 {
		if err := os.Rename(steps[0].temp, steps[0].path); err != nil {
			os.Remove(steps[0].temp)
			errs = append(errs, err)
		} else {
			r.whole = append(r.whole, steps[0].output)
		}
		steps = steps[1:]
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s cannot be removed: %w", r.relative(path), cause(err)))
		}
	}
	return errors.Join(errs...)
}
