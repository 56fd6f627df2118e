package retryloop

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// overwrites reports whether the way may change the memory that an operand of
// a call was read from, or points to: the next round then has another operand,
// under the same name.
func (w way) overwrites(call *ssa.Call, v ssa.Value) bool {
	of := root(v)
	if isConst(of) || w.isFresh(of) {
		return false
	}
	field := fieldOf(v)
	fn := call.Common().StaticCallee()
	for b := range w.blocks {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Store:
				if root(instr.Addr) != of || instr.Addr != of && w.isRebuiltFrom(instr.Val) {
					continue
				}
				// What the first failure sets is the same from then on.
				if stored := fieldOf(instr.Addr); !isConst(instr.Val) && !isEmpty(instr.Val) && !disjoint(field, stored) &&
					(v != of || mayRead(fn, stored, 3)) {
					return true
				}
			case ssa.CallInstruction:
				if copies(instr, of) || givesPart(instr, of, field) {
					return true
				}
				if field == nil || !isGiven(instr, of) {
					continue
				}
				if told, ok := instr.(*ssa.Call); ok && isTold(told) {
					continue
				}
				// What has the pointer itself can store where it leads to.
				if mayStore(instr.Common().StaticCallee(), field, 3) && !(isIdentity(v) && isComputedElsewhere(instr)) {
					return true
				}
			}
		}
	}
	return w.prepares(call, of, field)
}

// prepares reports whether each round assigns something else to what a call is
// given, before it is made.
func (w way) prepares(call *ssa.Call, of ssa.Value, field *ssa.FieldAddr) bool {
	var counted bool
	s := sameness{way: w, seen: map[ssa.Value]bool{}, counted: &counted}
	for b := range w.loop.between(w.loop.header, call.Block()) {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Store:
				if root(instr.Addr) == of && !disjoint(field, fieldOf(instr.Addr)) && (!s.same(instr.Val) || counted) {
					return true
				}
			case *ssa.MapUpdate:
				if root(instr.Map) == of && (!s.same(instr.Key) || !s.same(instr.Value) || counted) {
					return true
				}
			}
		}
	}
	return false
}

// isRebuiltFrom reports whether v is a result of a call that makes the same of the same
// in each round, as a body of the text that it is to hold.
func (w way) isRebuiltFrom(v ssa.Value) bool {
	call, ok := v.(*ssa.Call)
	return ok && w.computes(call)
}

// isEmpty reports whether v is a map or channel that is made where it stands: each has
// as little in it.
func isEmpty(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.MakeMap:
		return !slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
			_, puts := ref.(*ssa.MapUpdate)
			return puts
		})
	case *ssa.MakeChan:
		return true
	}
	return false
}

// isFresh reports whether v is a variable that each round makes anew. What is
// put into it is compared as operands are.
func (w way) isFresh(v ssa.Value) bool {
	alloc, ok := v.(*ssa.Alloc)
	return ok && w.loop.blocks[alloc.Block()]
}

// isComputedElsewhere reports whether a call is of a function of another package that cannot
// fail and is there for what it returns: it does not change which thing it is given.
func isComputedElsewhere(instr ssa.CallInstruction) bool {
	call, ok := instr.(*ssa.Call)
	if !ok || call.Common().Signature().Results().Len() == 0 || mayFail(call) {
		return false
	}
	fn := Generic(call.Common().StaticCallee())
	return fn != nil && fn.Blocks == nil
}

// isGiven reports whether a call has v, a part of it, or a variable of a package, to work on.
func isGiven(call ssa.CallInstruction, v ssa.Value) bool {
	common := call.Common()
	return addressed(common.Value) == v || isPackageVariable(v) ||
		slices.ContainsFunc(common.Args, func(arg ssa.Value) bool { return addressed(arg) == v })
}

// copies reports whether a call is of the builtin that copies into a list which v is.
func copies(call ssa.CallInstruction, v ssa.Value) bool {
	builtin, ok := call.Common().Value.(*ssa.Builtin)
	return ok && builtin.Name() == "copy" && root(call.Common().Args[0]) == v
}

// givesPart reports whether a call is given the address of a part of v that is no struct, and
// not of another field: what it stores there, is not looked for.
func givesPart(call ssa.CallInstruction, v ssa.Value, field *ssa.FieldAddr) bool {
	return field != nil && slices.ContainsFunc(call.Common().Args, func(arg ssa.Value) bool {
		at, ok := arg.(*ssa.FieldAddr)
		if !ok || addressed(at) != v || disjoint(fieldOf(at), field) {
			return false
		}
		_, isStruct := at.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Struct)
		return !isStruct
	})
}

// addressed returns the variable that an address is of, or of a part of.
func addressed(addr ssa.Value) ssa.Value {
	for {
		switch at := addr.(type) {
		case *ssa.FieldAddr:
			addr = at.X
		case *ssa.IndexAddr:
			addr = at.X
		case *ssa.MakeInterface:
			addr = at.X
		default:
			return addr
		}
	}
}

// Generic returns the generic function that fn is an instance of, or fn, which may be nil.
func Generic(fn *ssa.Function) *ssa.Function {
	if fn != nil && fn.Origin() != nil {
		return fn.Origin()
	}
	return fn
}

