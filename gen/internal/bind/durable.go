package bind

import (
	"errors"
	"fmt"
	"go/types"
	"reflect"
	"strings"
)

// NoID returns why p cannot identify a durable step, or "" if it can. The text completes a
// sentence that begins with the name of p. Strings, integers, booleans, types with these as
// underlying types, and values that implement encoding.TextMarshaler can identify a step.
func (p Param) NoID() string {
	switch t := p.typ; {
	case t == nil || identifies(t):
		return ""
	case encoder(t, "MarshalText", false) == nil && encoder(t, "MarshalText", true) != nil:
		return "is of type " + plain(t) + ", whose method MarshalText has a pointer receiver: use a value receiver"
	case isStringer(t):
		return "is of type " + plain(t) + ", whose String method may hide a part of it: give it the method MarshalText"
	default:
		return "is of type " + plain(t) + ": use a string, an integer, a boolean or an encoding.TextMarshaler"
	}
}

// Field returns a field of the receiver as a parameter. The id of a step can use it to
// distinguish receivers. The text of the error completes a sentence that begins with the
// receiver.
func (t *Target) Field(name string) (Param, error) {
	if t.Kind != MethodOf {
		return Param{}, errors.New("is not known: bind a method of a struct, as TYPE.METHOD")
	}
	typ := t.Recv.typ.(*types.Named)
	found, _, _ := types.LookupFieldOrMethod(typ, true, typ.Obj().Pkg(), name)
	field, ok := found.(*types.Var)
	switch {
	case !ok:
		return Param{}, fmt.Errorf("has no field %s%s", name, DidYouMean(name, fieldNames(typ)))
	case t.Pkg != "" && !field.Exported():
		return Param{}, fmt.Errorf("has the field %s, which package %s does not export: use an exported field",
			name, t.PkgName)
	}
	return Param{Name: name, typ: field.Type()}, nil
}

// fieldNames returns the names of the fields of a struct.
func fieldNames(t types.Type) (names []string) {
	if s, ok := t.Underlying().(*types.Struct); ok {
		for field := range s.Fields() {
			names = append(names, field.Name())
		}
	}
	return names
}

// identifies reports whether values of type t can be a part of an id.
func identifies(t types.Type) bool {
	if encoder(t, "MarshalText", false) != nil {
		return !promotes(t, "MarshalText")
	}
	if param, ok := types.Unalias(t).(*types.TypeParam); ok {
		return everyTerm(param, identifies)
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsString|types.IsInteger|types.IsBoolean) != 0
}

// isStringer reports whether t has the method String.
func isStringer(t types.Type) bool {
	sig := methodOf(addressed(t), "String")
	return sig != nil && sig.Params().Len() == 0 && sig.Results().Len() == 1
}

// everyTerm reports whether is returns true for each type that a constraint lists.
// It returns false for a constraint that lists none.
func everyTerm(param *types.TypeParam, is func(types.Type) bool) bool {
	return termsHold(param.Constraint().Underlying().(*types.Interface), is)
}

// termsHold reports whether an element of a constraint lists only types for which is returns
// true. All types that satisfy the constraint are among the listed ones.
func termsHold(constraint *types.Interface, is func(types.Type) bool) bool {
	for element := range constraint.EmbeddedTypes() {
		switch element := element.(type) {
		case *types.Union:
			all := true
			for term := range element.Terms() {
				all = all && !types.IsInterface(term.Type()) && is(term.Type())
			}
			if all {
				return true
			}
		default:
			if inner, ok := element.Underlying().(*types.Interface); !ok && is(element) || ok && termsHold(inner, is) {
				return true
			}
		}
	}
	return false
}

// Digestible reports whether JSON encodes values of p completely, so that the
// encodings of different values differ.
func (p Param) Digestible() bool {
	return p.typ != nil && new(encoding).trouble(p.typ, false) == ""
}

// IDOf returns the name of the function of package genapi that creates an id from p alone. It
// is ID, or a function for a basic type that does not box the value.
func (p Param) IDOf() string {
	if p.typ == nil || encoder(p.typ, "MarshalText", true) != nil {
		return "ID"
	}
	if basic, ok := p.typ.Underlying().(*types.Basic); ok {
		switch info := basic.Info(); {
		case info&types.IsString != 0:
			return "StringID"
		case info&types.IsUnsigned != 0:
			return "UintID"
		case info&types.IsInteger != 0:
			return "IntID"
		}
	}
	return "ID"
}

// Copied reports whether a function that receives p cannot change the caller's value, because p
// contains no pointers except those in strings and times.
func (p Param) Copied() bool { return p.typ != nil && isCopied(p.typ) }

