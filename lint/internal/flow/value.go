package flow

import (
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A Value describes what is known about a value at run time. It is an element of the lattice
//
//	Bottom < Nil, NonNil, constants < Top
//
// Bottom means that there is no value, because the instruction is not executed. Top means that
// any value is possible.
type Value struct {
	kind valueKind
	c    constant.Value
}

type valueKind uint8

const (
	bottom valueKind = iota
	isNil
	nonNil
	isConst
	top
)

// The elements of the lattice that are not constants.
var (
	Bottom = Value{}
	Nil    = Value{kind: isNil}
	NonNil = Value{kind: nonNil}
	Top    = Value{kind: top}
)

// Constant returns the element for a constant.
func Constant(c constant.Value) Value { return Value{isConst, c} }

// Bool returns the element for a bool.
func Bool(b bool) Value { return Constant(constant.MakeBool(b)) }

// IsKnown reports whether v is neither Bottom nor Top.
func (v Value) IsKnown() bool { return v.kind != bottom && v.kind != top }

// Truth returns the value of v if it is known to be a bool.
func (v Value) Truth() (value, known bool) {
	if v.kind != isConst || v.c.Kind() != constant.Bool {
		return false, false
	}
	return constant.BoolVal(v.c), true
}

// Equal reports whether v and w are the same element.
func (v Value) Equal(w Value) bool {
	return v.kind == w.kind &&
		(v.kind != isConst || v.c.Kind() == w.c.Kind() && constant.Compare(v.c, token.EQL, w.c))
}

// Join returns the least element above v and w.
func (v Value) Join(w Value) Value {
	switch {
	case v.kind == bottom:
		return w
	case w.kind == bottom, v.Equal(w):
		return v
	}
	return Top
}

// String returns bottom, nil, non-nil, top or the constant.
func (v Value) String() string {
	if v.kind == isConst {
		return v.c.ExactString()
	}
	return [...]string{bottom: "bottom", isNil: "nil", nonNil: "non-nil", top: "top"}[v.kind]
}

// IsNil reports whether a value is the constant nil.
func IsNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value == nil
}

// IntOf returns the value of an integer constant.
func IntOf(v ssa.Value) (int64, bool) {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(c.Value)
}

// literal returns the element for an operand that is not the result of an instruction.
func literal(v ssa.Value) (Value, bool) {
	switch v := v.(type) {
	case *ssa.Const:
		if v.Value != nil {
			return Constant(v.Value), true
		}
		switch v.Type().Underlying().(type) {
		case *types.Struct, *types.Array:
			return Top, true
		}
		if _, generic := types.Unalias(v.Type()).(*types.TypeParam); generic {
			return Top, true
		}
		return Nil, true
	case *ssa.Function, *ssa.Global, *ssa.Builtin:
		return NonNil, true
	}
	return Bottom, false
}

// zero returns the element for the zero value of type t.
func zero(t types.Type) Value {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case t.Info()&types.IsBoolean != 0:
			return Bool(false)
		case t.Info()&types.IsInteger != 0:
			return Constant(constant.MakeInt64(0))
		case t.Info()&types.IsString != 0:
			return Constant(constant.MakeString(""))
		}
	case *types.Pointer, *types.Interface, *types.Map, *types.Slice, *types.Chan, *types.Signature:
		return Nil
	}
	return Top
}

// compare returns the result of x op y.
func compare(op token.Token, x, y Value) Value {
	if x.kind == bottom || y.kind == bottom {
		return Bottom
	}
	equality := op == token.EQL || op == token.NEQ
	switch {
	case x.kind == isConst && y.kind == isConst && x.c.Kind() == y.c.Kind():
		if equality || isOrder(op) && x.c.Kind() != constant.Bool && x.c.Kind() != constant.Complex {
			return Bool(constant.Compare(x.c, op, y.c))
		}
	case !equality:
	case x.kind == isNil && y.kind == isNil:
		return Bool(op == token.EQL)
	case x.kind == isNil && y.kind == nonNil, x.kind == nonNil && y.kind == isNil:
		return Bool(op == token.NEQ)
	}
	return Top
}

func isOrder(op token.Token) bool {
	return op == token.LSS || op == token.LEQ || op == token.GTR || op == token.GEQ
}
