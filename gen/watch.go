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

// An editor saves several files at once, and some in several steps: what has
// changed is looked at every interval, and run when nothing more did.
const interval = 200 * time.Millisecond

// Watch calls run now, and again whenever something changes that the run before
// depended on or wrote, until ctx is done. run returns what it has found, or nil
// if it has failed. Watch looks at sizes and times: a notification of the system
// would not reach files that are mounted from elsewhere, and would be a
// dependency.
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
			// Taken before the run: what is saved while it runs is seen after.
			done = now
			if after, err := stamps(ctx, config, read); err == nil {
				settle(done, after, began)
				for _, name := range touched(r) {
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

// settle brings what was looked at before a run up to what the run itself has
// changed: its outputs, and what is looked at because it has read it.
func settle(done, after map[string]stamp, began time.Time) {
	maps.DeleteFunc(done, func(name string, _ stamp) bool { return filepath.Base(name) == OutputName })
	looked := maps.Clone(done)
	for name, s := range after {
		_, known := looked[name]
		_, beside := looked[filepath.Dir(name)]
		if filepath.Base(name) == OutputName || !known && !beside && s.time.Before(began) {
			done[name] = s
		}
	}
}

// touched lists the outputs that somebody has changed or removed since Commit
// wrote them or found them in place.
func touched(r *Result) []string {
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

// A stamp changes when a file is saved. That of a folder, and of a file that is
// not there, is zero.
type stamp struct {
	size int64
	time time.Time
}

// stamps looks at the policy files, the Go files and the outputs of the packages
// and of the folders read, and at the files of the modules.
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

func watched(e fs.DirEntry) bool {
	switch name := e.Name(); name {
	case SourceName, "go.mod", "go.sum":
		return true
	default:
		return strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".")
	}
}
