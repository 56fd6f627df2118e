package bind

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/retrygen/retrygen/internal/gocommand"
)

// A Program contains the packages of one load.
type Program struct {
	byDir  map[string]*Package
	byPath map[string]*Package
	broken map[string][]packages.Error // errors of packages that cannot be loaded, by folder and by path
	loaded []*packages.Package

	imported map[string]*Package // packages that are imported but not bound: see declaring
}

// A Package is one loaded package.
type Package struct {
	Dir     string
	Path    string
	Name    string
	program *Program
	types   *types.Package
	fset    *token.FileSet
	errors  []types.Error
	docs    map[token.Pos]string
	lengths map[token.Pos][]ast.Expr // expressions of array lengths, by the functions whose signatures contain them
	values  map[string]ast.Expr      // expressions of constants
	loaded  *packages.Package

	ours     func(name string, text []byte) bool
	ignored  []string             // files that this build excludes
	declared map[string]token.Pos // see declaredElsewhere

	files    map[string]buildFile // files of this build: see file
	others   []buildFile          // files that this build excludes: see declaredElsewhere
	promised map[string]bool      // see Promise
}

// Load loads the packages that match patterns, as the go command in dir does. ours reports,
// from its name and text, whether a file is the output of an earlier run. Load reads only the
// package clause of such files, so that the result does not depend on whether the output is
// missing, stale or broken.
//
// Each run calls Load once. It reads the types of imports from export data: NeedDeps takes 10
// to 20 times as long, and an overlay 9 times.
func Load(ctx context.Context, dir string, tags string, patterns []string,
	ours func(name string, text []byte) bool) (*Program, error) {
	config := &packages.Config{
		Context: ctx,
		Dir:     dir,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedModule,
		BuildFlags: gocommand.BuildFlags(tags),
		Fset:       token.NewFileSet(),
		ParseFile: func(fset *token.FileSet, filename string, src []byte) (*ast.File, error) {
			if ours(filename, src) {
				return parser.ParseFile(fset, filename, packageClause(src), parser.PackageClauseOnly)
			}
			return parser.ParseFile(fset, filename, src, parser.ParseComments|parser.SkipObjectResolution)
		},
	}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, gocommand.Message(err)
	}
	// The output of an earlier run may still use an older name of the package.
	if config.Overlay = misnamed(loaded, ours); len(config.Overlay) > 0 {
		if loaded, err = packages.Load(config, patterns...); err != nil {
			return nil, gocommand.Message(err)
		}
	}
	// Load may return neither packages nor an error if the module has a problem.
	if len(loaded) == 0 && moduleOf(dir) != "" {
		if err := gocommand.List(ctx, dir, tags, patterns...); err != nil {
			return nil, err
		}
	}
	program := &Program{byDir: map[string]*Package{}, broken: map[string][]packages.Error{}, loaded: loaded}
	for _, pkg := range loaded {
		absent := pkg.Types == nil || len(pkg.Syntax) == 0
		if errs := fatal(pkg, absent, ours); len(errs) > 0 {
			program.broken[pkg.Dir], program.broken[pkg.PkgPath] = errs, errs
		}
		if absent {
			continue
		}
		p := program.Add(pkg.Types, config.Fset, pkg.Syntax)
		p.loaded, p.errors, p.ours, p.ignored = pkg, pkg.TypeErrors, ours, pkg.IgnoredFiles
		if len(pkg.GoFiles) > 0 {
			p.Dir = filepath.Dir(pkg.GoFiles[0])
			program.byDir[p.Dir] = p
		}
	}
	for _, pattern := range patterns {
		if filepath.IsAbs(pattern) && program.byDir[pattern] == nil && program.broken[pattern] == nil {
			program.broken[pattern] = []packages.Error{{Msg: missing(ctx, dir, tags, pattern)}}
		}
	}
	return program, nil
}

