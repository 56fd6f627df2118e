package flow

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// A Step is a set: how a value may be made of one other.
type Step uint8

// The steps.
const (
	Addressed Step = 1 << iota // the address of a field or an element
	Selected                   // a field or an element
	Sliced                     // a part of a slice
	Boxed                      // the same value as an interface
	Converted                  // the same value of another type
	Asserted                   // what an interface holds
	Loaded                     // what is at an address
	Unpacked                   // one of several results
)

// AnyStep is all steps.
const AnyStep = Addressed | Selected | Sliced | Boxed | Converted | Asserted | Loaded | Unpacked

// Back returns what a value is made of by one of some steps, or nil.
func Back(v ssa.Value, steps Step) ssa.Value {
	if of, step := madeOf(v); step&steps != 0 {
		return of
	}
	return nil
}

// Source returns what a value is made of by any number of some steps.
func Source(v ssa.Value, steps Step) ssa.Value {
	for {
		of := Back(v, steps)
		if of == nil {
			return v
		}
		v = of
	}
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
		return x.X, Converted
	case *ssa.Convert:
		return x.X, Converted
	case *ssa.TypeAssert:
		return x.X, Asserted
	case *ssa.UnOp:
		if x.Op == token.MUL {
			return x.X, Loaded
		}
	case *ssa.Extract:
		return x.Tuple, Unpacked
	}
	return nil, 0
}
