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

// And returns the build constraint that is satisfied if all given constraints are
// satisfied. It omits empty and repeated constraints.
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

// constraint returns the build constraint of the builds in which the package declares a symbol
// in the same way as at pos: with the same signature or, for an interface, with the same
// methods. The symbol of a method has the form T.M. Other builds may declare the symbol in
// other files, such as one for each operating system.
func (p *Package) constraint(symbol string, pos token.Pos) string {
	file := p.fset.Position(pos).Filename
	own := p.file(file)
	if own.constraint == "" {
		return ""
	}
	p.declaredElsewhere() // sets p.others
	same := []string{own.constraint}
	for _, other := range p.others {
		if shape, ok := other.shapes[symbol]; ok && shape == own.shapes[symbol] && other.constraint != "" {
			same = append(same, other.constraint)
		}
	}
	return Or(same...)
}

// A buildFile holds the build constraint and the declarations of a file.
type buildFile struct {
	constraint string
	shapes     map[string]string // see shapesOf
}

// file returns the buildFile of a file in this build.
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

// constraintOf returns the build constraint of a file. It depends on the comments, the imports
// and the name of the file.
func constraintOf(name string) string {
	file, _ := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
	if file == nil {
		return ""
	}
	constraints := tagsOf(name)
	for _, spec := range file.Imports {
		if spec.Path.Value == `"C"` {
			constraints = append(constraints, "cgo")
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && constraint.IsGoBuild(c.Text) && c.Pos() < file.Package {
				constraints = append(constraints, expr.String())
			}
		}
	}
	return And(constraints...)
}

// tagsOf returns the operating system and the architecture in the name of a file, as go/build
// recognizes them.
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

// constraint returns the build constraint of the builds that declare obj and methods in the
// same way as this build does.
func (b binder) constraint(obj types.Object, methods ...*types.Func) string {
	constraints := []string{b.from.constraint(obj.Name(), obj.Pos())}
	for _, length := range b.from.lengths[obj.Pos()] {
		constraints = append(constraints, b.from.sizes(length, map[string]bool{})...)
	}
	for _, m := range methods {
		recv, _ := types.Unalias(deref(m.Signature().Recv().Type())).(*types.Named)
		from := b.from.declaring(m.Pkg())
		if from != nil {
			for _, length := range from.lengths[m.Origin().Pos()] {
				constraints = append(constraints, from.sizes(length, map[string]bool{})...)
			}
		}
		switch {
		case recv == nil || from == nil:
		case types.IsInterface(recv):
			constraints = append(constraints, from.constraint(recv.Obj().Name(), m.Origin().Pos()))
		default:
			constraints = append(constraints, from.constraint(recv.Obj().Name()+"."+m.Name(), m.Origin().Pos()))
		}
	}
	return And(constraints...)
}

// declaring returns the Package of pkg, if pkg is p or a package that p imports. Otherwise it
// returns nil.
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
