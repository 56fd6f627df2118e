package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// setBySuccess reports whether a field that the loop reads is one that only a
// success of the call sets, and that ends the loop: the call itself sets it, or
// what follows a success. Others may only take it back.
func (c classification) setBySuccess(field *ssa.FieldAddr) bool {
	if structOf(field).Field(field.Field).Exported() || !c.failed.loop.leavesWhenSet(field) {
		return false
	}
	parent := field.Parent()
	if parent.Pkg == nil {
		return false
	}
	callee := c.tried.Common().StaticCallee()
	set := false
	ok := EachFunction(parent.Pkg, func(fn *ssa.Function) bool {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				switch instr := instr.(type) {
				case *ssa.FieldAddr:
					if isSameField(instr, field) && !isPlain(instr) {
						return false // its address goes elsewhere
					}
				case *ssa.Store:
					at, ok := instr.Addr.(*ssa.FieldAddr)
					if !ok || !isSameField(at, field) || isZero(instr.Val) {
						continue
					}
					_, made := root(at).(*ssa.Alloc)
					switch {
					case fn == parent && (c.failed.loop.blocks[b] || c.succeeded.to.Dominates(b)):
						if c.failed.blocks[b] {
							return false
						}
						set = true
					case fn == callee && isFlag(at) && !mayHaveFailed(b):
						set = true
					case !made:
						return false
					}
				}
			}
		}
		return true
	})
	*c.set = *c.set || ok && set
	return ok && set
}

// mayHaveFailed reports whether block b runs where an error is not nil: that one is, or
// that one and another condition are, is asked before.
func mayHaveFailed(b *ssa.BasicBlock) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		if failing := failingEdge(b.Idom()); failing != nil && failing.Dominates(b) && len(failing.Preds) == 1 {
			return true
		}
	}
	return false
}

// isFlag reports whether a field is a bool, or something that may be nil: numbers and
// texts are set by failures as well.
func isFlag(field *ssa.FieldAddr) bool {
	basic, ok := structOf(field).Field(field.Field).Type().Underlying().(*types.Basic)
	return !ok || basic.Kind() == types.Bool
}

// isSettled reports whether a field is a setting: a bool, number or text that nothing in
// the package assigns to but what makes the object.
func isSettled(field *ssa.FieldAddr) bool {
	f := structOf(field).Field(field.Field)
	_, ok := f.Type().Underlying().(*types.Basic)
	if !ok || f.Exported() || field.Parent().Pkg == nil {
		return false
	}
	made := false
	return eachUse(field, func(at *ssa.FieldAddr) bool {
		_, local := root(at).(*ssa.Alloc)
		if !isPlain(at) || !local && !isOnlyRead(at) {
			return false
		}
		made = made || local && !isOnlyRead(at)
		return true
	}) && made && !isOverwritten(field)
}

// isOverwritten reports whether the package assigns a whole struct to what a pointer leads to,
// of the type that a field is of.
func isOverwritten(field *ssa.FieldAddr) bool {
	return !EachFunction(field.Parent().Pkg, func(fn *ssa.Function) bool {
		return !anyInstr(fn, func(instr ssa.Instruction) bool {
			store, ok := instr.(*ssa.Store)
			if !ok || !isSameType(store.Addr.Type(), field.X.Type()) {
				return false
			}
			_, local := store.Addr.(*ssa.Alloc)
			return !local
		})
	})
}

// isSetOnlyTo reports whether the package assigns to a field, and nothing but what is
// as said.
func isSetOnlyTo(field *ssa.FieldAddr, is func(ssa.Value) bool) bool {
	if field.Parent().Pkg == nil {
		return false
	}
	set := false
	return eachUse(field, func(at *ssa.FieldAddr) bool {
		for _, store := range storesTo(at) {
			if !is(store.Val) {
				return false
			}
			set = true
		}
		return true
	}) && set
}

// eachUse calls do with each place of the package that uses a field, until it
// returns false.
func eachUse(field *ssa.FieldAddr, do func(*ssa.FieldAddr) bool) bool {
	return EachFunction(field.Parent().Pkg, func(fn *ssa.Function) bool {
		return !anyInstr(fn, func(instr ssa.Instruction) bool {
			at, ok := instr.(*ssa.FieldAddr)
			return ok && isSameField(at, field) && !do(at)
		})
	})
}

// assignsTo reports whether the loop assigns to a field.
func (l *loop) assignsTo(field *ssa.FieldAddr) bool {
	return l.anyInstr(func(instr ssa.Instruction) bool {
		store, ok := instr.(*ssa.Store)
		if !ok {
			return false
		}
		at, ok := store.Addr.(*ssa.FieldAddr)
		return ok && isSameField(at, field)
	})
}

