package bind

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Local returns the folders of all packages on which the program depends and whose files may
// change. These exclude the packages of the standard library, which belong to the go command,
// and those in the module cache, whose content is fixed by go.sum. ok is false if the program
// may depend on other files, too.
func (p *Program) Local() (dirs []string, ok bool) {
	if p == nil {
		return nil, false
	}
	ok = true
	var root string // root folder of the standard library
	var loose []string
	packages.Visit(p.loaded, func(pkg *packages.Package) bool {
		if pkg.PkgPath == "unsafe" || pkg.PkgPath == "C" {
			return true
		}
		if len(pkg.GoFiles) == 0 || slices.ContainsFunc(pkg.Errors, notTyped) {
			ok = false
		}
		if len(pkg.GoFiles) == 0 {
			return true
		}
		dir := filepath.Dir(pkg.GoFiles[0])
		switch {
		case pkg.Module == nil:
			if pkg.PkgPath == "runtime" {
				root = filepath.Dir(dir)
			}
			loose = append(loose, dir)
		case !isCached(pkg.Module, dir):
			dirs = append(dirs, dir)
			// Files that cgo generates depend on more than Go files.
			for _, name := range pkg.CompiledGoFiles {
				ok = ok && filepath.Dir(name) == dir
			}
		}
		return true
	}, nil)
	for _, dir := range loose {
		standard := root != "" && strings.HasPrefix(dir, root+string(filepath.Separator))
		if ok = ok && standard; root != "" && !standard {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), ok
}

// notTyped reports whether err is not a type error.
func notTyped(err packages.Error) bool { return err.Kind != packages.TypeError }

// isCached reports whether a folder of m is in the module cache.
func isCached(m *packages.Module, dir string) bool {
	if m.Replace != nil {
		m = m.Replace
	}
	return m.Version != "" && m.Dir != "" && strings.HasSuffix(m.Dir, "@"+m.Version) &&
		(dir == m.Dir || strings.HasPrefix(dir, m.Dir+string(filepath.Separator)))
}
