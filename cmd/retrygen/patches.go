package main

import (
	"os"
	"path/filepath"

	"github.com/retrygen/retrygen/foreign"
)

// patches holds the files that Kustomize applies as patches, by the folder of the
// kustomization.yaml. All paths are absolute.
type patches map[string]map[string]bool

// has reports whether a file is a patch: a kustomization.yaml in its folder, or in a
// folder around that, says so. Kustomize reads no other files.
func (p patches) has(name string) bool {
	abs, err := filepath.Abs(name)
	if err != nil {
		return false
	}
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		if p.of(dir)[abs] {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// of returns the patches of a folder.
func (p patches) of(dir string) map[string]bool {
	files, known := p[dir]
	if known {
		return files
	}
	files = map[string]bool{}
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue // most folders have none
		}
		for _, patch := range foreign.PatchFiles(text) {
			files[filepath.Join(dir, filepath.FromSlash(patch))] = true
		}
	}
	p[dir] = files
	return files
}
