package effect

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Kind is a kind of region.
type Kind uint8

const (
	// World is everything outside of the process, and the memory of code that is not known.
	World Kind = iota
	// Clock is the current time.
	Clock
	// Signal is what other goroutines send on channels.
	Signal
	// Context is the end of a context.
	Context
	// Stream is what a reader or a queue returns: another item each time.
	Stream
	// Person is what a person answers.
	Person
	// Global is a variable of a package.
	Global
	// Cell is a local variable that function literals share.
	Cell
	// Field is a field of an object.
	Field
	// Element is an element of a slice, an array or a map.
	Element
	// Pointee is the variable that a pointer points to.
	Pointee
	// Reach is all memory that can be reached from an object that code that is not known
	// was given.
	Reach
)

// A Root is where a function finds an object. The zero value is any object.
type Root struct {
	Param int       // from 1: the parameter, receiver included, that it is reached from
	Value ssa.Value // a local variable, a global variable, or the call that returned it
}

// A Region is memory that functions may share, or part of the world outside of it.
type Region struct {
	Kind Kind
	Name string // path.Type.field of a Field, path.name of a Global, the type of an Element
	From Root
}

// isShared reports whether the callers of fn can see the region.
func (r Region) isShared(fn *ssa.Function) bool {
	switch v := r.From.Value.(type) {
	case *ssa.Alloc:
		return v.Parent() != fn
	case *ssa.Call:
		return false // an object that the function was given in answer, or made
	}
	return true
}

// isOutside reports whether something outside of the program changes the region at any time.
func (r Region) isOutside() bool { return r.Kind <= Person && r.Kind != World && r.Kind != Stream }

// overlaps reports whether two regions may have memory in common, as one function sees them. A
// field of one type is one region, whatever the object, unless both objects are variables of the
// function itself.
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

// reaches reports whether code that was given the object of r may get at s, which has the same
// root: what the type shows directly.
func (r Region) reaches(s Region) bool {
	switch s.Kind {
	case Field:
		return strings.HasPrefix(s.Name, r.Name+".")
	case Reach:
		return s.Name == r.Name
	}
	return s.Kind.IsMemory() && r.From != (Root{})
}

// IsMemory reports whether regions of a kind are objects of the program, or in them.
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

// Overlaps reports whether a region of s may have memory in common with one of t.
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

// fieldName returns the name of the field that is the i'th of the struct that a value is, or
// points to; "" if the type has no such field.
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
