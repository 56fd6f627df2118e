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

// Commit writes the files that have changed: each one first under another name
// in the same folder, then all are renamed, so that a reader, or a crash at any
// moment, finds the old text or the new one. Unchanged files are not touched.
// Temporary files of a killed run are removed. A file that cannot be written
// does not keep the others from being written: the error lists all of them.
func (r *Result) Commit() error {
	type step struct {
		temp, path string
		output     *Output
	}
	var steps []step
	defer func() {
		for _, s := range steps {
			os.Remove(s.temp)
		}
	}()
	var stale []*Output
	var errs []error
	for i := range r.Files {
		f := &r.Files[i]
		path := absolute(r.Dir, f.Path)
		atomicfile.Sweep(filepath.Dir(path))
		switch {
		case !f.Changed():
			f.Done = true
		case f.New == nil:
			stale = append(stale, f)
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
			steps[0].output.Done = true
		}
		steps = steps[1:]
	}
	for _, f := range stale {
		if err := os.Remove(absolute(r.Dir, f.Path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s cannot be removed: %w", f.Path, cause(err)))
			continue
		}
		f.Done = true
	}
	return errors.Join(errs...)
}
