package main

import (
	"os"
	"path/filepath"

	"github.com/retrygen/retrygen/foreign"
)

// patches holds the files that Kustomize applies as patches, by the folder of the
// kustomization.yaml and by their names. All paths are absolute.
type patches map[string]map[string]*foreign.Patch

// of returns what a kustomization.yaml in the folder of a file, or in a folder around that,
// says about the file, or nil if it is no patch. Kustomize reads no other files.
func (p patches) of(name string) *foreign.Patch {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil
	}
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		if patch := p.in(dir)[abs]; patch != nil {
			return patch
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// in returns the patches of a folder.
func (p patches) in(dir string) map[string]*foreign.Patch {
	files, known := p[dir]
	if known {
		return files
	}
	files = map[string]*foreign.Patch{}
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue // most folders have none
		}
		for file, patch := range foreign.PatchFiles(text) {
			files[filepath.Join(dir, filepath.FromSlash(file))] = patch
		}
	}
	p[dir] = files
	return files
}
