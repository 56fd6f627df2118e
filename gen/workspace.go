package gen

import (
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// workspace returns the folders of the modules of the workspace that dir is in,
// none if it is in none. What is wrong with its file is the go command's to say.
func workspace(dir string) map[string]bool {
	file := os.Getenv("GOWORK")
	if file == "" {
		file = above(dir, "go.work")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	work, err := modfile.ParseWork(file, text, nil)
	if err != nil {
		return nil
	}
	modules := map[string]bool{}
	for _, use := range work.Use {
		path := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		modules[path] = true
	}
	return modules
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
