package gen

import (
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

// Watch calls run now, and again whenever a policy file or a Go file of the
// packages changes, until ctx is done. It looks at sizes and times: a
// notification of the system would not reach files that are mounted from
// elsewhere, and would be a dependency.
func Watch(ctx context.Context, config Config, run func()) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var done, last map[string]stamp
	for {
		now, err := stamps(ctx, config)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case done == nil || maps.Equal(now, last) && !maps.Equal(now, done):
			// Taken before the run: what is saved while it runs is seen after.
			done = now
			run()
		}
		last = now
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// A stamp changes when a file is saved.
type stamp struct {
	size int64
	time time.Time
}

// stamps looks at the policy files and the Go files of the packages and at the
// module's files, not at our own output.
func stamps(ctx context.Context, config Config) (map[string]stamp, error) {
	dirs, err := dirs(ctx, config)
	if err != nil {
		return nil, err
	}
	all := map[string]stamp{}
	for dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // removed meanwhile
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && watched(e) {
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
		return strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".") && name != OutputName
	}
}
