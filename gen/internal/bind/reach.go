package bind

import (
	"cmp"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A Dependency is a package whose errors a bound symbol may return.
type Dependency struct {
	Path    string
	Name    string
	Module  string // path
	Version string // of its module, as azcore v1.23.3, or "" for a main module
	Own     bool   // it is of a main module
	Imports int    // on the shortest way from the package of the symbol: 0 for itself
	types   *types.Package
}

// Reach returns the packages whose errors a symbol of the package at path may
// return, "" for p itself: the package, those of main modules that it imports,
// directly or indirectly, and what these import of other modules, with what those
// import. What is farther away is seldom what a caller sees.
func (p *Package) Reach(path string) (list []Dependency) {
	start := p
	if path != "" {
		start = p.program.byPath[path]
	}
	if start == nil || start.loaded == nil {
		return nil
	}
	seen := map[*packages.Package]int{} // the distance from the last main module
	var visit func(pkg *packages.Package, distance int)
	visit = func(pkg *packages.Package, distance int) {
		if pkg == nil || pkg.Module == nil {
			return
		}
		if before, ok := seen[pkg]; ok && before <= distance {
			return
		}
		seen[pkg] = distance
		if distance == 2 {
			return
		}
		for _, imported := range importsOf(pkg) {
			switch {
			case imported == nil || imported.Module == nil || isOurs(imported.PkgPath):
			case pkg != start.loaded && imported.Module.Path == pkg.Module.Path:
				visit(imported, distance)
			case imported.Module.Main:
				visit(imported, 0)
			default:
				visit(imported, distance+1)
			}
		}
	}
	visit(start.loaded, 0)
	direct := map[string]*types.Package{start.Path: start.types}
	for _, imported := range start.types.Imports() {
		if imported.Complete() {
			direct[imported.Path()] = imported
		}
	}
	imports := distances(start.loaded, seen)
	for pkg := range seen {
		list = append(list, Dependency{
			Path: pkg.PkgPath, Name: pkg.Name, Module: pkg.Module.Path, Version: version(pkg.Module), Own: pkg.Module.Main,
			Imports: imports[pkg], types: direct[pkg.PkgPath],
		})
	}
	slices.SortFunc(list, func(a, b Dependency) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// distances returns the number of imports on the shortest way from start to each
// package, among those that have been seen.
func distances(start *packages.Package, seen map[*packages.Package]int) map[*packages.Package]int {
	found := map[*packages.Package]int{start: 0}
	for queue := []*packages.Package{start}; len(queue) > 0; queue = queue[1:] {
		for _, imported := range importsOf(queue[0]) {
			_, reached := seen[imported]
			if _, again := found[imported]; reached && !again {
				found[imported] = found[queue[0]] + 1
				queue = append(queue, imported)
			}
		}
	}
	return found
}

// isOurs reports whether the package at path is the runtime or one of its stores,
// whose errors are not those of a call.
func isOurs(path string) bool {
	const module = "github.com/retrygen/retrygen/"
	return strings.HasPrefix(path, module+"runtime") || strings.HasPrefix(path, module+"contrib/")
}

// A Candidate is an error type whose status can be read. It has no fields if the
// runtime reads a method.
type Candidate struct {
	Symbol   string // as in a policy file: *example.com/acme.Error
	Name     string // as in Go code: *acme.Error
	Status   string // the field with the status, or ""
	Response string // the field with the *http.Response, or ""
}

// Candidates returns the error types of a dependency that have a status: a field
// whose name means only that, an *http.Response, or a method that the runtime
// reads. Types that are not exported count in the package home itself.
func (d Dependency) Candidates(home *Package) (list []Candidate) {
	if d.types == nil {
		return nil
	}
	scope := d.types.Scope()
	for _, name := range scope.Names() {
		typ, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || !typ.Exported() && d.Path != home.Path {
			continue
		}
		if named, ok := types.Unalias(typ.Type()).(*types.Named); !ok || named.TypeParams().Len() > 0 {
			continue
		}
		pointer := types.NewPointer(typ.Type())
		if !types.Implements(typ.Type(), errorType) && !types.Implements(pointer, errorType) {
			continue
		}
		c := Candidate{Symbol: name, Name: d.types.Name() + "." + name}
		if d.Path != home.Path {
			c.Symbol = d.Path + "." + name
		}
		if !types.Implements(typ.Type(), errorType) {
			c.Symbol, c.Name = "*"+c.Symbol, "*"+c.Name
		}
		if hasStatusMethod(pointer) {
			list = append(list, c)
		} else if c.Status, c.Response = statusFields(typ.Type()); c.Status != "" || c.Response != "" {
			list = append(list, c)
		}
	}
	return list
}

// hasStatusMethod reports whether the runtime reads a method of errors of type t.
func hasStatusMethod(t types.Type) bool {
	for _, m := range []struct {
		name   string
		result types.BasicKind
	}{
		{"StatusCode", types.Int}, {"HTTPStatusCode", types.Int}, {"HTTPCode", types.Int}, {"SQLState", types.String},
	} {
		obj, _, _ := types.LookupFieldOrMethod(t, false, nil, m.name)
		if f, ok := obj.(*types.Func); ok && f.Signature().Params().Len() == 0 && f.Signature().Results().Len() == 1 &&
			types.Identical(f.Signature().Results().At(0).Type(), types.Typ[m.result]) {
			return true
		}
	}
	return false
}

// statusFields returns the first exported fields of a struct that have a status
// and an *http.Response.
func statusFields(t types.Type) (status, response string) {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return "", ""
	}
	for f := range s.Fields() {
		var p Path
		switch {
		case !f.Exported():
		case p.accept(f.Type(), ValueResponse):
			response = cmp.Or(response, f.Name())
		case p.accept(f.Type(), ValueInteger) && slices.Contains(statusNames, f.Name()):
			status = cmp.Or(status, f.Name())
		}
	}
	return status, response
}

// statusNames are the names of fields that mean an HTTP status. A field Code or
// Status often has another meaning.
var statusNames = []string{"StatusCode", "HTTPStatusCode", "HttpStatusCode"}