func isCopied(t types.Type) bool {
	if named, ok := types.Unalias(t).(*types.Named); ok && isTime(named) {
		return true
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Kind() != types.UnsafePointer
	case *types.Array:
		return isCopied(t.Elem())
	case *types.Struct:
		for field := range t.Fields() {
			if !isCopied(field.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

func isTime(t *types.Named) bool {
	obj := t.Obj()
	return obj.Pkg() != nil && obj.Pkg().Path() == "time" && obj.Name() == "Time"
}

// NoRecord returns why values of p cannot be encoded as JSON and decoded again without loss, or
// "" if they can. The text completes a sentence that begins with the type. For a type
// parameter, it returns "".
func (p Param) NoRecord() string {
	if p.typ == nil {
		return ""
	}
	return (&encoding{decode: true}).trouble(p.typ, false)
}

// Plain returns the type of p as messages show it.
func (p Param) Plain() string { return plain(p.typ) }

// An encoding checks how encoding/json encodes values of a type.
type encoding struct {
	decode bool         // the values are decoded as well
	within []types.Type // types that contain the current one
	path   []string     // names of the fields that lead to the current type
}

// trouble returns why values of type t cannot be encoded completely, or "". addressed reports
// whether encoding/json calls methods with pointer receivers.
func (e *encoding) trouble(t types.Type, addressed bool) string {
	for _, seen := range e.within {
		if types.Identical(seen, t) {
			return ""
		}
	}
	e.within = append(e.within, t)
	defer func() { e.within = e.within[:len(e.within)-1] }()
	if trouble, custom := e.methods(t, addressed); custom {
		return trouble
	}
	if param, ok := types.Unalias(t).(*types.TypeParam); ok {
		if e.decode || everyTerm(param, func(t types.Type) bool { return e.trouble(t, addressed) == "" }) {
			return ""
		}
		return e.is("a type parameter")
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&(types.IsString|types.IsInteger|types.IsBoolean|types.IsFloat) == 0 {
			return e.is(plain(t))
		}
		return ""
	case *types.Pointer:
		return e.trouble(u.Elem(), true)
	case *types.Slice:
		return e.trouble(u.Elem(), true)
	case *types.Array:
		return e.trouble(u.Elem(), addressed)
	case *types.Map:
		if !e.isKey(u.Key()) {
			return e.has("keys of type " + plain(u.Key()))
		}
		return e.trouble(u.Elem(), false)
	case *types.Struct:
		return e.fields(u, addressed)
	case *types.Interface:
		return e.is("an interface")
	case *types.Signature:
		return e.is("a function")
	case *types.Chan:
		return e.is("a channel")
	}
	return e.is(plain(t))
}

// is returns a text such as "is WHAT", for the type at the path.
func (e *encoding) is(what string) string {
	if len(e.path) == 0 {
		return "is " + what
	}
	return "has the field " + strings.Join(e.path, ".") + ", which is " + what
}

// has returns a text such as "has WHAT", for the type at the path.
func (e *encoding) has(what string) string {
	if len(e.path) == 0 {
		return "has " + what
	}
	return "has the field " + strings.Join(e.path, ".") + " with " + what
}

// methods checks the methods with which values of type t encode themselves. custom reports
// whether there are any.
func (e *encoding) methods(t types.Type, addressed bool) (trouble string, custom bool) {
	for _, format := range []string{"JSON", "Text"} {
		m := encoder(t, "Marshal"+format, addressed)
		switch {
		case m == nil:
		case promotes(t, "Marshal"+format):
			return e.has("Marshal" + format + " from an embedded field, which leaves out the other fields"), true
		case e.decode && types.IsInterface(t):
			return "", false
		case e.decode && decoder(t, "UnmarshalJSON") == nil && decoder(t, "Unmarshal"+format) == nil:
			return e.has("Marshal" + format + " and no Unmarshal" + format), true
		default:
			return "", true
		}
	}
	return "", false
}

// encoder returns the method name() ([]byte, error) of values of type t, or nil.
func encoder(t types.Type, name string, addressed bool) *types.Signature {
	m, _, _ := types.LookupFieldOrMethod(t, addressed, nil, name)
	f, ok := m.(*types.Func)
	if !ok {
		return nil
	}
	sig := f.Signature()
	if sig.Params().Len() != 0 || sig.Results().Len() != 2 || !isBytes(sig.Results().At(0).Type()) || !fails(sig) {
		return nil
	}
	return sig
}

// decoder returns the method name([]byte) error of pointers to values of type t,
// or nil.
func decoder(t types.Type, name string) *types.Signature {
	sig := methodOf(addressed(t), name)
	if sig == nil || sig.Params().Len() != 1 || sig.Results().Len() != 1 || !fails(sig) ||
		!isBytes(sig.Params().At(0).Type()) {
		return nil
	}
	return sig
}

// isBytes reports whether t is a slice of bytes.
func isBytes(t types.Type) bool {
	slice, ok := t.Underlying().(*types.Slice)
	return ok && types.Identical(slice.Elem().Underlying(), types.Typ[types.Byte])
}

// promotes reports whether a struct with several fields, or a pointer to one, gets a method
// from an embedded field.
func promotes(t types.Type, method string) bool {
	s, ok := deref(types.Unalias(t)).Underlying().(*types.Struct)
	_, index, _ := types.LookupFieldOrMethod(t, true, nil, method)
	return ok && s.NumFields() > 1 && len(index) > 1
}

// isKey reports whether JSON encodes values of type t as the keys of an object.
func (e *encoding) isKey(t types.Type) bool {
	if param, ok := types.Unalias(t).(*types.TypeParam); ok {
		return e.decode || everyTerm(param, e.isKey)
	}
	if basic, ok := t.Underlying().(*types.Basic); ok && basic.Info()&(types.IsString|types.IsInteger) != 0 {
		return true
	}
	return encoder(t, "MarshalText", false) != nil && (!e.decode || decoder(t, "UnmarshalText") != nil)
}

// fields checks the fields of a struct.
func (e *encoding) fields(s *types.Struct, addressed bool) string {
	for i := range s.NumFields() {
		f := s.Field(i)
		tag := reflect.StructTag(s.Tag(i)).Get("json")
		_, isStruct := deref(f.Type()).Underlying().(*types.Struct)
		_, isPointer := f.Type().Underlying().(*types.Pointer)
		switch {
		case tag == "-" || f.Name() == "_":
			continue
		case f.Embedded() && !f.Exported() && isStruct && !(e.decode && isPointer): // its fields are promoted
		case !f.Exported():
			return e.has("the unexported field " + f.Name() + " and no MarshalJSON")
		}
		e.path = append(e.path, f.Name())
		trouble := e.trouble(f.Type(), addressed)
		e.path = e.path[:len(e.path)-1]
		if trouble != "" {
			return trouble
		}
	}
	return ""
}
