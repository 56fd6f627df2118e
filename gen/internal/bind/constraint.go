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
// function or type, or a method (as T.M), at pos. Where other builds have another
// file with it, as with one for each system, there is none.
func (p *Package) constraint(symbol string, pos token.Pos) string {
	file := p.fset.Position(pos).Filename
	text, ok := p.constraints[file]
	if !ok {
		text = constraintOf(file)
		if p.constraints == nil {
			p.constraints = map[string]string{}
		}
		p.constraints[file] = text
	}
	if other := p.elsewhere()[symbol]; text == "" || other.IsValid() && !p.isTest(other) {
		return ""
	}
	return text
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
	for _, m := range methods {
		if m.Pkg() != b.from.types {
			continue
		}
		recv, _ := types.Unalias(deref(m.Signature().Recv().Type())).(*types.Named)
		switch {
		case recv == nil:
		case types.IsInterface(recv):
			said = append(said, b.from.constraint(recv.Obj().Name(), m.Origin().Pos()))
		default:
			said = append(said, b.from.constraint(recv.Obj().Name()+"."+m.Name(), m.Origin().Pos()))
		}
	}
	return And(said...)
}
