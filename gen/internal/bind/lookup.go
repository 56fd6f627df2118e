package bind

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/tools/go/packages"

	"github.com/retrygen/retrygen/internal/gocommand"
	"github.com/retrygen/retrygen/internal/spelling"
)

// SplitSymbol splits a symbol, in the notation of go doc, into its import path (empty for the
// package itself), its name and its method.
func SplitSymbol(symbol string) (path, name, method string) {
	if end := pathEnd(symbol); end > 0 {
		path, symbol = symbol[:end], symbol[end+1:]
	}
	name, method, _ = strings.Cut(symbol, ".")
	return path, name, method
}

// pathEnd returns the index of the dot that ends the import path in a symbol. It is the first
// dot before an exported name, because the last element of a path may also contain dots, as in
// nats.go and yaml.v3.
func pathEnd(symbol string) (end int) {
	for i := strings.LastIndexByte(symbol, '/') + 1; i > 0 && i < len(symbol); i++ {
		if symbol[i] != '.' {
			continue
		}
		if end == 0 {
			end = i
		}
		if rest := symbol[i+1:]; token.IsExported(rest) && strings.Count(rest, ".") <= 1 {
			return i
		}
	}
	return end
}

// Lookup finds a bound symbol. The error is one line that says why the symbol cannot be bound,
// and how to fix this.
func (p *Package) Lookup(symbol string) (*Target, error) {
	from, name, method, err := p.find(symbol)
	if err != nil {
		return nil, err
	}
	obj, err := p.object(from, name, method)
	if err != nil {
		return nil, err
	}
	if from != p && !obj.Exported() {
		return nil, fmt.Errorf("package %s does not export %s: bind it there, or export it", from.Path, name)
	}
	t := &Target{Name: name, Home: from.home(), Path: from.Path, Pos: from.place(obj)}
	if from != p {
		t.Pkg, t.PkgName = from.Path, from.Name
	}
	b := binder{home: p, from: from}
	switch obj := obj.(type) {
	case *types.Func:
		if method != "" {
			return nil, fmt.Errorf("%s is a function, which has no method %s: write %s", name, method, name)
		}
		err = b.function(t, obj)
	case *types.TypeName:
		err = b.typeName(t, obj, method)
	case *types.Var:
		err = fmt.Errorf("%s is a variable: bind a function that calls it", name)
	default:
		err = fmt.Errorf("%s is neither a function nor a type: bind a function that uses it", name)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// object returns the object with the given name that the package from declares.
func (p *Package) object(from *Package, name, method string) (types.Object, error) {
	if obj := from.lookup(name); obj != nil {
		return obj, nil
	}
	if why := from.whyExcluded(name); why != "" {
		return nil, errors.New(why)
	}
	if full := p.fullSymbol(name, method); full != "" && from == p {
		return nil, fmt.Errorf("package %s has no %s: write %s", p.Name, name, full)
	}
	if method == "" {
		if full := from.methodNamed(name, p); full != "" {
			return nil, fmt.Errorf("package %s has no %s: %s", from.Name, name, spelling.Question(full))
		}
	}
	return nil, fmt.Errorf("package %s has no %s%s", from.Name, name, DidYouMean(name, from.names(p)))
}

// Declares returns an error if p does not declare a bound symbol. For a symbol of another
// package, it returns nil. It does not check types, so that it works if the generated code to
// which the types refer is missing.
func (p *Package) Declares(symbol string) error {
	if path, _, _ := SplitSymbol(symbol); path != "" || StandardPath(symbol) != "" {
		return nil
	}
	from, name, method, err := p.find(symbol)
	if err != nil {
		return err
	}
	obj, err := p.object(from, name, method)
	if typ, ok := obj.(*types.TypeName); ok && method != "" {
		if named, ok := types.Unalias(typ.Type()).(*types.Named); ok && !types.IsInterface(named) {
			_, err = binder{home: p, from: p}.member(named, name, method)
		}
	}
	return err
}

// fullSymbol returns the correct form of a symbol that begins with the name of a package, as in
// Go code, or "". In a policy file, a symbol begins with the import path. A symbol of p itself
// has no prefix.
func (p *Package) fullSymbol(name, method string) string {
	if name == p.Name {
		return method
	}
	for _, imported := range p.types.Imports() {
		if imported.Name() == name && method != "" {
			return imported.Path() + "." + method
		}
	}
	return ""
}

// find returns the package of a symbol, with the name and the method of the symbol in that
// package.
func (p *Package) find(symbol string) (from *Package, name, method string, err error) {
	path, name, method := SplitSymbol(symbol)
	if path != "" {
		from, err = p.reach(path)
		return from, name, method, err
	}
	if strings.Contains(symbol, "/") {
		return nil, "", "", fmt.Errorf("it is a package: write the symbol to bind, as %s.NAME", symbol)
	}
	// io.Reader is not the method Reader of a type io, unless there is one.
	if std := StandardPath(symbol); std != "" && p.lookup(name) == nil {
		if from = p.program.byPath[std]; from != nil {
			name, method, _ = strings.Cut(method, ".")
			return from, name, method, nil
		}
	}
	return p, name, method, nil
}

// home returns a short name for a package: its path from the last element of its module's path,
// without a major version, such as shop.billing for example.com/shop/v2/billing. The packages
// of a module have different homes, which stay the same when the module moves. Dots separate
// the elements, because slashes are escaped in the ids of steps. Two steps can therefore have
// the same name: method b.C in shop/a, and function C in shop/a/b. The records of their steps
// differ in the function.
func (p *Package) home() string {
	home := p.Path // for the standard library
	if p.loaded != nil && p.loaded.Module != nil {
		root := p.loaded.Module.Path
		unversioned, _, ok := module.SplitPathVersion(root)
		if !ok {
			unversioned = root
		}
		home = path.Base(unversioned) + strings.TrimPrefix(p.Path, root)
	}
	return strings.ReplaceAll(home, "/", ".")
}

// reach returns the package at path, if code that is generated in p can import it.
func (p *Package) reach(path string) (*Package, error) {
	from := p.program.byPath[path]
	switch {
	case from == nil || p.program.broken[path] != nil:
		return nil, p.program.absent(path)
	case from == p:
		return p, nil
	case from.Name == "main":
		return nil,
			fmt.Errorf("package %s is a program and cannot be imported: move the bound symbol to another package", path)
	case !importable(p.Path, path):
		return nil, fmt.Errorf("package %s cannot be imported from here: it is internal to another part", path)
	case from.imports(p.Path):
		return nil,
			fmt.Errorf(
				"package %s imports this one, and generated code here would make an import cycle: bind it in another package", path)
	}
	return from, nil
}

// StandardPath returns the part of a symbol without a slash that may be the path of a package
// of the standard library, such as io for io.Reader, or "".
func StandardPath(symbol string) string {
	path, name, method := SplitSymbol(symbol)
	if path != "" || method == "" || strings.ToLower(name) != name {
		return ""
	}
	return name
}

// absent returns the error for a package that cannot be loaded.
func (p *Program) absent(path string) error {
	why := p.why(path)
	if strings.Contains(why, "package "+path) {
		return errors.New(why)
	}
	return fmt.Errorf("package %s cannot be loaded: %s", path, why)
}

// why returns the go command's reason why it cannot load a package.
func (p *Program) why(path string) string {
	errs := p.broken[path]
	if len(errs) == 0 {
		return "is it in go.mod?"
	}
	first := errs[0]
	text := gocommand.Reason(first.Msg)
	if first.Pos != "" && first.Pos != "-" {
		return filepath.Base(first.Pos) + ": " + text
	}
	return text
}

// A binder describes symbols of the package from for generated code in the package
// home.
type binder struct {
	home, from *Package
	recv       recvType // the receiver of the methods
}

// function fills t with the description of a function.
func (b binder) function(t *Target, obj *types.Func) (err error) {
	if err := b.starts(obj); err != nil {
		return err
	}
	t.Kind, t.Constraint = Function, b.constraint(obj)
	sig := obj.Signature()
	t.TypeParams = b.typeParams(withNames(sig.TypeParams()))
	t.Func, err = b.wrappable(obj)
	return err
}

// wrappable describes obj. The error says why no wrapper of obj can be generated.
func (b binder) wrappable(obj *types.Func) (Func, error) {
	f := b.signature(obj)
	f.Carried, f.Writes = b.recv.carried(obj), writes(obj)
	if err := b.valid(obj); err != nil {
		return f, err
	}
	if err := b.writable(obj.Name(), b.publicSignature(obj.Signature())); err != nil {
		return f, err
	}
	switch results := obj.Signature().Results(); {
	case f.HasError:
	case results.Len() == 1 && b.recv.isCommand(results.At(0).Type()):
		f.Command, f.Nilable = true, isNilable(results.At(0).Type())
	default:
		f.NoFailure = b.recv.noFailure(obj)
		f.HasErr = results.Len() == 1 && b.recv.mayHoldError(results.At(0).Type())
	}
	if results := obj.Signature().Results(); !f.HasError && results.Len() == 1 {
		_, isPointer := f.Results[0].Type.Elem()
		f.TakesError = isPointer && takesError(results.At(0).Type())
	}
	return f, nil
}

// isError reports whether t is error, or a declared type to which any error can be assigned.
func isError(t types.Type) bool {
	_, param := t.(*types.TypeParam)
	return !param && types.Identical(t.Underlying(), errorType)
}

// plain formats t for messages.
func plain(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

// signature describes the signature of a function or method.
func (b binder) signature(obj *types.Func) Func {
	sig := b.publicSignature(obj.Signature())
	f := Func{Name: obj.Name(), Doc: b.from.docs[obj.Origin().Pos()], Variadic: sig.Variadic(), Ctx: -1, Request: -1}
	if obj.Pkg() != nil { // the method of error has none
		f.Package = obj.Pkg().Path()
	}
	for i := range sig.Params().Len() {
		v := sig.Params().At(i)
		p := b.param(v)
		if i == sig.Params().Len()-1 && sig.Variadic() {
			p.typ = v.Type().(*types.Slice).Elem()
			p.Type = b.text(p.typ)
		}
		if f.Ctx < 0 && isContext(v.Type()) {
			f.Ctx = i
		}
		f.Params = append(f.Params, p)
	}
	for i := 0; i < len(f.Params) && f.Ctx < 0; i++ {
		if t := sig.Params().At(i).Type(); implementsContext(t) {
			f.Ctx, f.CtxType = i, plain(t)
		}
	}
	for i := 0; i < len(f.Params) && f.Ctx < 0 && f.Request < 0; i++ {
		if isRequest(sig.Params().At(i).Type()) {
			f.Request = i
		}
	}
	if f.Ctx < 0 && f.Request < 0 {
		f.Held = b.held(sig)
	}
	f.Inputs = append(b.inputs(sig), batches(obj, sig)...)
	f.Exchange = sig.Results().Len() == 2 && isResponse(sig.Results().At(0).Type())
	for v := range sig.Results().Variables() {
		f.Results = append(f.Results, b.param(v))
		f.HasError = isError(v.Type())
		if f.Closes == "" && hasClose(v.Type()) {
			f.Closes = plain(v.Type())
		}
		if f.Stream == "" && isStream(v.Type()) {
			f.Stream = plain(v.Type())
		}
	}
	if n := sig.Results().Len(); n == 1 || n == 2 && f.HasError {
		f.Status = statusOf(f.Results[0])
	}
	if sig.Results().Len() == 1 && f.HasError {
		f.Status = filledStatus(sig)
	}
	return f
}

// param describes a parameter or result.
func (b binder) param(v *types.Var) Param { return Param{v.Name(), b.text(v.Type()), v.Type()} }

// valid returns the type error in a signature, or nil.
func (b binder) valid(obj *types.Func) error {
	if !strings.Contains(types.TypeString(obj.Signature(), nil), "invalid type") {
		return nil
	}
	return b.broken("signature", obj.Name(), obj.Pos())
}

// broken returns the type error of a declaration at pos. That is the next type error after the
// name or, if there is none, the first one of the package.
func (b binder) broken(what, name string, pos token.Pos) error {
	var found *types.Error
	for _, err := range b.from.errors {
		after := err.Pos >= pos
		if found == nil || after && (found.Pos < pos || err.Pos < found.Pos) {
			found = &err
		}
	}
	if found == nil {
		return fmt.Errorf("the %s of %s does not compile", what, name)
	}
	return fmt.Errorf("the %s of %s does not compile: %s: %s", what, name, b.from.short(found.Pos), b.from.message(found))
}

// message returns the text of a type error. For a failed import, it contains the go command's
// reason.
func (p *Package) message(err *types.Error) string {
	rest, ok := strings.CutPrefix(err.Msg, "could not import ")
	if path, _, _ := strings.Cut(rest, " ("); ok && p.loaded != nil {
		for _, pkg := range []*packages.Package{p.loaded.Imports[path], p.loaded} {
			if pkg != nil && len(pkg.Errors) > 0 && pkg.Errors[0].Kind == packages.ListError {
				return "could not import " + path + ": " + strings.Join(strings.Fields(pkg.Errors[0].Msg), " ")
			}
		}
	}
	return err.Msg
}

// isContext reports whether t is context.Context, or a declared type to which any context can
// be assigned.
func isContext(t types.Type) bool {
	i, ok := t.Underlying().(*types.Interface) // for a type parameter, this is its constraint
	if _, param := t.(*types.TypeParam); !ok || param || i.NumMethods() != 4 {
		return false
	}
	for _, name := range []string{"Deadline", "Done", "Err", "Value"} {
		if m, _, _ := types.LookupFieldOrMethod(i, false, nil, name); m == nil {
			return false
		}
	}
	return true
}

// implementsContext reports whether t can be assigned to context.Context.
func implementsContext(t types.Type) bool {
	// Package context may not be loaded. Build its interface instead, with the type time.Time
	// from the method Deadline of t.
	deadline, _, _ := types.LookupFieldOrMethod(t, false, nil, "Deadline")
	f, ok := deadline.(*types.Func)
	if !ok || f.Signature().Results().Len() != 2 {
		return false
	}
	time, ok := types.Unalias(f.Signature().Results().At(0).Type()).(*types.Named)
	if !ok || time.Obj().Pkg() == nil || time.Obj().Pkg().Path() != "time" || time.Obj().Name() != "Time" {
		return false
	}
	method := func(name string, params []types.Type, results ...types.Type) *types.Func {
		tuple := func(list []types.Type) *types.Tuple {
			var vars []*types.Var
			for _, t := range list {
				vars = append(vars, types.NewParam(token.NoPos, nil, "", t))
			}
			return types.NewTuple(vars...)
		}
		return types.NewFunc(token.NoPos, nil, name,
			types.NewSignatureType(nil, nil, nil, tuple(params), tuple(results), false))
	}
	empty := types.NewInterfaceType(nil, nil)
	context := types.NewInterfaceType([]*types.Func{
		method("Deadline", nil, time, types.Typ[types.Bool]),
		method("Done", nil, types.NewChan(types.RecvOnly, types.NewStruct(nil, nil))),
		method("Err", nil, types.Universe.Lookup("error").Type()),
		method("Value", []types.Type{empty}, empty),
	}, nil)
	return types.Implements(t, context.Complete())
}