// handsOn reports whether the loop gives the object of a field to a function of this
// package that may assign to the field.
func (l *loop) handsOn(field *ssa.FieldAddr) bool {
	return l.anyInstr(func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		if !ok || !isGiven(call, root(field)) {
			return false
		}
		fn := call.Common().StaticCallee()
		return fn != nil && len(fn.Blocks) > 0 && mayStore(fn, field, 3)
	})
}

var setting = regexp.MustCompile(`(?i)conf(ig)?$|cfg$|options$|opts$|settings$|flags$|params$`)

// isSetting reports whether a field is taken to be one of the program's settings, which stay
// the same while it runs: by the name of the variable, field or type that it is a part of.
func isSetting(field *ssa.FieldAddr) bool {
	for v := ssa.Value(field); v != nil; v = partOf(v) {
		t := v.Type()
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		named, ok := types.Unalias(t).(*types.Named)
		if ok && v != ssa.Value(field) && setting.MatchString(named.Obj().Name()) {
			return true
		}
		if v != ssa.Value(field) && setting.MatchString(nameOfValue(v)) {
			return true
		}
	}
	return false
}

// isLeftAlone reports whether a field is that of a local variable which the loop
// neither assigns to nor hands on.
func (c classification) isLeftAlone(field *ssa.FieldAddr) bool {
	alloc, ok := field.X.(*ssa.Alloc)
	if !ok {
		return false
	}
	return !slices.ContainsFunc(*alloc.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.FieldAddr:
			return ref.Field == field.Field && !isOnlyRead(ref) && c.failed.loop.blocks[ref.Block()] ||
				!isPlain(ref) && ref.Field == field.Field
		case *ssa.UnOp, *ssa.DebugRef:
			return false
		case *ssa.Store:
			return ref.Addr != alloc || c.failed.loop.blocks[ref.Block()]
		}
		return true
	})
}

func isOnlyRead(addr *ssa.FieldAddr) bool {
	return !slices.ContainsFunc(*addr.Referrers(), func(ref ssa.Instruction) bool {
		_, stores := ref.(*ssa.Store)
		return stores
	})
}

// leavesWhenSet reports whether the loop asks for a field only to leave when it
// is true, or not nil.
func (l *loop) leavesWhenSet(field *ssa.FieldAddr) bool {
	for _, ref := range *field.Referrers() {
		load, ok := ref.(*ssa.UnOp)
		if !ok {
			continue
		}
		for _, use := range *load.Referrers() {
			leaves := 0 // the successor of the branch
			if cmp, ok := use.(*ssa.BinOp); ok && isZero(cmp.Y) && len(*cmp.Referrers()) == 1 {
				if cmp.Op == token.EQL {
					leaves = 1
				}
				use = (*cmp.Referrers())[0]
			}
			branch, ok := use.(*ssa.If)
			if !ok || l.blocks[branch.Block().Succs[leaves]] {
				return false
			}
		}
	}
	return true
}

func isSameField(a, b *ssa.FieldAddr) bool {
	return a.Field == b.Field && isSameType(a.X.Type(), b.X.Type())
}

// isPlain reports whether a field is only read and assigned to.
func isPlain(field *ssa.FieldAddr) bool {
	return !slices.ContainsFunc(*field.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.UnOp, *ssa.DebugRef:
			return false
		case *ssa.Store:
			return ref.Addr != field
		}
		return true
	})
}

// isZero reports whether v is the constant that a variable begins with.
func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	if !ok {
		return false
	}
	if c.Value == nil {
		return true
	}
	switch c.Value.Kind() {
	case constant.Bool:
		return !constant.BoolVal(c.Value)
	case constant.Int:
		return constant.Sign(c.Value) == 0
	case constant.String:
		return constant.StringVal(c.Value) == ""
	}
	return false
}

// EachFunction calls do with the functions, methods and function literals of a
// package until it returns false.
func EachFunction(pkg *ssa.Package, do func(*ssa.Function) bool) bool {
	var all func(*ssa.Function) bool
	all = func(fn *ssa.Function) bool {
		return do(fn) && !slices.ContainsFunc(fn.AnonFuncs, func(in *ssa.Function) bool { return !all(in) })
	}
	for _, m := range pkg.Members {
		switch m := m.(type) {
		case *ssa.Function:
			if !all(m) {
				return false
			}
		case *ssa.Type:
			named, ok := types.Unalias(m.Type()).(*types.Named)
			if !ok {
				continue
			}
			for method := range named.Methods() {
				if fn := pkg.Prog.FuncValue(method); fn != nil && !all(fn) {
					return false
				}
			}
		}
	}
	return true
}
