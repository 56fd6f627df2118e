package gen

import (
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// workspace returns the folders of the modules of the workspace of dir, or nil if
// dir is in none. It ignores an invalid go.work, which the go command reports.
func workspace(dir string) map[string]bool {
	root, work := workFile(dir)
	if work == nil {
		return nil
	}
	modules := map[string]bool{}
	for _, use := range work.Use {
		modules[resolvePath(root, use.Path)] = true
	}
	return modules
}

// workFile returns the go.work of the workspace of dir, and its folder. work is
// nil if dir is in no workspace.
func workFile(dir string) (root string, work *modfile.WorkFile) {
	file := os.Getenv("GOWORK")
	if file == "" {
		file = findUpwards(dir, "go.work")
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

// resolvePath returns a path in a go.mod or go.work of the folder dir as a file
// path.
func resolvePath(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// moduleFiles returns the paths of all files that may decide on the versions of
// modules, for a run in dir that reads the folders dirs. The files need not exist.
// They are in these folders and all folders above, in the modules of the
// workspace, and in modules that a replace directive takes from a folder.
func moduleFiles(dir string, dirs map[string]bool) (names []string) {
	dirs = maps.Clone(dirs)
	dirs[dir] = true
	maps.Copy(dirs, workspace(dir))
	all := ancestors(dirs)
	replaced := map[string]bool{}
	replace := func(root string, list []*modfile.Replace) {
		for _, r := range list {
			if r.New.Version == "" {
				replaced[resolvePath(root, r.New.Path)] = true
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

// findUpwards returns the path of the file called name in dir or the nearest
// folder above that has one, or "".
func findUpwards(dir, name string) string {
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
