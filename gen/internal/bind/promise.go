package bind

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A Promise describes a type that a run will generate, and to which signatures may refer before
// it exists.
type Promise struct {
	Name    string
	Symbol  string // the bound type whose type parameters it has; may be empty
	Methods bool   // the type is an interface; otherwise it has the methods of Symbol
}

// WholeType returns the name of the type that a symbol denotes, and whether the type is an
// interface. ok is false if the symbol does not denote a whole type.
func (p *Package) WholeType(symbol string) (name string, isInterface, ok bool) {
	obj := p.wholeType(symbol)
	if obj == nil {
		return "", false, false
	}
	return obj.Name(), types.IsInterface(obj.Type()), true
}

// wholeType returns the type that a symbol denotes, or nil.
func (p *Package) wholeType(symbol string) *types.TypeName {
	from, name, method, err := p.find(symbol)
	if err != nil || method != "" {
		return nil
	}
	obj, _ := from.lookup(name).(*types.TypeName)
	return obj
}

// Promise declares types that will be generated. If a package refers to such a type and it is
// undefined, Promise type-checks all packages again, without function bodies. In this check, a
// promised interface has no methods.
func (p *Program) Promise(promises map[*Package][]Promise) {
	if !p.needs(promises) {
		return
	}
	packages.Visit(p.loaded, nil, func(pkg *packages.Package) { // imports come first
		if one := p.byPath[pkg.PkgPath]; one != nil && one.loaded == pkg {
			one.recheck(promises[one])
		}
	})
}

// needs reports whether a package refers to a promised type that is undefined.
func (p *Program) needs(promises map[*Package][]Promise) bool {
	promised := map[string]bool{}
	for _, list := range promises {
		for _, one := range list {
			promised[one.Name] = true
		}
	}
	for _, pkg := range p.byPath {
		for _, err := range pkg.errors {
			if name, ok := strings.CutPrefix(err.Msg, "undefined: "); ok && promised[name[strings.LastIndexByte(name, '.')+1:]] {
				return true
			}
		}
	}
	return false
}

// recheck type-checks p again, with the promised types.
func (p *Package) recheck(promises []Promise) {
	stub := p.stub(promises)
	p.errors = nil
	config := types.Config{
		Importer: p, IgnoreFuncBodies: true, Sizes: p.loaded.TypesSizes,
		Error: func(err error) {
			if e, ok := errors.AsType[types.Error](err); ok && !(stub.FileStart <= e.Pos && e.Pos <= stub.FileEnd) {
				p.errors = append(p.errors, e)
			}
		},
	}
	p.types, _ = config.Check(p.Path, p.fset, append(slices.Clip(p.loaded.Syntax), stub), nil)
}

// Import implements types.Importer. It returns packages that p imports, and the packages of
// bound symbols.
func (p *Package) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	imported := p.loaded.Imports[path]
	if imported != nil {
		path = imported.PkgPath
	}
	switch one := p.program.byPath[path]; {
	case one != nil:
		return one.types, nil
	case imported != nil && imported.Types != nil:
		return imported.Types, nil
	}
	return nil, fmt.Errorf("package %s is not loaded", path)
}

// stub returns a file that declares the promised types that are not yet declared.
func (p *Package) stub(promises []Promise) *ast.File {
	p.promised = map[string]bool{}
	var imports, decls strings.Builder
	for i, one := range promises {
		if _, taken := p.Clash(one.Name); taken || p.promised[one.Name] {
			continue
		}
		p.promised[one.Name] = true
		var declared, args, symbol string
		if obj := p.wholeType(one.Symbol); obj != nil {
			_, params := instantiateSelf(obj.Type())
			if declared, args = anyParams(len(params)); obj.Pkg() != p.types {
				symbol = fmt.Sprintf("p%d.", i)
				fmt.Fprintf(&imports, "import p%d %q\n", i, obj.Pkg().Path())
			}
			if symbol += obj.Name() + args; !types.IsInterface(obj.Type()) {
				symbol = "*" + symbol
			}
		}
		if one.Methods {
			fmt.Fprintf(&decls, "type %s%s interface{}\n", one.Name, declared)
		} else {
			// The embedded type gives it its methods.
			fmt.Fprintf(&decls, "type %s%s struct{ %s }\n", one.Name, declared, symbol)
		}
	}
	// It always parses, because all names in it come from Go source.
	file, _ := parser.ParseFile(p.fset, "", "package "+p.Name+"\n"+imports.String()+decls.String(),
		parser.SkipObjectResolution)
	return file
}

// anyParams returns the declaration of n type parameters, and their names as type arguments.
// The constraint any is sufficient because function bodies are not checked.
func anyParams(n int) (declared, args string) {
	if n == 0 {
		return "", ""
	}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("P%d", i))
	}
	args = strings.Join(names, ", ")
	return "[" + args + " any]", "[" + args + "]"
}
