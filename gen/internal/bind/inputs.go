package bind

import (
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// An Input is an argument, or a value in an argument, that an attempt uses up: data that it has
// read or received is gone, and data that it has written remains written. A second attempt with
// the same argument therefore behaves differently, and often reports success.
//
// Inputs are found by type. The search follows pointers, lists, maps and the fields that the
// home package can set: exported fields, and the fields of its own types. It does not search
// interfaces and functions, because their contents are unknown.
//
// Three kinds of values are not inputs:
//
//   - contexts;
//   - sources of random bytes: types of math/rand, and readers named rand or random;
//   - writers whose name shows that they are a log, because a log may have an entry for each
//     attempt.
type Input struct {
	Kind  InputKind
	Param int      // index of the parameter
	Path  []string // names of the fields that lead from the parameter to the input
	Nil   []int    // lengths of the prefixes of Path that lead to a pointer or interface, which may be nil
	Plain bool     // the input is a parameter with an interface type
	Among bool     // Path leads to several values, for example in a list
	Text  string   // names the input in problems, such as body, in.Body, its io.Reader
}

// An InputKind says how an attempt uses up an input.
type InputKind uint8

const (
	// ReadOnce is read, and its type has no method to rewind it.
	ReadOnce InputKind = iota
	// Seekable is read and has the method of an io.Seeker.
	Seekable
	// Request is an *http.Request. Only at run time is it known whether its body can be read
	// again.
	Request
	// Written is written to and cannot be rewound, such as an io.Writer or a connection.
	Written
	// Channel is a channel that carries values, not only a signal.
	Channel
	// Sequence is an iterator: iter.Seq, iter.Seq2, or a cursor such as *sql.Rows.
	Sequence
	// Batch is a list that a failed attempt may have sent in part.
	Batch
	// Begun is a transaction, which cannot continue after a failure.
	Begun
)

// Rewinds reports whether the wrapper can restore the input for the next attempt.
// It can rewind a Seekable, and replace a Request that is a parameter. It must not
// replace a request in a struct of the caller.
func (in *Input) Rewinds() bool {
	return !in.Among && (in.Kind == Seekable || in.Kind == Request && len(in.Path) == 0)
}

// inputs returns the inputs among the parameters of a function.
func (b binder) inputs(sig *types.Signature) (found []Input) {
	for i := range sig.Params().Len() {
		v := sig.Params().At(i)
		s := search{home: b.home.types, within: map[*types.TypeName]bool{}}
		s.walk(v.Name(), v.Type(), place{})
		for _, in := range s.found {
			in.Param, in.Text = i, describe(v, in.Path)
			found = append(found, in)
		}
	}
	return found
}

// describe names the path from a parameter to an input, for problems.
func describe(v *types.Var, path []string) string {
	name := v.Name()
	switch {
	case name != "" && name != "_":
		return strings.Join(append([]string{name}, path...), ".")
	case len(path) > 0:
		return strings.Join(path, ".") + " of its " + plain(v.Type())
	}
	return "its " + plain(v.Type())
}

// search finds the inputs in the type of one parameter.
type search struct {
	home   *types.Package
	found  []Input
	within map[*types.TypeName]bool // types on the current path; true if they contain themselves
}

// place describes the current position of a search.
type place struct {
	path    []string
	nils    []int
	pointed bool // reached through a pointer, so that methods with pointer receivers apply
	listed  bool // one of several values, as in a list or a map
}

// part is a value that a value of another type contains, such as a field.
type part struct {
	name  string
	typ   types.Type
	place place
}

// visit is a type that a search has visited, with whether a pointer led to it.
type visit struct {
	typ     types.Type
	pointed bool
}

// walk adds the inputs in a value of type t with the given name.
func (s *search) walk(name string, t types.Type, p place) {
	_, isPointer := t.Underlying().(*types.Pointer)
	_, isParam := types.Unalias(t).(*types.TypeParam)
	if isPointer || types.IsInterface(t) && !isParam {
		p.nils = append(slices.Clip(p.nils), len(p.path))
	}
	switch kind, isInput := inputOf(name, t, p); {
	case isInput:
		plain := len(p.path) == 0 && types.IsInterface(t)
		s.found = append(s.found, Input{Kind: kind, Path: p.path, Nil: p.nils, Plain: plain, Among: p.listed})
	case s.reaches(name, t, p, map[visit]bool{}):
		s.walkParts(name, t, p)
	}
}

// walkParts adds the inputs in the parts of t. If these contain a value of type t again, there
// may be any number of inputs of each kind.
func (s *search) walkParts(name string, t types.Type, p place) {
	before, obj := len(s.found), (*types.TypeName)(nil)
	if named, ok := types.Unalias(t).(*types.Named); ok {
		obj = named.Origin().Obj()
		if _, again := s.within[obj]; again {
			s.within[obj] = true
			return
		}
		s.within[obj] = false
	}
	for _, one := range s.parts(name, t, p) {
		s.walk(one.name, one.typ, one.place)
	}
	for i := before; i < len(s.found); i++ {
		s.found[i].Among = s.found[i].Among || s.within[obj]
	}
	delete(s.within, obj)
}

// reaches reports whether t contains an input. It visits each type once, whereas walk follows
// all paths.
func (s *search) reaches(name string, t types.Type, p place, seen map[visit]bool) bool {
	if _, isInput := inputOf(name, t, p); isInput || seen[visit{t, p.pointed}] {
		return isInput
	}
	seen[visit{t, p.pointed}] = true
	return slices.ContainsFunc(s.parts(name, t, p), func(one part) bool {
		return s.reaches(one.name, one.typ, one.place, seen)
	})
}

// parts returns the parts of a value of type t.
func (s *search) parts(name string, t types.Type, p place) (parts []part) {
	if isContext(t) || implementsContext(t) {
		return nil
	}
	switch t := t.Underlying().(type) {
	case *types.Pointer:
		p.pointed = true
		// A path leads through a pointer only to the fields of a struct.
		if _, isStruct := t.Elem().Underlying().(*types.Struct); !isStruct {
			p.listed = true
		}
		return []part{{name, t.Elem(), p}}
	case *types.Struct:
		for f := range t.Fields() {
			at := p
			switch _, isStruct := f.Type().Underlying().(*types.Struct); {
			case f.Exported() || f.Pkg().Path() == s.home.Path():
				at.path = append(slices.Clip(p.path), f.Name())
			case !f.Embedded():
				continue
			default: // its exported fields are promoted; an embedded pointer may be nil
				at.listed = at.listed || !isStruct
			}
			parts = append(parts, part{f.Name(), f.Type(), at})
		}
		return parts
	case *types.Slice:
		p.listed, p.pointed = true, true
		return []part{{name, t.Elem(), p}}
	case *types.Array:
		p.listed = true
		return []part{{name, t.Elem(), p}}
	case *types.Map:
		p.listed, p.pointed = true, false
		return []part{{name, t.Elem(), p}}
	}
	return nil
}

// inputOf returns the kind of input that a value of type t with the given name is, and whether
// it is an input.
func inputOf(name string, t types.Type, p place) (InputKind, bool) {
	if isContext(t) || implementsContext(t) || isRandom(name, t) {
		return 0, false
	}
	methods := t
	if p.pointed {
		methods = addressed(t)
	}
	reads, writes := moves(methods, "Read"), moves(methods, "Write")
	switch channel, isChannel := t.Underlying().(*types.Chan); {
	case isRequest(t):
		return Request, true
	case reads && seeks(methods):
		return Seekable, true
	case reads && !writes:
		return ReadOnce, true
	case writes: // if it can also be read, it is a connection or a buffer
		return Written, !logged.MatchString(name)
	case isChannel:
		return Channel, channel.Dir() != types.RecvOnly || !isEmptyStruct(channel.Elem())
	case isSequence(t), isCursor(methods):
		return Sequence, true
	case isPartOfTransaction(methods, ""):
		return Begun, true
	}
	return 0, false
}

// isRequest reports whether t is *http.Request.
func isRequest(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	return ok && isNamed(p.Elem(), "net/http", "Request")
}

// isNamed reports whether t is the type with the given name in the package at path.
func isNamed(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

// isRandom reports whether t is a source of random bytes, which may differ in each attempt.
func isRandom(name string, t types.Type) bool {
	switch strings.ToLower(name) {
	case "rand", "random":
		if moves(addressed(t), "Read") {
			return true
		}
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && strings.HasPrefix(named.Obj().Pkg().Path(), "math/rand")
}

// logged matches the name of a log.
var logged = regexp.MustCompile(`^log|Log`)

// isEmptyStruct reports whether t is a struct without fields.
func isEmptyStruct(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	return ok && s.NumFields() == 0
}

// moves reports whether t has the method of an io.Reader or io.Writer: func([]byte) (int,
// error).
func moves(t types.Type, method string) bool {
	sig := methodOf(t, method)
	if sig == nil || sig.Params().Len() != 1 || sig.Results().Len() != 2 || !isError(sig.Results().At(1).Type()) {
		return false
	}
	given, ok := sig.Params().At(0).Type().Underlying().(*types.Slice)
	return ok && types.Identical(given.Elem().Underlying(), types.Typ[types.Byte])
}

// seeks reports whether t has the method of an io.Seeker.
func seeks(t types.Type) bool {
	sig := methodOf(t, "Seek")
	if sig == nil || sig.Params().Len() != 2 || sig.Results().Len() != 2 {
		return false
	}
	offset, whence, position := sig.Params().At(0).Type(), sig.Params().At(1).Type(), sig.Results().At(0).Type()
	return types.Identical(offset, types.Typ[types.Int64]) && types.Identical(whence, types.Typ[types.Int]) &&
		types.Identical(position, types.Typ[types.Int64]) && fails(sig)
}

// methodOf returns the signature of a method that values of type t have, or nil.
func methodOf(t types.Type, name string) *types.Signature {
	m, _, _ := types.LookupFieldOrMethod(t, false, nil, name)
	f, ok := m.(*types.Func)
	if !ok {
		return nil
	}
	return f.Signature()
}
