package gen

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// interval is the time between two checks for changes. After a change, Watch
// waits until a check finds no further one: editors save several files at once,
// and some files in several steps.
const interval = 200 * time.Millisecond

// Watch calls run now, and again after each change to a file that the last run read or
// wrote. When ctx is done, Watch returns nil. run returns its result, or nil if it has
// failed. Watch compares the sizes and modification times of files every 200ms, because
// file system notifications do not work on all mounts and would require a dependency.
func Watch(ctx context.Context, config Config, run func() *Result) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var done, last map[string]stamp
	read := map[string]bool{} // folders of other packages that runs have read
	for {
		now, err := stamps(ctx, config, read)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case done == nil || maps.Equal(now, last) && !maps.Equal(now, done):
			began := time.Now()
			r := run()
			if r != nil {
				for _, dir := range r.Read {
					read[dir] = true
				}
			}
			// From before the run: a file saved during the run starts another one.
			done = now
			if after, err := stamps(ctx, config, read); err == nil {
				addRunChanges(done, after, began)
				for _, name := range changedOutputs(r) {
					done[name] = stamp{size: -1}
				}
			}
		}
		last = now
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// addRunChanges updates the stamps from before a run with the changes by the run
// itself: its outputs, and files that are watched because the run has read them.
func addRunChanges(done, after map[string]stamp, began time.Time) {
	maps.DeleteFunc(done, func(name string, _ stamp) bool { return isOutput(filepath.Base(name)) })
	before := maps.Clone(done)
	for name, s := range after {
		_, known := before[name]
		_, folderKnown := before[filepath.Dir(name)]
		if isOutput(filepath.Base(name)) || !known && !folderKnown && s.time.Before(began) {
			done[name] = s
		}
	}
}

// changedOutputs returns the outputs that were changed or removed after Commit
// wrote them or found them up to date.
func changedOutputs(r *Result) []string {
	if r == nil {
		return nil
	}
	var names []string
	for _, f := range r.Files {
		name := absolute(r.Dir, f.Path)
		if text, err := os.ReadFile(name); f.Done && f.New != nil && (err != nil || !bytes.Equal(text, f.New)) {
			names = append(names, name)
		}
	}
	return names
}

// A stamp changes when a file is saved. It is zero for a folder, and for a file
// that does not exist.
type stamp struct {
	size int64
	time time.Time
}

// stamps returns the stamps of the policy files, Go files and outputs in the
// folders of the packages and in the folders read, and of the module files.
func stamps(ctx context.Context, config Config, read map[string]bool) (map[string]stamp, error) {
	dirs, err := dirs(ctx, config)
	if err != nil {
		return nil, err
	}
	maps.Copy(dirs, read)
	all := map[string]stamp{}
	for _, name := range moduleFiles(config.Dir, map[string]bool{}) {
		all[name] = stamp{}
		if info, err := os.Stat(name); err == nil {
			all[name] = stamp{info.Size(), info.ModTime()}
		}
	}
	for dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // removed meanwhile
		}
		all[dir] = stamp{}
		for _, e := range entries {
			if !watched(e) {
				continue
			}
			if info, err := e.Info(); err == nil {
				all[filepath.Join(dir, e.Name())] = stamp{info.Size(), info.ModTime()}
			}
		}
	}
	return all, nil
}

// watched reports whether changes of a file start a run.
func watched(e fs.DirEntry) bool {
	switch name := e.Name(); name {
	case SourceName, "go.mod", "go.sum":
		return true
	default:
		return strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".")
	}
}
