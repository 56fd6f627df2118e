package lsp

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/assist"
)

// A symbolCache keeps the symbols of the Go packages of policy files. They are read from
// the declarations alone, since an editor asks for them while the code is incomplete.
type symbolCache struct {
	mu   sync.Mutex
	dirs map[string]symbolsOfDir
}

type symbolsOfDir struct {
	stamp   string // changes when a file is saved
	symbols []assist.Symbol
}

// of returns the symbols of the package of a policy file that it can name. It returns
// nil for a file of another name.
func (c *symbolCache) of(path string) []assist.Symbol {
	if filepath.Base(path) != gen.SourceName {
		return nil
	}
	dir := filepath.Dir(path)
	files, stamp := goFiles(dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.dirs[dir]; ok && have.stamp == stamp {
		return have.symbols
	}
	if c.dirs == nil {
		c.dirs = map[string]symbolsOfDir{}
	}
	read := symbolsOfDir{stamp: stamp, symbols: symbolsIn(files)}
	c.dirs[dir] = read
	return read.symbols
}

// goFiles returns the Go files of a folder without tests and generated wrappers.
func goFiles(dir string) (files []string, stamp string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, ""
	}
	var b strings.Builder
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == gen.OutputName {
			continue
		}
		if info, err := e.Info(); err == nil {
			files = append(files, filepath.Join(dir, name))
			b.WriteString(name + info.ModTime().String() + "\n")
		}
	}
	return files, b.String()
}

// symbolsIn returns what files declare that a policy file can name: functions, methods, and
// types that have methods which return an error.
func symbolsIn(files []string) (list []assist.Symbol) {
	fset := token.NewFileSet()
	types := map[string]assist.Symbol{}
	for _, name := range files {
		file, _ := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if file == nil {
			continue
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if s, ok := function(fset, decl); ok {
					list = append(list, s)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						s := symbol(fset, spec.Name, spec.Name.Name, "type "+spec.Name.Name+" "+kindOf(spec.Type), decl.Doc)
						s.IsWhole = true
						types[spec.Name.Name] = s
						list = append(list, methodsOf(fset, spec)...)
					}
				}
			}
		}
	}
	for _, s := range slices.Clone(list) {
		whole, _, isMethod := strings.Cut(s.Name, ".")
		if t, ok := types[whole]; ok && isMethod && s.IsBindable() {
			list = append(list, t)
			delete(types, whole)
		}
	}
	slices.SortStableFunc(list, func(a, b assist.Symbol) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func symbol(fset *token.FileSet, at *ast.Ident, name, signature string, doc *ast.CommentGroup) assist.Symbol {
	pos := fset.Position(at.Pos())
	return assist.Symbol{
		Name: name, Signature: signature, Doc: strings.TrimSpace(doc.Text()), File: pos.Filename,
		At: policy.Pos{Line: pos.Line, Col: pos.Column},
	}
}

// function returns the symbol of a function or method.
func function(fset *token.FileSet, decl *ast.FuncDecl) (assist.Symbol, bool) {
	name := decl.Name.Name
	if decl.Recv != nil {
		recv := receiver(decl.Recv)
		if recv == "" {
			return assist.Symbol{}, false
		}
		name = recv + "." + name
	}
	head := *decl
	head.Body, head.Doc = nil, nil
	s := symbol(fset, decl.Name, name, printed(fset, &head), decl.Doc)
	s.Params, s.Results = typesOf(fset, decl.Type.Params), typesOf(fset, decl.Type.Results)
	return s, true
}

// typesOf returns the types of parameters or results.
func typesOf(fset *token.FileSet, fields *ast.FieldList) (list []string) {
	if fields == nil {
		return nil
	}
	for _, field := range fields.List {
		for range max(1, len(field.Names)) {
			list = append(list, printed(fset, field.Type))
		}
	}
	return list
}

// receiver returns the name of the type of a method.
func receiver(recv *ast.FieldList) string {
	if len(recv.List) != 1 {
		return ""
	}
	t := recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// methodsOf returns the methods of an interface.
func methodsOf(fset *token.FileSet, spec *ast.TypeSpec) (list []assist.Symbol) {
	t, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	for _, field := range t.Methods.List {
		f, ok := field.Type.(*ast.FuncType)
		if !ok {
			continue
		}
		for _, name := range field.Names {
			signature := name.Name + strings.TrimPrefix(printed(fset, f), "func")
			s := symbol(fset, name, spec.Name.Name+"."+name.Name, signature, field.Doc)
			s.Params, s.Results = typesOf(fset, f.Params), typesOf(fset, f.Results)
			list = append(list, s)
		}
	}
	return list
}

func kindOf(t ast.Expr) string {
	switch t.(type) {
	case *ast.InterfaceType:
		return "interface"
	case *ast.StructType:
		return "struct"
	}
	return ""
}

// printed returns a declaration on one line.
func printed(fset *token.FileSet, node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, fset, node); err != nil {
		return ""
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
