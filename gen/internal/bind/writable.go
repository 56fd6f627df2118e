package bind

import (
	"fmt"
	"go/types"
	"path"
	"strings"
)

// writable returns an error if the type t cannot be written in a file of the home package. what
// names the symbol that has the type.
func (b binder) writable(what string, t types.Type) error {
	w := writer{home: b.home.types, seen: map[types.Type]bool{}}
	w.typ(t)
	if w.why == "" {
		return nil
	}
	return fmt.Errorf("%s has %s in its signature, %s", what, w.bad, w.why)
}

// A writer visits types until one cannot be written.
type writer struct {
	home     *types.Package
	seen     map[types.Type]bool
	bad, why string // the first type that cannot be written, and the reason
}

// typ visits a type.
func (w *writer) typ(t types.Type) {
	if w.seen[t] || w.why != "" {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		w.name(t.Obj())
		w.list(t.TypeArgs())
	case *types.Alias:
		w.name(t.Obj())
		w.list(t.TypeArgs())
	case *types.Struct:
		for f := range t.Fields() {
			if !f.Exported() && f.Pkg().Path() != w.home.Path() {
				w.refuse("a struct with the unexported field "+f.Name(),
					"which only package "+f.Pkg().Path()+" can write: give the struct a name there")
			}
			w.typ(f.Type())
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if !m.Exported() && m.Pkg().Path() != w.home.Path() {
				w.refuse("an interface with the unexported method "+m.Name(),
					"which only package "+m.Pkg().Path()+" can write: give the interface a name there")
			}
			w.typ(m.Signature())
		}
		for e := range t.EmbeddedTypes() {
			w.typ(e)
		}
	case *types.Signature:
		for p := range t.TypeParams().TypeParams() {
			w.typ(p.Constraint())
		}
		w.typ(t.Params())
		w.typ(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			w.typ(v.Type())
		}
	case *types.Union:
		for term := range t.Terms() {
			w.typ(term.Type())
		}
	case *types.Map:
		w.typ(t.Key())
		w.typ(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.typ(t.Elem())
	}
}

// list visits type arguments.
func (w *writer) list(args *types.TypeList) {
	for t := range args.Types() {
		w.typ(t)
	}
}

// name checks the name of a type.
func (w *writer) name(obj *types.TypeName) {
	pkg := obj.Pkg()
	switch {
	case pkg == nil: // error, any
	case strings.HasPrefix(obj.Name(), "_Ctype_"), strings.HasPrefix(obj.Name(), "_Cfunc_"):
		w.refuse("C."+strings.TrimPrefix(obj.Name(), "_Ctype_"),
			`which only files with import "C" can write: take and return Go types`)
	case pkg.Path() == w.home.Path():
	case !obj.Exported():
		w.refuse(pkg.Name()+"."+obj.Name(),
			"which package "+pkg.Path()+" does not export: export it, or bind a function without")
	case pkg.Name() == "main":
		w.refuse(pkg.Name()+"."+obj.Name(), "and package main cannot be imported: move the type")
	case !importable(w.home.Path(), pkg.Path()):
		w.refuse(pkg.Name()+"."+obj.Name(),
			"and package "+pkg.Path()+" cannot be imported from here: it is internal to another part")
	}
}

// refuse records the first type that cannot be written.
func (w *writer) refuse(bad, why string) {
	if w.why == "" {
		w.bad, w.why = bad, why
	}
}

// importable reports whether package from may import a package, according to the rules for
// internal folders and for vendored packages of the standard library.
func importable(from, imported string) bool {
	if strings.HasPrefix(imported, "vendor/") {
		return false
	}
	for dir := imported; dir != "."; dir = path.Dir(dir) {
		if path.Base(dir) == "internal" {
			root := path.Dir(dir)
			if from != root && !strings.HasPrefix(from, root+"/") {
				return false
			}
		}
	}
	return true
}
