package flow

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// A Step is a set of ways in which a value may be derived from one other value.
type Step uint16

// The steps. Each comment describes the derived value.
const (
	Addressed Step = 1 << iota // the address of a field or an element
	Selected                   // a field or an element
	Sliced                     // a part of a slice
	Boxed                      // the same value as an interface
	Renamed                    // the same value with another type of the same structure
	Converted                  // a converted value
	Asserted                   // the value in an interface
	Loaded                     // the value at an address
	Unpacked                   // one of several results
	Kept                       // the value that a local variable always holds
	Negated                    // the negation of a bool
	Captured                   // a variable of an enclosing function, or the value that it always holds
)

// AnyStep contains all steps within a function.
const AnyStep = Addressed | Selected | Sliced | Boxed | Renamed | Converted | Asserted | Loaded | Unpacked

// Back returns the value from which another one is derived by one of the given steps, or nil.
func Back(v ssa.Value, steps Step) ssa.Value {
	if of := held(v, steps); of != nil {
		return of
	}
	if of, step := madeOf(v); step&steps != 0 {
		return of
	}
	return nil
}

// held returns the value that v holds by one of the steps Kept or Captured: the value that a
// local variable always holds, or the variable that a function literal captures. It returns nil
// if there is none.
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

// Source returns the value from which another one is derived by any number of the given steps.
func Source(v ssa.Value, steps Step) ssa.Value {
	for range 64 { // a variable may be assigned to itself
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
