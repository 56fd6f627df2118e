package bind

import (
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// And joins build constraints, each once; an empty one is none.
func And(constraints ...string) string {
	var all constraint.Expr
	seen := map[string]bool{"": true}
	for _, text := range constraints {
		one, err := constraint.Parse("//go:build " + text)
		if seen[text] || err != nil {
			continue
		}
		seen[text] = true
		if all == nil {
			all = one
		} else {
			all = &constraint.AndExpr{X: all, Y: one}
		}
	}
	if all == nil {
		return ""
	}
	return all.String()
}

// constraint returns the build constraint under which the package declares a
// function, type or value, or a method (as T.M), as it does at pos: the same
// signature, and of an interface the same methods. Other builds may have it in
// other files, as with one for each system.
func (p *Package) constraint(symbol string, pos token.Pos) string {
	file := p.fset.Position(pos).Filename
	own := p.file(file)
	if own.constraint == "" {
		return ""
	}
	p.elsewhere()
	same := []string{own.constraint}
	for _, other := range p.others {
		if shape, ok := other.shapes[symbol]; ok && shape == own.shapes[symbol] && other.constraint != "" {
			same = append(same, other.constraint)
		}
	}
	return Or(same...)
}

// buildFile is a file of a package as far as builds matter.
type buildFile struct {
	constraint string
	shapes     map[string]string // of what it declares: see shapesOf
}

// file returns a file of this build.
func (p *Package) file(name string) buildFile {
	one, ok := p.files[name]
	if !ok {
		if one.constraint = constraintOf(name); one.constraint != "" {
			file, _ := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			one.shapes = shapesOf(file)
		}
		if p.files == nil {
			p.files = map[string]buildFile{}
		}
		p.files[name] = one
	}
	return one
}

// constraintOf returns the build constraint that a file has, by what it says and
// by its name.
func constraintOf(name string) string {
	file, _ := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
	if file == nil {
		return ""
	}
	said := tagsOf(name)
	for _, spec := range file.Imports {
		if spec.Path.Value == `"C"` {
			said = append(said, "cgo")
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && constraint.IsGoBuild(c.Text) && c.Pos() < file.Package {
				said = append(said, expr.String())
			}
		}
	}
	return And(said...)
}

// tagsOf returns the system and the architecture that the name of a file is for:
// those to which go/build says yes, and not to others.
func tagsOf(name string) (tags []string) {
	context := build.Default
	context.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p\n")), nil
	}
	builds := func(system, architecture string) bool {
		context.GOOS, context.GOARCH = system, architecture
		ok, err := context.MatchFile(filepath.Dir(name), filepath.Base(name))
		return ok && err == nil
	}
	words := strings.Split(strings.TrimSuffix(filepath.Base(name), ".go"), "_")
	last, before := words[len(words)-1], ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch {
	case builds("", ""):
		return nil
	case builds(last, ""), builds("", last):
		return []string{last}
	}
	return []string{before, last}
}

// constraint returns the build constraint under which obj is there, and methods.
func (b binder) constraint(obj types.Object, methods ...*types.Func) string {
	said := []string{b.from.constraint(obj.Name(), obj.Pos())}
	for _, length := range b.from.lengths[obj.Pos()] {
		said = append(said, b.from.sizes(length, map[string]bool{})...)
	}
	for _, m := range methods {
		recv, _ := types.Unalias(deref(m.Signature().Recv().Type())).(*types.Named)
		from := b.from.declaring(m.Pkg())
		if from != nil {
			for _, length := range from.lengths[m.Origin().Pos()] {
				said = append(said, from.sizes(length, map[string]bool{})...)
			}
		}
		switch {
		case recv == nil || from == nil:
		case types.IsInterface(recv):
			said = append(said, from.constraint(recv.Obj().Name(), m.Origin().Pos()))
		default:
			said = append(said, from.constraint(recv.Obj().Name()+"."+m.Name(), m.Origin().Pos()))
		}
	}
	return And(said...)
}

// declaring returns the package pkg, which p is or imports, or nil.
func (p *Package) declaring(pkg *types.Package) *Package {
	if pkg == nil || p.loaded == nil {
		return nil
	}
	if one := p.program.byPath[pkg.Path()]; one != nil {
		return one
	}
	if one, ok := p.program.imported[pkg.Path()]; ok {
		return one
	}
	if p.program.imported == nil {
		p.program.imported = map[string]*Package{}
	}
	packages.Visit([]*packages.Package{p.loaded}, func(found *packages.Package) bool {
		if found.PkgPath == pkg.Path() && len(found.GoFiles) > 0 {
			p.program.imported[pkg.Path()] = &Package{
				Dir: filepath.Dir(found.GoFiles[0]), Path: found.PkgPath, Name: pkg.Name(), program: p.program,
				types: pkg, fset: p.fset, loaded: found, ours: p.ours, ignored: found.IgnoredFiles,
			}
		}
		return p.program.imported[pkg.Path()] == nil
	}, nil)
	return p.program.imported[pkg.Path()]
}
