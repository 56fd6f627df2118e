package bind

import (
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// An Input is an argument, or a value in an argument, that an attempt uses up:
// what it has read or received is gone, what it has written stays. A second
// attempt with the same argument therefore does something else than the first,
// and often reports success.
//
// Inputs are found by type alone. A parameter is searched through pointers,
// lists, maps and the fields that the home package can set: the exported ones,
// and its own. Interfaces and functions are not searched, since nothing shows
// what is in them.
//
// Left out are contexts, sources of random bytes, which are those of math/rand and
// readers called rand or random, and writers whose name says that they are a log,
// since a log may have an entry of each attempt.
type Input struct {
	Kind  InputKind
	Param int      // index of the parameter
	Path  []string // names of the fields that lead from the parameter to it
	Nil   []int    // how many steps along Path lead to a pointer or interface, which may be nil
	Plain bool     // it is a parameter that is an interface: Nil is that alone
	Among bool     // it is one of several that Path does not tell apart, as in a list
	Text  string   // for problems: body, in.Body, its io.Reader
}

// An InputKind says how an attempt uses up an input, and what helps.
type InputKind uint8

const (
	// ReadOnce is read, and cannot be rewound by what its type says.
	ReadOnce InputKind = iota
	// Seekable is read and has the method of an io.Seeker.
	Seekable
	// Request is a parameter of type *http.Request: whether its body can be read
	// again is known when it is sent.
	Request
	// Written is written to and cannot be rewound: an io.Writer, a connection.
	Written
	// Channel is a channel, other than one that only signals.
	Channel
	// Sequence is an iterator: iter.Seq, iter.Seq2, or a cursor such as *sql.Rows.
	Sequence
)

// Rewinds reports whether the wrapper can give an attempt what the one before it
// was given: a Seekable, or a Request that is a parameter, since a request in a
// struct of the caller's is not for the wrapper to replace.
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

// describe writes the way from a parameter to an input for people.
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

// search looks for inputs in the type of one parameter.
type search struct {
	home   *types.Package
	found  []Input
	within map[*types.TypeName]bool // types on the way; true where it comes to them again
}

// place is where a search is.
type place struct {
	path    []string
	nils    []int
	pointed bool // reached through a pointer, so that methods of pointers apply
	listed  bool // not named by a path: in a list or a map
}

// part is what a type consists of, seen from the place of a value of it.
type part struct {
	name  string
	typ   types.Type
	place place
}

// visit is a type that a search has seen, and whether through a pointer.
type visit struct {
	typ     types.Type
	pointed bool
}

// walk searches a value of type t, which is called name.
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
		s.into(name, t, p)
	}
}

// into searches what t consists of. Where that has a value of type t again,
// there may be any number of what is found.
func (s *search) into(name string, t types.Type, p place) {
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

// reaches reports whether there is an input in t. Most types have none, and the
// ways through them are many.
func (s *search) reaches(name string, t types.Type, p place, seen map[visit]bool) bool {
	if _, isInput := inputOf(name, t, p); isInput || seen[visit{t, p.pointed}] {
		return isInput
	}
	seen[visit{t, p.pointed}] = true
	return slices.ContainsFunc(s.parts(name, t, p), func(one part) bool {
		return s.reaches(one.name, one.typ, one.place, seen)
	})
}

// parts returns what t consists of.
func (s *search) parts(name string, t types.Type, p place) (parts []part) {
	if isContext(t) || implementsContext(t) {
		return nil
	}
	switch t := t.Underlying().(type) {
	case *types.Pointer:
		p.pointed = true
		// A path goes through a pointer to fields, and no further.
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
			default: // its exported fields are promoted, and may be behind nil
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

// inputOf reports whether a value of type t, which is called name, is an input.
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
	case writes: // a connection or a buffer, if it is read as well
		return Written, !logged.MatchString(name)
	case isChannel:
		return Channel, channel.Dir() != types.RecvOnly || !isEmptyStruct(channel.Elem())
	case isSequence(t), isCursor(methods):
		return Sequence, true
	}
	return 0, false
}

// isRequest reports whether t is *http.Request.
func isRequest(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	return ok && isNamed(p.Elem(), "net/http", "Request")
}

// isNamed reports whether t is the type that a package declares under a name.
func isNamed(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

// isRandom reports whether t is a source of random bytes, which gives others
// each time it is read, and is meant to.
func isRandom(name string, t types.Type) bool {
	switch strings.ToLower(name) {
	case "rand", "random":
		return moves(t, "Read")
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && strings.HasPrefix(named.Obj().Pkg().Path(), "math/rand")
}

// logged matches the name of a log.
var logged = regexp.MustCompile(`^log|Log`)

func isEmptyStruct(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	return ok && s.NumFields() == 0
}

// moves reports whether t has the method of an io.Reader or io.Writer:
// func([]byte) (int, error).
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
