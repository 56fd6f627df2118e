package bind

import (
	"cmp"
	"go/ast"
	"go/types"
	"iter"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A Dependency is a package whose errors a bound symbol may return.
type Dependency struct {
	Path    string
	Name    string
	Module  string // path of its module
	Version string // name and version of its module, such as azcore v1.23.3, or "" for a main module
	Own     bool   // it belongs to a main module
	Steps   int    // length of the shortest path from the symbol: see distances
	types   *types.Package
}

// Reach returns the packages whose errors a symbol, split as by [SplitSymbol], may return.
// These are its package, the packages of main modules that this package imports directly or
// indirectly, the packages of other modules that those import, and the direct imports of these.
// A caller rarely sees errors of packages that are farther away.
func (p *Package) Reach(path, name, method string) (list []Dependency) {
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
	steps := distances(start, start.mentioned(name, method), seen)
	for pkg := range seen {
		list = append(list, Dependency{
			Path: pkg.PkgPath, Name: pkg.Name, Module: pkg.Module.Path, Version: version(pkg.Module), Own: pkg.Module.Main,
			Steps: steps[pkg], types: direct[pkg.PkgPath],
		})
	}
	slices.SortFunc(list, func(a, b Dependency) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// distances returns the distances of the packages in seen from a symbol of start. An import
// usually counts 2. It counts only 1 if the declaration of the symbol mentions it, because the
// errors of such a package are more likely.
func distances(start *Package, mentioned []*packages.Package,
	seen map[*packages.Package]int) map[*packages.Package]int {
	found := map[*packages.Package]int{start.loaded: 0}
	var queue []*packages.Package
	add := func(list []*packages.Package, steps int) {
		for _, pkg := range list {
			_, reached := seen[pkg]
			if _, again := found[pkg]; reached && !again {
				found[pkg] = steps
				queue = append(queue, pkg)
			}
		}
	}
	add(mentioned, 1)
	add(importsOf(start.loaded), 2)
	for ; len(queue) > 0; queue = queue[1:] {
		add(importsOf(queue[0]), found[queue[0]]+2)
	}
	return found
}

// mentioned returns the imported packages that the declaration of a function, a
// method, or a type with its methods mentions.
func (p *Package) mentioned(name, method string) (list []*packages.Package) {
	for _, file := range p.loaded.Syntax {
		imports := map[string]*packages.Package{} // by their names in the file
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			imported := p.loaded.Imports[path]
			switch {
			case err != nil || imported == nil:
			case spec.Name != nil:
				imports[spec.Name.Name] = imported
			default:
				imports[imported.Name] = imported
			}
		}
		for node := range declarations(file, name, method) {
			ast.Inspect(node, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] != nil {
						list = append(list, imports[x.Name])
					}
				}
				return true
			})
		}
	}
	return list
}

// declarations yields the declarations in a file of a function, a method, or a type with its
// methods.
func declarations(file *ast.File, name, method string) iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				own := decl.Recv == nil && decl.Name.Name == name && method == ""
				of := decl.Recv != nil && receiver(decl) == name && (method == "" || decl.Name.Name == method)
				if (own || of) && !yield(decl) {
					return
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					t, ok := spec.(*ast.TypeSpec)
					if ok && t.Name.Name == name && method == "" && !yield(t) {
						return
					}
				}
			}
		}
	}
}

// isOurs reports whether the package at path is the runtime or one of its stores. Their errors
// are not errors of a call.
func isOurs(path string) bool {
	const module = "github.com/retrygen/retrygen/"
	return strings.HasPrefix(path, module+"runtime") || strings.HasPrefix(path, module+"contrib/")
}

// A Candidate is an error type whose status can be read. Status and Response are empty if the
// runtime reads a method of the type.
type Candidate struct {
	Symbol   string // in the notation of policy files: *example.com/acme.Error
	Name     string // in the notation of Go code: *acme.Error
	Status   string // the field with the status, or ""
	Response string // the field with the *http.Response, or ""
}

// Candidates returns the error types of a dependency that have a status: a field with an
// unambiguous name, an *http.Response, or a method that the runtime reads. In the package home
// itself, types that are not exported count, too.
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

// statusFields returns the first exported field of a struct with a status, and the first one
// with an *http.Response.
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

// statusNames lists field names that always mean an HTTP status. A field Code or Status often
// has another meaning.
var statusNames = []string{"StatusCode", "HTTPStatusCode", "HttpStatusCode"}