// mayStore reports whether a function may assign to a field. It looks depth
// calls deep into this package.
func mayStore(fn *ssa.Function, field *ssa.FieldAddr, depth int) bool {
	fn = Generic(fn)
	if fn == nil || depth == 0 {
		return true
	}
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Store:
				if stored := fieldOf(instr.Addr); stored == nil && isPointerTo(instr.Addr, field) ||
					stored != nil && !disjoint(field, stored) {
					return true
				}
			case ssa.CallInstruction:
				takes := slices.ContainsFunc(instr.Common().Args, func(arg ssa.Value) bool { return isPointerTo(arg, field) })
				if takes && mayStore(instr.Common().StaticCallee(), field, depth-1) {
					return true
				}
			}
		}
	}
	// Another package has no other names for our unexported fields.
	return fn.Blocks == nil && structOf(field).Field(field.Field).Exported()
}

// mayRead reports whether a function may read a field of what it is given. It
// looks depth calls deep into this package.
func mayRead(fn *ssa.Function, field *ssa.FieldAddr, depth int) bool {
	fn = Generic(fn)
	if fn == nil || fn.Blocks == nil || field == nil || depth == 0 {
		return true
	}
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.FieldAddr:
				if instr.Field == field.Field && isPointerTo(instr.X, field) && !isOnlyStored(instr) {
					return true
				}
			case *ssa.UnOp:
				if isPointerTo(instr.X, field) {
					return true // all of it
				}
			case *ssa.MakeInterface:
				if isPointerTo(instr.X, field) {
					return true
				}
			case *ssa.MakeClosure:
				if mayRead(instr.Fn.(*ssa.Function), field, depth-1) {
					return true
				}
			case ssa.CallInstruction:
				takes := slices.ContainsFunc(instr.Common().Args, func(arg ssa.Value) bool { return isPointerTo(arg, field) })
				if takes && mayRead(instr.Common().StaticCallee(), field, depth-1) {
					return true
				}
			}
		}
	}
	return false
}

// isOnlyStored reports whether nothing is done with an address but to assign.
func isOnlyStored(addr *ssa.FieldAddr) bool {
	return !slices.ContainsFunc(*addr.Referrers(), func(ref ssa.Instruction) bool {
		store, ok := ref.(*ssa.Store)
		return !ok || store.Addr != addr
	})
}

// fieldOf returns the outermost field that an address or value is part of.
func fieldOf(v ssa.Value) (field *ssa.FieldAddr) {
	for {
		if f, ok := v.(*ssa.FieldAddr); ok {
			field = f
		}
		inner := partOf(v)
		if inner == nil {
			return field
		}
		v = inner
	}
}

// disjoint reports whether two fields cannot be the same memory: they are
// different fields of one type, or of types of which none is a part of the other.
func disjoint(a, b *ssa.FieldAddr) bool {
	if a == nil || b == nil {
		return false
	}
	if isSameType(a.X.Type(), b.X.Type()) {
		return a.Field != b.Field
	}
	return !holds(structOf(a), structOf(b), 8) && !holds(structOf(b), structOf(a), 8)
}

// holds reports whether a struct, or one that is a part of it, has a part of the type of
// another, or of one that is not known. It looks depth parts deep.
func holds(outer types.Type, inner *types.Struct, depth int) bool {
	switch t := outer.Underlying().(type) {
	case *types.Struct:
		if types.IdenticalIgnoreTags(t, inner) || depth == 0 {
			return true
		}
		for field := range t.Fields() {
			if holds(field.Type(), inner, depth-1) {
				return true
			}
		}
	case *types.Array:
		return depth == 0 || holds(t.Elem(), inner, depth-1)
	case *types.Interface:
		return isTypeParam(outer)
	}
	return false
}

func isTypeParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

func isPointerTo(v ssa.Value, field *ssa.FieldAddr) bool {
	return isSameType(v.Type(), field.X.Type())
}

// isSameType reports whether two types are identical, but for the arguments of generic types,
// or pointers to those: each method has parameters of its own for them.
func isSameType(a, b types.Type) bool {
	if types.Identical(a, b) {
		return true
	}
	p, ok1 := types.Unalias(a).(*types.Pointer)
	q, ok2 := types.Unalias(b).(*types.Pointer)
	if ok1 && ok2 {
		a, b = p.Elem(), q.Elem()
	}
	m, ok1 := types.Unalias(a).(*types.Named)
	n, ok2 := types.Unalias(b).(*types.Named)
	return ok1 && ok2 && m.Origin() == n.Origin()
}

func structOf(field *ssa.FieldAddr) *types.Struct {
	return field.X.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Struct)
}

// root returns the variable that an address or value is part of.
func root(v ssa.Value) ssa.Value {
	for {
		inner := partOf(v)
		if inner == nil {
			return v
		}
		v = inner
	}
}

// partOf returns what an address or value is a part or another form of, or nil.
func partOf(v ssa.Value) ssa.Value {
	switch v.(type) {
	case *ssa.FieldAddr, *ssa.Field, *ssa.IndexAddr, *ssa.UnOp, *ssa.Slice, *ssa.MakeInterface, *ssa.ChangeInterface,
		*ssa.ChangeType:
		return *v.(ssa.Instruction).Operands(nil)[0]
	}
	return nil
}

// isPackageVariable reports whether v is the address of a variable of a package.
func isPackageVariable(v ssa.Value) bool {
	_, ok := v.(*ssa.Global)
	return ok
}

// isOfPackageVariable reports whether v is read from a variable of a package.
func isOfPackageVariable(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return false
	}
	_, ok = load.X.(*ssa.Global)
	return ok
}
