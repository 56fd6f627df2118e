package bind

import (
	"errors"
	"fmt"
	"go/types"
	"math"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A Path describes how generated code reads a value from an error: by fields and by methods
// without arguments. A Path without steps is the error itself.
type Path struct {
	Steps []Step
	Deref bool // the last step returns a pointer to the value
	Kind  ValueKind
	Plain bool // the type of the value is int or string itself
	min   int64
	max   uint64 // the range of an integer
}

// A Step is a field or a method in a path.
type Step struct {
	Name string
	Call bool // the step calls a method
	Nil  bool // the result may be nil, and the following steps apply only if it is not
	Each bool // the result is a slice, and the following steps apply to each element
}

// The kinds of values that a path may have.
const (
	ValueInteger  ValueKind = 1 << iota
	ValueText               // a string
	ValueWait               // a time.Duration
	ValueTime               // a time.Time
	ValueHeader             // an http.Header
	ValueResponse           // an *http.Response
)

// A ValueKind is a kind of value, or a set of them.
type ValueKind uint8

// String describes the kinds, in the notation of Go.
func (k ValueKind) String() string {
	var names []string
	for i, name := range []string{"an integer", "a string", "a time.Duration", "a time.Time", "an http.Header",
		"an *http.Response"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if last := len(names) - 1; last > 0 {
		names = append(names[:last-1:last-1], names[last-1]+" or "+names[last])
	}
	return strings.Join(names, ", ")
}

// Fits reports whether a number can be a value of an integer path.
func (p *Path) Fits(n int64) bool { return n >= p.min && (n < 0 || uint64(n) <= p.max) }

// An ErrorReader resolves the paths of an error type.
type ErrorReader struct {
	Type Ref
	home *Package
	typ  types.Type // a pointer type, if the symbol names one
}

// Reader finds the type of an error that is read.
func (p *Package) Reader(symbol string) (*ErrorReader, error) {
	ref, err := p.ErrorType(symbol)
	if err != nil {
		return nil, err
	}
	_, obj, err := p.ref(symbol)
	if err != nil {
		return nil, err
	}
	r := &ErrorReader{Type: ref, home: p, typ: obj.Type()}
	if ref.Pointer && !ref.Either {
		r.typ = types.NewPointer(r.typ)
	}
	return r, nil
}

// Predicate finds a function that tests errors.
func (p *Package) Predicate(symbol string) (Ref, error) {
	ref, obj, err := p.ref(symbol)
	if err != nil {
		return ref, err
	}
	f, ok := obj.(*types.Func)
	if !ok {
		return ref, fmt.Errorf("%s is not a function: move it to is if it is a variable", ref.Name)
	}
	sig := f.Signature()
	isTest := sig.TypeParams().Len() == 0 && !sig.Variadic() && sig.Params().Len() == 1 && sig.Results().Len() == 1 &&
		types.Identical(sig.Params().At(0).Type().Underlying(), errorType) &&
		types.Identical(sig.Results().At(0).Type(), types.Typ[types.Bool])
	if !isTest {
		return ref, fmt.Errorf("it is %s, not func(error) bool", plain(sig))
	}
	return ref, nil
}

// errAbsent is the error for a name that a package does not declare.
var errAbsent = errors.New("absent")

// Lacks reports whether err says that a package can be loaded but does not declare a name.
func Lacks(err error) bool { return errors.Is(err, errAbsent) }

// A lackError is the error for a name that a package does not declare.
type lackError string

func (e lackError) Error() string        { return string(e) }
func (e lackError) Is(target error) bool { return target == errAbsent }

// Version returns the name and the version of the module that contains the package at path,
// such as azcore v1.23.3, or "" for the main module.
func (p *Package) Version(path string) string {
	from := p.program.byPath[path]
	if from == nil || from.loaded == nil {
		return ""
	}
	return version(from.loaded.Module)
}

// Module returns the path of the module that contains the package at path, or path itself if
// the module is unknown.
func (p *Package) Module(path string) string {
	from := p.program.byPath[path]
	if from == nil || from.loaded == nil || from.loaded.Module == nil {
		return path
	}
	return from.loaded.Module.Path
}

// Path resolves a path of fields and methods whose value has one of the kinds in want. A path
// to strings may lead through slices. The error says why the path cannot be read.
func (r *ErrorReader) Path(text string, want ValueKind) (*Path, error) {
	p := &Path{}
	typ, addressable := r.typ, true
	for name := range strings.SplitSeq(text, ".") {
		if text == "self" {
			break
		}
		steps, next, err := r.step(typ, name, addressable)
		if err != nil {
			return nil, err
		}
		if n := len(p.Steps); n > 0 {
			p.Steps[n-1].Nil = isNilable(typ)
		}
		last := &steps[len(steps)-1]
		addressable = !last.Call && (addressable || isNilable(typ))
		if slice, ok := next.Underlying().(*types.Slice); ok && want&ValueText != 0 {
			last.Each, addressable, next = true, true, slice.Elem()
		}
		p.Steps = append(p.Steps, steps...)
		typ = next
	}
	if p.accept(typ, want) {
		return p, nil
	}
	if pointer, ok := typ.Underlying().(*types.Pointer); ok && len(p.Steps) > 0 && p.accept(pointer.Elem(), want) {
		p.Deref, p.Steps[len(p.Steps)-1].Nil = true, true
		return p, nil
	}
	return nil, fmt.Errorf("it is of type %s: it must be %s", plain(typ), want)
}

// step resolves one name in a path to steps. Embedded pointers may be nil, so each of them is a
// separate step.
func (r *ErrorReader) step(typ types.Type, name string, addressable bool) ([]Step, types.Type, error) {
	obj, index, _ := types.LookupFieldOrMethod(typ, addressable, r.home.types, name)
	if m, _, _ := types.LookupFieldOrMethod(typ, true, r.home.types, name); obj == nil && m != nil {
		return nil, nil, fmt.Errorf("%s is a method of *%s, but the path before it returns %[2]s: read a field instead",
			name, plain(typ))
	}
	if obj == nil {
		return nil, nil, lackError(fmt.Sprintf("%s has no field or method %s%s", plain(typ), name,
			DidYouMean(name, r.members(typ))))
	}
	steps := r.embedded(typ, index[:len(index)-1])
	if v, ok := obj.(*types.Var); ok {
		return append(steps, Step{Name: name}), v.Type(), nil
	}
	sig := obj.(*types.Func).Signature()
	if sig.Params().Len() > 0 || sig.Results().Len() != 1 {
		return nil, nil, fmt.Errorf("%s is %s: only methods without parameters and with one result can be read", name,
			plain(sig))
	}
	return append(steps, Step{Name: name, Call: true}), sig.Results().At(0).Type(), nil
}

// embedded returns the steps to the embedded fields at index. It returns none if they are not
// necessary, because none is a pointer, or not possible, because one is not exported.
func (r *ErrorReader) embedded(typ types.Type, index []int) (steps []Step) {
	pointers := false
	for _, i := range index {
		s, ok := deref(typ).Underlying().(*types.Struct)
		if !ok {
			return nil
		}
		f := s.Field(i)
		if !f.Exported() && f.Pkg().Path() != r.home.Path {
			return nil
		}
		typ = f.Type()
		pointers = pointers || isNilable(typ)
		steps = append(steps, Step{Name: f.Name(), Nil: isNilable(typ)})
	}
	if !pointers {
		return nil
	}
	return steps
}

// members returns the exported fields and methods of a type.
func (r *ErrorReader) members(typ types.Type) (names []string) {
	if s, ok := deref(typ).Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			names = append(names, f.Name())
		}
	}
	if !types.IsInterface(typ) {
		typ = types.NewPointer(deref(typ))
	}
	for m := range types.NewMethodSet(typ).Methods() {
		names = append(names, m.Obj().Name())
	}
	return slices.DeleteFunc(names, func(name string) bool {
		obj, _, _ := types.LookupFieldOrMethod(typ, true, r.home.types, name)
		return obj == nil
	})
}

