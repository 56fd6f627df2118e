package gen

import (
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// workspace returns the folders of the modules of the workspace that dir is in,
// none if it is in none. What is wrong with its file is the go command's to say.
func workspace(dir string) map[string]bool {
	root, work := workFile(dir)
	if work == nil {
		return nil
	}
	modules := map[string]bool{}
	for _, use := range work.Use {
		modules[from(root, use.Path)] = true
	}
	return modules
}

// workFile returns the go.work of the workspace that dir is in and its folder,
// nil if it is in none.
func workFile(dir string) (root string, work *modfile.WorkFile) {
	file := os.Getenv("GOWORK")
	if file == "" {
		file = above(dir, "go.work")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil
	}
	if work, err = modfile.ParseWork(file, text, nil); err != nil {
		return "", nil
	}
	return filepath.Dir(file), work
}

// from returns the path that a file of the go command in dir names.
func from(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// moduleFiles returns the names that files have, or would have, which decide on
// the versions of modules for a run in dir that reads the folders dirs: beside
// those above, the requirements of each module of the workspace and of each one
// that a folder replaces count.
func moduleFiles(dir string, dirs map[string]bool) (names []string) {
	dirs = maps.Clone(dirs)
	dirs[dir] = true
	maps.Copy(dirs, workspace(dir))
	all := ancestors(dirs)
	replaced := map[string]bool{}
	replace := func(root string, list []*modfile.Replace) {
		for _, r := range list {
			if r.New.Version == "" {
				replaced[from(root, r.New.Path)] = true
			}
		}
	}
	if root, work := workFile(dir); work != nil {
		replace(root, work.Replace)
	}
	for _, folder := range all {
		file := filepath.Join(folder, "go.mod")
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if mod, err := modfile.Parse(file, text, nil); err == nil {
			replace(folder, mod.Replace)
		}
	}
	maps.Copy(dirs, replaced)
	for _, folder := range ancestors(dirs) {
		for _, name := range []string{"go.mod", "go.sum", "go.work", "go.work.sum", "vendor/modules.txt"} {
			names = append(names, filepath.Join(folder, name))
		}
	}
	return names
}

// above returns the file name in dir or the nearest folder above it that has
// one, or "".
func above(dir, name string) string {
	for {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); err == nil {
			return file
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}
