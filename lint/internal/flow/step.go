package flow

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// A Step is a set: how a value may be made of one other.
type Step uint16

// The steps.
const (
	Addressed Step = 1 << iota // the address of a field or an element
	Selected                   // a field or an element
	Sliced                     // a part of a slice
	Boxed                      // the same value as an interface
	Renamed                    // the same value of another type of the same form
	Converted                  // a value that is converted
	Asserted                   // what an interface holds
	Loaded                     // what is at an address
	Unpacked                   // one of several results
	Kept                       // what a variable of the function always holds
	Negated                    // the opposite of a truth value
	Captured                   // what a function around it has: a variable, or what one always holds
)

// AnyStep is all steps within a function.
const AnyStep = Addressed | Selected | Sliced | Boxed | Renamed | Converted | Asserted | Loaded | Unpacked

// Back returns what a value is made of by one of some steps, or nil.
func Back(v ssa.Value, steps Step) ssa.Value {
	if of := held(v, steps); of != nil {
		return of
	}
	if of, step := madeOf(v); step&steps != 0 {
		return of
	}
	return nil
}

// held returns what a value is by Kept or Captured, or nil.
func held(v ssa.Value, steps Step) ssa.Value {
	switch x := v.(type) {
	case *ssa.FreeVar:
		if steps&Captured != 0 {
			return Binding(x)
		}
	case *ssa.UnOp:
		step := Kept
		if _, captured := x.X.(*ssa.FreeVar); captured {
			step = Captured
		}
		if variable := Declared(x.X); variable != nil && x.Op == token.MUL && steps&step != 0 {
			return OnlyStored(variable)
		}
	}
	return nil
}

// Source returns what a value is made of by any number of some steps.
func Source(v ssa.Value, steps Step) ssa.Value {
	for range 64 { // a variable may be set to itself
		of := Back(v, steps)
		if of == nil {
			return v
		}
		v = of
	}
	return v
}

func madeOf(v ssa.Value) (ssa.Value, Step) {
	switch x := v.(type) {
	case *ssa.FieldAddr:
		return x.X, Addressed
	case *ssa.IndexAddr:
		return x.X, Addressed
	case *ssa.Field:
		return x.X, Selected
	case *ssa.Index:
		return x.X, Selected
	case *ssa.Lookup:
		return x.X, Selected
	case *ssa.Slice:
		return x.X, Sliced
	case *ssa.MakeInterface:
		return x.X, Boxed
	case *ssa.ChangeInterface:
		return x.X, Boxed
	case *ssa.ChangeType:
		return x.X, Renamed
	case *ssa.Convert:
		return x.X, Converted
	case *ssa.TypeAssert:
		return x.X, Asserted
	case *ssa.UnOp:
		switch x.Op {
		case token.MUL:
			return x.X, Loaded
		case token.NOT:
			return x.X, Negated
		}
	case *ssa.Extract:
		return x.Tuple, Unpacked
	}
	return nil, 0
}
