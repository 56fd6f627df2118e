// Precision runs retrylint's suite on sources with unavailable dependencies. Declarations
// that do not compile without these dependencies are left out. It takes directories, and
// prints findings with their full paths.
//
//	go run . [-confidence proven|library|named] [-enable RL109] dir...
//
// Test files are left out. If go.mod needs changes, run the program with
// GOFLAGS=-mod=mod.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/retrygen/retrygen/internal/gocommand"
	"github.com/retrygen/retrygen/lint"
)

var patterns = flag.String("packages", "./...", "packages of each directory to check, with what they import of it")

func main() {
	debug.SetGCPercent(400)
	lint.PolicyLiteral.Flags.VisitAll(func(f *flag.Flag) { flag.Var(f.Value, f.Name, f.Usage) })
	flag.Parse()
	for _, dir := range flag.Args() {
		if err := run(dir); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", dir, err)
			os.Exit(2)
		}
	}
}

func run(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedDeps | packages.NeedModule
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Dir: dir,
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")}, strings.Fields(*patterns)...)
	if err != nil {
		return err
	}
	c := &compiler{fset: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	var ours []*packages.Package
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		if c.compile(pkg) {
			ours = append(ours, pkg)
		}
	})
	for _, pkg := range ours {
		for path, imported := range pkg.Imports {
			if imported.TypesInfo == nil {
				delete(pkg.Imports, path) // it was not analyzed
			}
		}
	}
	graph, err := checker.Analyze(lint.Suite, ours, nil)
	if err != nil {
		return err
	}
	var lines []string
	for _, action := range graph.Roots {
		if action.Err != nil {
			return fmt.Errorf("%s: %w", action.Package.PkgPath, action.Err)
		}
		for _, d := range action.Diagnostics {
			if at := c.fset.Position(d.Pos); strings.HasPrefix(at.Filename, dir+string(filepath.Separator)) {
				lines = append(lines, fmt.Sprintf("%s: %s", at, d.Message))
			}
		}
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		fmt.Println(line)
	}
	fmt.Fprintf(os.Stderr, "%s: %d packages, %d findings, %d declarations left out\n", dir, len(ours),
		len(slices.Compact(lines)), c.dropped)
	return nil
}

// A compiler type-checks packages in the order of their imports: those of the program's own
// modules with their functions, of others what they declare.
type compiler struct {
	fset    *token.FileSet
	done    map[string]*types.Package
	dropped int
}

// compile type-checks a package and reports whether it is to be analyzed.
func (c *compiler) compile(pkg *packages.Package) bool {
	ours := gocommand.IsOwn(pkg.Module)
	var files []*ast.File
	for _, name := range pkg.CompiledGoFiles {
		f, err := parser.ParseFile(c.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		if !ours {
			for _, decl := range f.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok {
					fn.Body = nil
				}
			}
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return false
	}
	// What one error hides, the next round finds.
	for range 50 {
		var errs []types.Error
		info := newInfo()
		config := &types.Config{
			Importer: importer{c, pkg}, Sizes: types.SizesFor("gc", "amd64"), IgnoreFuncBodies: !ours,
			Error: func(err error) { errs = append(errs, err.(types.Error)) },
		}
		if pkg.Module != nil && pkg.Module.GoVersion != "" {
			config.GoVersion = "go" + pkg.Module.GoVersion
		}
		checked, _ := config.Check(pkg.PkgPath, c.fset, files, info)
		if !ours {
			c.done[pkg.PkgPath] = checked
			return false
		}
		if len(errs) == 0 {
			c.done[pkg.PkgPath] = checked
			pkg.Name, pkg.Fset, pkg.Syntax = files[0].Name.Name, c.fset, files
			pkg.Types, pkg.TypesInfo, pkg.TypesSizes = checked, info, config.Sizes
			pkg.Errors, pkg.IllTyped = nil, false
			return true
		}
		n := drop(files, errs)
		if n == 0 {
			fmt.Fprintf(os.Stderr, "%s: left out: %v\n", pkg.PkgPath, errs[0])
			return false
		}
		c.dropped += n
	}
	fmt.Fprintf(os.Stderr, "%s: left out\n", pkg.PkgPath)
	return false
}

func newInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes:     map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
}

// An importer gives a package what was type-checked before it.
type importer struct {
	*compiler
	pkg *packages.Package
}

// Import returns the package that a path stands for.
func (i importer) Import(path string) (*types.Package, error) {
	if imported := i.pkg.Imports[path]; imported != nil {
		path = imported.PkgPath
	}
	if pkg := i.done[path]; pkg != nil && (pkg == types.Unsafe || pkg.Name() != "") {
		return pkg, nil
	}
	return nil, errors.New("not to be had")
}
