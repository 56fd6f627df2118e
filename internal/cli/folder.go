package cli

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A folder is the value of the flag -C.
type folder string

func (f *folder) String() string { return string(*f) }

// Set sets the value. Whether the folder exists matters only to a program that runs.
func (f *folder) Set(name string) error {
	*f = folder(name)
	return nil
}

// FolderFlag defines the flag -C. The program changes to its folder before it runs
// the command.
func FolderFlag(flags *flag.FlagSet) {
	f := folder(".")
	flags.Var(&f, "C", "run in `folder`")
}

// enter changes to the folder of the flag -C, if a command has it.
func enter(flags *flag.FlagSet) error {
	c := flags.Lookup("C")
	if c == nil {
		return nil
	}
	name := c.Value.String()
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("-C %s: there is no such folder", name)
	case err != nil:
		return fmt.Errorf("-C: %w", err)
	case !info.IsDir():
		return fmt.Errorf("-C %s: not a folder", name)
	case name == ".":
		return nil
	}
	return os.Chdir(name)
}

// LooksLikeFolder reports whether a package pattern without ./ at its start, which is an
// import path, is also the path of a folder. Its user means the folder.
func LooksLikeFolder(pattern string) bool {
	info, err := os.Stat(strings.TrimSuffix(pattern, "..."))
	return err == nil && info.IsDir() && !strings.HasPrefix(pattern, ".") && !filepath.IsAbs(pattern)
}
