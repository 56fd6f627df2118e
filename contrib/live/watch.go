package live

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// MaxSize is the maximum size, in bytes, of a policy file that a [Source] or a [Server]
// accepts.
const MaxSize = 16 << 20

// Interval is the time between two reads of a [Source] by [Control.Watch].
const Interval = time.Second

// A Source is where a Control reads a policy file from.
type Source struct {
	name string
	open func() (io.ReadCloser, error)
}

// File returns the source for the file at a path. If the path is a symbolic link, as in a
// mounted ConfigMap, the link is followed each time.
func File(path string) Source {
	return Source{path, func() (io.ReadCloser, error) { return os.Open(path) }}
}

// FS returns the source for a file in a file system.
func FS(fsys fs.FS, name string) Source {
	return Source{name, func() (io.ReadCloser, error) { return fsys.Open(name) }}
}

// read returns the content of the source.
func (s Source) read() (string, error) {
	f, err := s.open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		err = fmt.Errorf("%s has more than %d bytes", s.name, MaxSize)
	}
	return string(text), err
}

// Watch loads the policy file from a source, and each later version of it, until ctx
// ends. It reads the source once per [Interval]. Because a file may be read while it is
// being written, Watch loads a version only when two consecutive reads have returned the
// same bytes. If a version is refused or a file cannot be read, Watch logs this once and
// changes nothing. It also logs when that is over. If [Control.Load] or a [Server] has
// activated a different version, that version remains active until the file changes.
func (c *Control) Watch(ctx context.Context, s Source) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	var seen, loaded *string // by the last read that succeeded, and by Load
	var failure string
	for {
		text, err := s.read()
		if err == nil && failure != "" {
			failure = ""
			c.log.LogAttrs(ctx, slog.LevelInfo, "policy file read again", c.attrs(s.name)...)
		}
		switch {
		case err != nil:
			seen = nil
			if failure != err.Error() {
				failure = err.Error()
				c.log.LogAttrs(ctx, slog.LevelError, "policy file not read", c.attrs(s.name, slog.Any("error", err))...)
			}
		case loaded != nil && *loaded == text:
			seen = &text
		case seen != nil && *seen == text:
			loaded = &text
			_, _ = c.Load([]byte(text), s.name) // which logs the error
		default:
			seen = &text
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
