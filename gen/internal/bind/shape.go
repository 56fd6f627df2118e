package bind

import (
	"go/ast"
	"go/printer"
	"go/token"
	"slices"
	"strings"
)

// shapesOf returns the shapes of the declarations in a file, by name. The name of a method has
// the form T.M. A shape is the part of a declaration on which generated code depends: the
// signature of a function, or the methods of an interface, without comments and parameter
// names. shapesOf modifies the file.
func shapesOf(file *ast.File) map[string]string {
	shapes := map[string]string{}
	if file == nil {
		return shapes
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name, shape := decl.Name.Name, ""
			if decl.Recv != nil {
				name = receiver(decl) + "." + name
				shape = text(unnamedFields(decl.Recv))
			}
			shapes[name] = shape + text(unnamedFields(decl.Type))
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				specShapes(spec, shapes)
			}
		}
	}
	return shapes
}

// valueOf is a prefix. With it, the name of a constant becomes the key for its value.
const valueOf = "="

// specShapes adds the shapes of a declaration of types or values. The shape of a
// value, and of a type that is not an interface, is only its kind.
func specShapes(spec ast.Spec, shapes map[string]string) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		shape := "type"
		if i, ok := spec.Type.(*ast.InterfaceType); ok {
			slices.SortFunc(i.Methods.List, func(a, b *ast.Field) int { return strings.Compare(fieldName(a), fieldName(b)) })
			shape = text(unnamedFields(i))
		}
		if spec.TypeParams != nil {
			shape += text(spec.TypeParams)
		}
		shapes[spec.Name.Name] = shape
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			shapes[name.Name] = "value"
			if i < len(spec.Values) {
				shapes[valueOf+name.Name] = text(spec.Values[i])
			}
		}
	}
}

// fieldName returns the name of a method of an interface, or the text of an
// embedded type.
func fieldName(f *ast.Field) string {
	if len(f.Names) > 0 {
		return f.Names[0].Name
	}
	return text(f.Type)
}

// unnamedFields removes comments, and the names of parameters and results, from
// a type.
func unnamedFields(n ast.Node) ast.Node {
	if list, ok := n.(*ast.FieldList); ok {
		removeNames(list)
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		case *ast.FuncType:
			removeNames(n.Params)
			removeNames(n.Results)
		}
		return true
	})
	return n
}

// removeNames changes a, b int to int, int.
func removeNames(list *ast.FieldList) {
	if list == nil {
		return
	}
	var fields []*ast.Field
	for _, f := range list.List {
		for range max(len(f.Names), 1) {
			fields = append(fields, &ast.Field{Type: f.Type})
		}
	}
	list.List = fields
}

// text prints a node on one line, without positions.
func text(n ast.Node) string {
	if list, ok := n.(*ast.FieldList); ok {
		n = &ast.FuncType{Params: list}
	}
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
