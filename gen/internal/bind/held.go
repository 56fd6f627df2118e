package bind

import (
	"go/types"
	"regexp"
	"slices"
)

// A Held describes a value, such as a builder, that holds the context of a call:
//
//	client.NewList(ctx).Do()
//	service.Files.List().Context(ctx).Do()
//
// A value with another method that takes a context is usually a client, whose own context ends
// when the client is closed. It is a builder only if it also has a method that sets its
// context.
type Held struct {
	Param  int    // index of the parameter that is the builder; -1 for the receiver
	Nil    bool   // the parameter may be nil, as options may
	Type   string // the type of the builder
	Member string // the suffix of an expression that returns the context of the builder, such as .ctx or .Context(); or ""
	Setter string // the method that sets the context, or ""
}

// held returns the builder among the receiver and the parameters of a function, or nil.
func (b binder) held(sig *types.Signature) *Held {
	if b.recv.held != nil {
		return b.recv.held
	}
	for i := range sig.Params().Len() {
		if sig.Variadic() && i == sig.Params().Len()-1 {
			break
		}
		// A parameter whose context can be neither read nor set is a client.
		if h := b.heldBy(sig.Params().At(i).Type()); h != nil && (h.Member != "" || h.Setter != "") {
			h.Param, h.Nil = i, isNilable(sig.Params().At(i).Type())
			return h
		}
	}
	return nil
}

// heldBy returns a description of t as the type of a builder, or nil.
func (b binder) heldBy(t types.Type) *Held {
	h := &Held{Type: plain(t), Member: b.contextMember(t)}
	methods := methodsOf(t)
	isRequest := func(m *types.Func) bool {
		results := m.Signature().Results()
		isCopy := results.Len() == 1 && hasContext(results.At(0).Type(), 0)
		return takesContext(m.Signature()) && !isCopy
	}
	if i := slices.IndexFunc(methods, func(m *types.Func) bool { return setsContext(t, m) }); i >= 0 {
		h.Setter = methods[i].Name()
	} else if slices.ContainsFunc(methods, isRequest) || h.Member == "" && !hasContext(t, 0) {
		return nil
	}
	return h
}

// contextName matches the names of contexts and of methods that return one.
var contextName = regexp.MustCompile(`^(Get)?([Cc]ontext|[Cc]tx)_?$`)

// contextMember returns the method or field with which generated code gets the context from a
// value of type t, or "".
func (b binder) contextMember(t types.Type) string {
	for _, m := range methodsOf(t) {
		sig := m.Signature()
		if contextName.MatchString(m.Name()) && sig.Params().Len() == 0 && sig.Results().Len() == 1 &&
			isContext(sig.Results().At(0).Type()) {
			return "." + m.Name() + "()"
		}
	}
	return b.contextField(t, 0)
}

// contextField returns the field of a struct, or of a pointer to one, that holds a context, or
// "". depth is the depth of embedding.
func (b binder) contextField(t types.Type, depth int) string {
	s, ok := deref(types.Unalias(t)).Underlying().(*types.Struct)
	if !ok || depth > 8 {
		return ""
	}
	for f := range s.Fields() {
		if !f.Exported() && f.Pkg().Path() != b.home.Path {
			continue
		}
		if isContext(f.Type()) {
			return "." + f.Name()
		}
		_, isStruct := f.Type().Underlying().(*types.Struct) // a pointer may be nil
		if !f.Embedded() || !isStruct {
			continue
		}
		if inner := b.contextField(f.Type(), depth+1); inner != "" {
			return "." + f.Name() + inner
		}
	}
	return ""
}

// setsContext reports whether m sets the context of a builder of type t.
func setsContext(t types.Type, m *types.Func) bool {
	sig := m.Signature()
	if sig.Params().Len() != 1 || !isContext(sig.Params().At(0).Type()) || !setter.MatchString(m.Name()) {
		return false
	}
	return sig.Results().Len() == 0 ||
		sig.Results().Len() == 1 && types.Identical(deref(sig.Results().At(0).Type()), deref(types.Unalias(t)))
}

var setter = regexp.MustCompile(`^(With|Set)?(Context|Ctx)$`)

// hasContext reports whether a struct, or a pointer to one, has a field that is a
// context, at any depth of embedding.
func hasContext(t types.Type, depth int) bool {
	s, ok := deref(types.Unalias(t)).Underlying().(*types.Struct)
	if !ok || depth > 8 {
		return false
	}
	for f := range s.Fields() {
		if isContext(f.Type()) || f.Embedded() && hasContext(f.Type(), depth+1) {
			return true
		}
	}
	return false
}
