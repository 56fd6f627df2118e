package bind

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A Program is what one load brought.
type Program struct {
	byDir  map[string]*Package
	byPath map[string]*Package
	absent []packages.Error // of packages without a readable file
	loaded []*packages.Package
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
	loaded  *packages.Package

	ours     func(name string, text []byte) bool
	ignored  []string             // files that this build leaves out
	declared map[string]token.Pos // see elsewhere
	promised map[string]bool      // see Promise
}

// A CompileError lists what keeps packages from being understood.
type CompileError struct{ Errors []packages.Error }

func (e *CompileError) Error() string {
	var lines []string
	for _, err := range e.Errors {
		if err.Pos == "" || err.Pos == "-" {
			lines = append(lines, err.Msg)
		} else {
			lines = append(lines, err.Error())
		}
	}
	return strings.Join(lines, "\n")
}

// Load loads the packages of patterns, as the go command in dir understands
// them. Files for which ours reports true, by their name and text, are the
// output of an earlier run: of these only the package clause is read, so that a
// missing, stale or broken output, or code that already calls what is not yet
// generated, does not matter.
//
// There is one load a run, and it takes types of imports from export data:
// NeedDeps costs ten to twenty times as much, an overlay nine.
func Load(ctx context.Context, dir string, tags string, patterns []string, ours func(name string, text []byte) bool) (*Program, error) {
	config := &packages.Config{
		Context: ctx,
		Dir:     dir,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedModule,
		BuildFlags: BuildFlags(tags),
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
		return nil, err
	}
	// The output of an earlier run still has the name that a package had then.
	if config.Overlay = misnamed(loaded, ours); len(config.Overlay) > 0 {
		if loaded, err = packages.Load(config, patterns...); err != nil {
			return nil, err
		}
	}
	program := &Program{byDir: map[string]*Package{}, loaded: loaded}
	var broken []packages.Error
	for _, pkg := range loaded {
		broken = append(broken, syntaxErrors(pkg, dir, ours)...)
		if pkg.Types == nil || len(pkg.Syntax) == 0 {
			program.absent = append(program.absent, pkg.Errors...)
			continue
		}
		p := program.Add(pkg.Types, config.Fset, pkg.Syntax)
		p.loaded, p.errors, p.ours, p.ignored = pkg, pkg.TypeErrors, ours, pkg.IgnoredFiles
		if len(pkg.GoFiles) > 0 {
			p.Dir = filepath.Dir(pkg.GoFiles[0])
			program.byDir[p.Dir] = p
		}
	}
	if len(broken) > 0 {
		return nil, &CompileError{broken}
	}
	return program, nil
}

// misnamed returns, as an overlay that leaves them out of the build, the files
// of ours among those of which the go command cannot make one package.
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

// twoPackages reports whether the go command has found several packages in one
// folder.
func twoPackages(err packages.Error) bool {
	return err.Kind == packages.ListError && strings.HasPrefix(err.Msg, "found packages ")
}

// BuildFlags returns the flags of the go command for build tags.
func BuildFlags(tags string) []string {
	if tags == "" {
		return nil
	}
	return []string{"-tags=" + tags}
}

// Add makes a package that is type-checked already known to the program.
func (p *Program) Add(pkg *types.Package, fset *token.FileSet, files []*ast.File) *Package {
	if p.byPath == nil {
		p.byPath = map[string]*Package{}
	}
	one := &Package{Path: pkg.Path(), Name: pkg.Name(), program: p, types: pkg, fset: fset, docs: docs(files)}
	p.byPath[one.Path] = one
	return one
}

// packageClause returns the package clause of a file of ours in which anything
// else may be broken.
func packageClause(src []byte) []byte {
	for line := range bytes.Lines(src) {
		if bytes.HasPrefix(line, []byte("package ")) {
			return line
		}
	}
	return src
}

// syntaxErrors returns the errors that make a whole package useless to us.
// Type errors are not among them: code that calls functions not yet generated
// has some, and a bound symbol that they concern is found out when it is looked
// up. Errors in our own output do not count either.
func syntaxErrors(pkg *packages.Package, dir string, ours func(string, []byte) bool) []packages.Error {
	var errs []packages.Error
	for _, err := range pkg.Errors {
		// Of what the go command says, only two packages in one folder is fatal.
		if err.Kind == packages.ParseError || twoPackages(err) {
			name, _, _ := strings.Cut(err.Pos, ":")
			if text, readErr := os.ReadFile(name); readErr == nil && ours(name, text) {
				continue
			}
			err.Pos = relative(dir, err.Pos)
			errs = append(errs, err)
		}
	}
	return errs
}

// relative shortens the file name of a position below dir.
func relative(dir, pos string) string {
	if rest, ok := strings.CutPrefix(pos, dir+string(filepath.Separator)); ok {
		return rest
	}
	return pos
}

// In returns the package in the folder dir.
func (p *Program) In(dir string) (*Package, error) {
	pkg := p.byDir[dir]
	switch {
	case pkg == nil && len(p.absent) == 0:
		return nil, &CompileError{[]packages.Error{{Msg: dir + ": the go command finds no package here: is the folder part of a module?"}}}
	case pkg == nil:
		return nil, &CompileError{p.absent}
	}
	return pkg, nil
}

// imports reports whether p imports the package at path, at whatever remove.
func (p *Package) imports(path string) (found bool) {
	if p.loaded == nil {
		return false
	}
	packages.Visit([]*packages.Package{p.loaded}, func(pkg *packages.Package) bool {
		found = found || pkg.PkgPath == path
		return !found && pkg.Module != nil // the standard library imports nothing else
	}, nil)
	return found
}

// lookup returns what the package declares under name, outside of our own
// output.
func (p *Package) lookup(name string) types.Object {
	if p.promised[name] {
		return nil
	}
	return p.types.Scope().Lookup(name)
}

func (p *Package) position(obj types.Object) string { return p.short(obj.Pos()) }

// short writes a position without the folder.
func (p *Package) short(at token.Pos) string {
	pos := p.fset.Position(at)
	return fmt.Sprintf("%s:%d:%d", filepath.Base(pos.Filename), pos.Line, pos.Column)
}

// place is position with the whole name of the file.
func (p *Package) place(obj types.Object) string { return p.fset.Position(obj.Pos()).String() }

// docs collects the doc comments of functions, types and interface methods by
// the position of the name.
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