// accept reports whether a value of type t has one of the kinds in want, and records this kind.
func (p *Path) accept(t types.Type, want ValueKind) bool {
	kind := ValueKind(0)
	basic, _ := t.Underlying().(*types.Basic)
	pointer, _ := types.Unalias(t).(*types.Pointer)
	switch t := types.Unalias(t); {
	case isNamed(t, "time", "Duration"):
		kind = ValueWait
	case isNamed(t, "time", "Time"):
		kind = ValueTime
	case isNamed(t, "net/http", "Header"):
		kind = ValueHeader
	case pointer != nil && isNamed(types.Unalias(pointer.Elem()), "net/http", "Response"):
		kind = ValueResponse
	case basic == nil:
	case basic.Info()&types.IsInteger != 0:
		kind, p.Plain = ValueInteger, types.Identical(t, types.Typ[types.Int])
		p.min, p.max = limits(basic.Kind())
	case basic.Info()&types.IsString != 0:
		kind, p.Plain = ValueText, types.Identical(t, types.Typ[types.String])
	}
	if kind&want == 0 {
		return false
	}
	p.Kind = kind
	return true
}

// limits returns the minimum and the maximum of an integer kind. An int has the size that it
// has on 32-bit machines, so that generated code compiles on all machines.
func limits(kind types.BasicKind) (int64, uint64) {
	switch kind {
	case types.Int8:
		return math.MinInt8, math.MaxInt8
	case types.Int16:
		return math.MinInt16, math.MaxInt16
	case types.Int64:
		return math.MinInt64, math.MaxInt64
	case types.Uint8:
		return 0, math.MaxUint8
	case types.Uint16:
		return 0, math.MaxUint16
	case types.Uint, types.Uint32, types.Uintptr:
		return 0, math.MaxUint32
	case types.Uint64:
		return 0, math.MaxUint64
	}
	return math.MinInt32, math.MaxInt32
}

// version returns the name and the version of a module, such as azcore v1.23.3, or "" for a
// main module.
func version(m *packages.Module) string {
	if m == nil || m.Version == "" {
		return ""
	}
	return base(m.Path) + " " + m.Version
}

// base returns the last element of a module path that is not a major version.
func base(modulePath string) string {
	name := path.Base(modulePath)
	if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
		name = path.Base(path.Dir(modulePath))
	}
	return name
}