// misnamed returns an overlay that excludes the outputs of earlier runs from the build, for
// folders in which the go command has found several packages.
func misnamed(loaded []*packages.Package, ours func(string, []byte) bool) map[string][]byte {
	overlay := map[string][]byte{}
	for _, pkg := range loaded {
		if !slices.ContainsFunc(pkg.Errors, twoPackages) {
			continue
		}
		for _, name := range pkg.GoFiles {
			if text, err := os.ReadFile(name); err == nil && ours(name, text) {
				overlay[name] = []byte("//go:build ignore\n\npackage ignored\n")
			}
		}
	}
	return overlay
}

// twoPackages reports whether an error of the go command says that a folder contains several
// packages.
func twoPackages(err packages.Error) bool {
	return err.Kind == packages.ListError && strings.HasPrefix(err.Msg, "found packages ")
}

// Add adds a package that is already type-checked to the program.
func (p *Program) Add(pkg *types.Package, fset *token.FileSet, files []*ast.File) *Package {
	if p.byPath == nil {
		p.byPath = map[string]*Package{}
	}
	one := &Package{Path: pkg.Path(), Name: pkg.Name(), program: p, types: pkg, fset: fset, docs: docs(files),
		lengths: lengths(files), values: values(files)}
	p.byPath[one.Path] = one
	return one
}

// packageClause returns the package clause of an output of an earlier run. Its other lines may
// be broken.
func packageClause(src []byte) []byte {
	for line := range bytes.Lines(src) {
		if bytes.HasPrefix(line, []byte("package ")) {
			return line
		}
	}
	return src
}

// fatal returns the errors that make a whole package unusable. It ignores type errors, because
// code may call functions that are not generated yet. Lookup reports the type errors that
// concern a bound symbol. fatal also ignores errors in the output of an earlier run.
func fatal(pkg *packages.Package, absent bool, ours func(string, []byte) bool) (errs []packages.Error) {
	parsed := map[string]bool{}
	for _, err := range pkg.Errors {
		switch {
		case err.Kind == packages.ParseError:
			name, _, _ := strings.Cut(err.Pos, ":")
			// The other errors in a file usually follow from the first one.
			if text, readErr := os.ReadFile(name); parsed[name] || readErr == nil && ours(name, text) {
				continue
			}
			parsed[name] = true
			errs = append(errs, err)
		case twoPackages(err):
			what, _, _ := strings.Cut(err.Msg, " in "+pkg.Dir)
			errs = append(errs, packages.Error{Msg: what + ": a folder holds one"})
		case absent && strings.HasPrefix(err.Msg, "build constraints exclude all Go files"):
			errs = append(errs,
				packages.Error{
					Msg: "this build leaves out all its Go files: run with the -tags, GOOS and GOARCH that they are for"})
		case absent:
			errs = append(errs, err)
		}
	}
	if absent && len(errs) == 0 {
		errs = append(errs, packages.Error{Msg: "all its Go files are tests"})
	}
	return errs
}

// In returns the package in the folder dir, and the errors that make it unusable. It may return
// both, for a package that can be read only in part.
func (p *Program) In(dir string) (*Package, []packages.Error) {
	return p.byDir[dir], p.broken[dir]
}

// missing returns why a load in dir has not found a package in folder.
func missing(ctx context.Context, dir, tags, folder string) string {
	switch module := moduleOf(folder); module {
	case "":
		return "there is no go.mod in its folder or above: run go mod init MODULE"
	case moduleOf(dir):
		if err := gocommand.List(ctx, dir, tags, folder); err != nil {
			return err.Error()
		}
		return "the go command finds no package in its folder"
	default:
		return "it is part of the module in " + module + ", and the run is in another: run retrygen there"
	}
}

