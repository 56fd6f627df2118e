// Package atomicfile writes files so that whoever reads one, and whatever
// crash, finds the old text or the new one.
package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Write makes text the content of the file at path, which keeps its mode; a new
// one gets 0644. A symbolic link stays, and the file that it leads to is
// written. What is there and is no file, as /dev/stdout or a pipe, is written
// to.
func Write(path string, text []byte) error {
	// Before links are followed: /dev/stdout is one that leads to no path.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return through(path, text)
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

// Resolve returns the file that path is or leads to, which need not be there.
func Resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, os.ErrNotExist) {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New("it is a link that leads nowhere")
	}
	return path, nil
}

// through writes to what cannot be replaced.
func through(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Sweep removes what Stage wrote to dir and a crash kept from being renamed. A
// run that is still at work does not take an hour.
func Sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, name := range left {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Hour {
			os.Remove(name)
		}
	}
}

// prefix begins the names of staged files. The dot hides them from the go
// command, should they be left behind.
const prefix = ".retrygen-"

// Stage writes text to the disk beside path, with the mode of the file there,
// and returns the name, to be renamed to path.
func Stage(path string, text []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), prefix+"*")
	defer func() {
		if e, ok := errors.AsType[*os.PathError](err); ok {
			err = e.Err // the temporary name says nothing
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
