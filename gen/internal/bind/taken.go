package bind

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// Taken reports whether the package declares name in any build, including tests and files for
// other systems and tags. The output of an earlier run does not count.
func (p *Package) Taken(name string) bool {
	return p.lookup(name) != nil || p.declaredElsewhere()[name].IsValid()
}

// Clash reports whether generated code cannot declare name in the package. what is the reason.
// It completes a sentence that begins with the name.
func (p *Package) Clash(name string) (what string, ok bool) {
	if obj := p.lookup(name); obj != nil {
		return "is declared at " + p.position(obj), true
	}
	if pos := p.declaredElsewhere()[name]; pos.IsValid() {
		return "is declared at " + p.short(pos), true
	}
	// A name that one file imports cannot be declared by another file.
	for child := range p.types.Scope().Children() {
		switch obj := child.Lookup(name).(type) {
		case nil:
		case *types.PkgName:
			return "is an import at " + p.position(obj), true
		default:
			return "is imported from " + obj.Pkg().Path() + " with a dot", true
		}
	}
	return "", false
}

// HasMember returns the position of a field or method of a type, and whether it exists. The
// output of an earlier run does not count.
func (p *Package) HasMember(typeName, name string) (pos string, ok bool) {
	obj := p.lookup(typeName)
	if obj == nil {
		return "", false
	}
	member, _, _ := types.LookupFieldOrMethod(obj.Type(), true, p.types, name)
	if member == nil {
		return "", false
	}
	return p.position(member), true
}

// declaredElsewhere returns the positions of the declarations in tests and in files that this
// build excludes, by name. The name of a method has the form T.M.
func (p *Package) declaredElsewhere() map[string]token.Pos {
	if p.declared != nil || p.Dir == "" {
		return p.declared
	}
	p.declared = map[string]token.Pos{}
	tests, _ := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
	for _, name := range append(tests, p.ignored...) {
		text, err := os.ReadFile(name)
		if err != nil || p.ours(name, text) {
			continue
		}
		// The go command reports files that do not parse.
		file, _ := parser.ParseFile(p.fset, name, text, parser.SkipObjectResolution)
		if file == nil || file.Name.Name != p.Name {
			continue
		}
		for _, decl := range file.Decls {
			for name, id := range declares(decl) {
				p.declared[name] = id.Pos()
			}
		}
		if !strings.HasSuffix(name, "_test.go") {
			p.others = append(p.others, buildFile{constraintOf(name), shapesOf(file)})
		}
	}
	return p.declared
}

// declares returns the package-level names that a declaration declares.
func declares(decl ast.Decl) map[string]*ast.Ident {
	names := map[string]*ast.Ident{}
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			names[id.Name] = id
		}
	}
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv != nil {
			names[receiver(decl)+"."+decl.Name.Name] = decl.Name
		} else if decl.Name.Name != "init" {
			add(decl.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add(spec.Name)
			case *ast.ValueSpec:
				add(spec.Names...)
			}
		}
	}
	return names
}

// receiver returns the name of the receiver type in the declaration of a method.
func receiver(decl *ast.FuncDecl) (name string) {
	for _, field := range decl.Recv.List {
		ast.Inspect(field.Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && name == "" {
				name = id.Name // the other names are type parameters
			}
			return true
		})
	}
	return name
}

// isTest reports whether a position is in a test.
func (p *Package) isTest(pos token.Pos) bool {
	return strings.HasSuffix(p.fset.Position(pos).Filename, "_test.go")
}

// whyExcluded returns why a symbol that the package declares is not in this build, or "" if the
// package does not declare it. The text is the end of an error message.
func (p *Package) whyExcluded(name string) string {
	pos := p.declaredElsewhere()[name]
	switch {
	case !pos.IsValid():
		return ""
	case p.isTest(pos):
		return "it is declared in a test, at " + p.short(pos) + ", which generated code cannot use: move it"
	}
	builds := ""
	if text := constraintOf(p.fset.Position(pos).Filename); text != "" {
		builds = " for builds under " + text
	}
	return "it is declared at " + p.short(pos) + builds +
		", which this build leaves out: run with the -tags, GOOS and GOARCH that it is for"
}