// moduleOf returns the nearest folder that contains a go.mod: dir or one of its parents. It
// returns "" if there is none.
func moduleOf(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// imports reports whether p imports the package at path, directly or indirectly.
func (p *Package) imports(path string) (found bool) {
	if p.loaded == nil {
		return false
	}
	packages.Visit([]*packages.Package{p.loaded}, func(pkg *packages.Package) bool {
		found = found || pkg.PkgPath == path
		return !found && pkg.Module != nil // the standard library imports only itself
	}, nil)
	return found
}

// DependsOn reports whether p, or a package at one of the paths in others, imports the package
// at path, directly or indirectly. Imports in the output of an earlier run do not count.
func (p *Package) DependsOn(path string, others []string) bool {
	seen := map[*packages.Package]bool{}
	var depends func(pkg *packages.Package) bool
	depends = func(pkg *packages.Package) bool {
		switch {
		case pkg == nil || seen[pkg] || pkg.Module == nil: // the standard library imports only itself
			return false
		case pkg.PkgPath == path:
			return true
		}
		seen[pkg] = true
		for _, imported := range importsOf(pkg) {
			if depends(imported) {
				return true
			}
		}
		return false
	}
	return depends(p.loaded) || slices.ContainsFunc(others, func(other string) bool {
		q := p.program.byPath[other]
		return q != nil && depends(q.loaded)
	})
}

// CanImport reports whether code of p can import the package at path without a change of
// go.mod. This is so if p, or a package at one of the paths in others, imports it or another
// package of its module, directly or indirectly.
func (p *Package) CanImport(path string, others []string) (found bool) {
	roots := []*packages.Package{}
	for _, q := range append([]*Package{p}, p.program.at(others)...) {
		if q.loaded != nil {
			roots = append(roots, q.loaded)
		}
	}
	packages.Visit(roots, func(pkg *packages.Package) bool {
		found = found || pkg.PkgPath == path
		if m := pkg.Module; !found && m != nil && m.Dir != "" {
			if below, ok := strings.CutPrefix(path, m.Path+"/"); ok {
				files, _ := filepath.Glob(filepath.Join(m.Dir, filepath.FromSlash(below), "*.go"))
				found = len(files) > 0
			}
		}
		return !found && pkg.Module != nil
	}, nil)
	return found
}

// at returns the packages of the program at paths.
func (p *Program) at(paths []string) (list []*Package) {
	for _, path := range paths {
		if q := p.byPath[path]; q != nil {
			list = append(list, q)
		}
	}
	return list
}

// importsOf returns the packages that pkg imports. If the files of pkg are parsed, the result
// does not contain imports in the output of an earlier run.
func importsOf(pkg *packages.Package) (list []*packages.Package) {
	if len(pkg.Syntax) == 0 {
		return slices.Collect(maps.Values(pkg.Imports))
	}
	for _, file := range pkg.Syntax {
		for _, spec := range file.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil {
				list = append(list, pkg.Imports[path])
			}
		}
	}
	return list
}

// lookup returns the object with the given name that the package declares, or nil. It ignores
// the output of an earlier run.
func (p *Package) lookup(name string) types.Object {
	if p.promised[name] {
		return nil
	}
	return p.types.Scope().Lookup(name)
}

// position returns the position of an object, with the base name of the file.
func (p *Package) position(obj types.Object) string { return p.short(obj.Pos()) }

// short formats a position, with the base name of the file.
func (p *Package) short(at token.Pos) string {
	pos := p.fset.Position(at)
	return fmt.Sprintf("%s:%d:%d", filepath.Base(pos.Filename), pos.Line, pos.Column)
}

// place returns the position of an object with the full path of the file.
func (p *Package) place(obj types.Object) string { return p.fset.Position(obj.Pos()).String() }

// docs returns the doc comments of functions, types and interface methods, by the
// position of the name.
func docs(files []*ast.File) map[token.Pos]string {
	docs := map[token.Pos]string{}
	add := func(name *ast.Ident, groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if text := g.Text(); text != "" {
				docs[name.Pos()] = strings.TrimSpace(text)
				return
			}
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(n.Name, n.Doc)
				return false
			case *ast.GenDecl:
				for _, spec := range n.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						add(spec.Name, spec.Doc, n.Doc)
					}
				}
			case *ast.InterfaceType:
				for _, m := range n.Methods.List {
					if len(m.Names) == 1 {
						add(m.Names[0], m.Doc, m.Comment)
					}
				}
			}
			return true
		})
	}
	return docs
}
