package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// resolve returns the absolute path of the database without symbolic links, so that
// all processes use the same files next to it. The folder must exist on a local
// file system.
func resolve(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("%w: the path of the database is empty", storage.ErrStore)
	}
	resolved, err := followLinks(path)
	if err != nil {
		return "", fmt.Errorf("%w: %s: the folder of the database must exist: %w", storage.ErrStore, path, err)
	}
	network, err := networkOf(filepath.Dir(resolved))
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", storage.ErrStore, resolved, err)
	}
	if network != "" {
		return "", fmt.Errorf("%w: %s: SQLite cannot lock files on %s: choose a path on a disk of this machine",
			storage.ErrStore, resolved, network)
	}
	return resolved, nil
}

// maxLinks is the greatest number of links that are followed.
const maxLinks = 40

// followLinks resolves the symbolic links in path. The last link may lead to a file
// that does not exist.
func followLinks(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		target, err := os.Readlink(path)
		if err != nil { // not a link, or nothing
			return path, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
}

// checkFiles reports whether there is a database at path. It returns an error if
// the database is empty or missing but its WAL is not, because SQLite would
// overwrite that.
func checkFiles(path string) (exists bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return false, refuse(path, "not a regular file: choose another path", nil)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	case err == nil && info.Size() > 0:
		return true, nil
	}
	if size := sizeOf(path + "-wal"); size > 0 {
		return false, refuse(path, "the database is lost, but not its -wal: restore a backup, or move the -wal away", nil)
	}
	return false, nil
}

// sizeOf returns the size of a file in bytes, 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// dataSource returns the URI of a database for the driver. Mode is rw, or rwc to
// create it.
func dataSource(path, mode string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/…
		path = "/" + path
	}
	uri := url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode}
	return uri.String()
}
