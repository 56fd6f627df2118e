package effect

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Kind is a kind of region.
type Kind uint8

const (
	// World is everything outside the process, and the memory of unknown code.
	World Kind = iota
	// Clock is the current time.
	Clock
	// Signal is the values that other goroutines send on channels.
	Signal
	// Context is the end of a context.
	Context
	// Stream is the items that a reader or a queue returns, a different one each time.
	Stream
	// Person is the answers of a person.
	Person
	// Global is a variable of a package.
	Global
	// Cell is a local variable that function literals share.
	Cell
	// Field is a field of an object.
	Field
	// Element is an element of a slice, an array or a map.
	Element
	// Pointee is the variable to which a pointer points.
	Pointee
	// Reach is all memory that can be reached from an object that was passed to unknown code.
	Reach
)

// A Root describes where a function finds an object. The zero value means any object.
type Root struct {
	Param int       // the parameter that leads to the object, counted from 1, receiver included; 0: none
	Value ssa.Value // a local variable, a global variable, or the call that returned the object
}

// A Region is memory that functions may share, or a part of the world outside the process.
type Region struct {
	Kind Kind
	Name string // path.Type.field of a Field, path.name of a Global, the type of an Element
	From Root
}

// isShared reports whether the callers of fn can access the region.
func (r Region) isShared(fn *ssa.Function) bool {
	switch v := r.From.Value.(type) {
	case *ssa.Alloc:
		return v.Parent() != fn
	case *ssa.Call:
		return false // an object that the function received from the call or created
	}
	return true
}

// isOutside reports whether something outside the program may change the region at any time.
func (r Region) isOutside() bool { return r.Kind <= Person && r.Kind != World && r.Kind != Stream }

// overlaps reports whether two regions may have memory in common, from the perspective of one
// function. A field of a type is one region for all objects, unless both objects are variables
// of the function itself.
func (r Region) overlaps(s Region) bool {
	if s.Kind == Reach {
		r, s = s, r
	}
	if r.Kind == Reach {
		return r.From == s.From && r.reaches(s)
	}
	if r.Kind != s.Kind || r.Name != s.Name {
		return false
	}
	switch r.Kind {
	case Cell:
		return r.From == s.From
	case Stream, Element, Pointee:
		return r.From == s.From || r.From == (Root{}) || s.From == (Root{})
	case Field:
		return r.From == s.From || !isVariable(r.From.Value) || !isVariable(s.From.Value)
	}
	return true
}

// reaches reports whether code that was passed the object of r may access s, which has the same
// root. It considers only what the types directly show.
func (r Region) reaches(s Region) bool {
	switch s.Kind {
	case Field:
		return strings.HasPrefix(s.Name, r.Name+".")
	case Reach:
		return s.Name == r.Name
	}
	return s.Kind.IsMemory() && r.From != (Root{})
}

// IsMemory reports whether regions of a kind are objects of the program or parts of objects.
func (k Kind) IsMemory() bool { return k >= Global || k == Stream }

func isVariable(v ssa.Value) bool {
	switch v.(type) {
	case *ssa.Alloc, *ssa.Call:
		return true
	}
	return false
}

// A Set is a set of regions.
type Set map[Region]bool

// Overlaps reports whether a region in s may have memory in common with a region in t.
func (s Set) Overlaps(t Set) bool {
	for r := range s {
		for u := range t {
			if r.overlaps(u) {
				return true
			}
		}
	}
	return false
}

// fieldName returns the name of field i of the struct that a value is, or to which it points.
// It returns "" if the type has no such field.
func fieldName(t types.Type, i int) string {
	owner := "struct"
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		owner = n.Obj().Name()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	f := s.Field(i)
	path := ""
	if f.Pkg() != nil {
		path = f.Pkg().Path()
	}
	return path + "." + owner + "." + f.Name()
}
