// Package atomicfile replaces files atomically: a reader, or the system after a
// crash, sees the old text or the new text.
package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Write replaces the content of the file at path by text. The file keeps its mode;
// a new one has mode 0644. Write follows a symbolic link and keeps it. It writes
// directly to path if that is not a regular file, such as /dev/stdout or a pipe.
func Write(path string, text []byte) error {
	// Before links are followed: /dev/stdout is a link whose target may have no path.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeDirectly(path, text)
	}
	real, err := Resolve(path)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	temp, err := Stage(real, text)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	if err := os.Rename(temp, real); err != nil {
		os.Remove(temp)
		return err
	}
	return nil
}

// Resolve returns path with all symbolic links followed. The file need not exist,
// but a link to a missing file is an error.
func Resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, os.ErrNotExist) {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New("it is a link to a missing file")
	}
	return path, nil
}

// writeDirectly writes to an existing file that cannot be replaced, such as a pipe.
func writeDirectly(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Sweep removes files that Stage wrote to dir more than an hour ago. They remain if
// a crash prevents the rename; a live run renames its files sooner.
func Sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, name := range left {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Hour {
			os.Remove(name)
		}
	}
}

// prefix begins the names of staged files. The go command ignores files whose names
// begin with a dot.
const prefix = ".retrygen-"

// Stage writes text to a new file in the folder of path, with the mode of the file
// at path, and syncs it. It returns the name; the caller renames the file to path.
func Stage(path string, text []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), prefix+"*")
	defer func() {
		if e, ok := errors.AsType[*os.PathError](err); ok {
			err = e.Err // without the temporary name
		}
	}()
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(f.Name())
		}
	}()
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if _, err := f.Write(text); err != nil {
		return "", err
	}
	return f.Name(), errors.Join(f.Chmod(mode), f.Sync())
}
