package retryloop

import (
	"go/token"
	"go/types"
	"slices"
	"sync"

	"golang.org/x/tools/go/ssa"
)

// A tally tells which numbers of a package count attempts without an end.
type tally struct {
	calls func() map[*ssa.Function][]*ssa.Call // by what is called
}

func newTally(fns []*ssa.Function) tally {
	return tally{sync.OnceValue(func() map[*ssa.Function][]*ssa.Call {
		calls := map[*ssa.Function][]*ssa.Call{}
		for _, fn := range fns {
			for _, b := range fn.Blocks {
				for _, instr := range b.Instrs {
					if call, ok := instr.(*ssa.Call); ok && call.Common().StaticCallee() != nil {
						callee := Generic(call.Common().StaticCallee())
						calls[callee] = append(calls[callee], call)
					}
				}
			}
		}
		return calls
	})}
}

// isFree reports whether v, which power is made of, is made of a number that counts up and is
// never compared: a variable of the innermost loop around, one that closures share, a field,
// or what a function is given.
func (t tally) isFree(v ssa.Value, power ssa.Instruction) bool {
	if isInBounded(power) {
		return false
	}
	switch x := counterOf(v).(type) {
	case *ssa.Phi:
		l := loopOf(x)
		return l != nil && l.innermost[power.Block()] == l && l.countsFreely(x)
	case *ssa.Parameter:
		return !isExamined(x, nil, 2) && t.isGivenFree(x)
	case *ssa.UnOp:
		return t.countsOn(x)
	}
	return false
}

// isGivenFree reports whether a call in the package gives a function, as a parameter, a number
// that counts up and is never compared, and takes the result as it is.
func (t tally) isGivenFree(p *ssa.Parameter) bool {
	i := slices.Index(p.Parent().Params, p)
	return slices.ContainsFunc(t.calls()[p.Parent()], func(call *ssa.Call) bool {
		if around := innermostAround(call); isGuarded(call) || isInBounded(call) || around != nil && around.endsBy(call) {
			return false
		}
		switch x := counterOf(call.Common().Args[i]).(type) {
		case *ssa.Phi:
			l := loopOf(x)
			return l != nil && l.countsFreely(x)
		case *ssa.UnOp:
			return t.countsOn(x)
		}
		return false
	})
}

// isInBounded reports whether a loop around an instruction goes over items, or ends when it has
// gone on for often or long enough.
func isInBounded(instr ssa.Instruction) bool {
	return slices.ContainsFunc(loops(instr.Parent()), func(l *loop) bool {
		return l.blocks[instr.Block()] &&
			(l.items() || slices.ContainsFunc(slices.Concat(l.list, l.lastCases()), func(b *ssa.BasicBlock) bool {
				return l.runsOut(b) != nil
			}))
	})
}

// counterOf returns what a number is made of by conversions, constants that are added, and
// those that it is multiplied with, or nil.
func counterOf(v ssa.Value) ssa.Value {
	for {
		switch x := v.(type) {
		case *ssa.Convert:
			v = x.X
		case *ssa.BinOp:
			if x.Op != token.MUL && x.Op != token.ADD && x.Op != token.SUB {
				return nil
			}
			if isConst(x.X) {
				v = x.Y
			} else if isConst(x.Y) {
				v = x.X
			} else {
				return nil
			}
		default:
			return v
		}
	}
}

// loopOf returns the loop of which phi is a variable, or nil.
func loopOf(phi *ssa.Phi) *loop {
	for _, l := range loops(phi.Parent()) {
		if l.header == phi.Block() {
			return l
		}
	}
	return nil
}

// countsFreely reports whether each round counts up a variable of the loop that is never
// compared.
func (l *loop) countsFreely(phi *ssa.Phi) bool {
	stepped := false
	for i, edge := range phi.Edges {
		if !l.blocks[l.header.Preds[i]] || edge == phi {
			continue
		}
		step, ok := edge.(*ssa.BinOp)
		if !ok || !isStep(edge, phi) || step.Op != token.ADD {
			return false
		}
		stepped = true
	}
	return stepped && !isExamined(phi, phi, 2)
}

// countsOn reports whether a load is of a variable that closures share, or of a field, which
// the program counts up and sets back, and never compares.
func (t tally) countsOn(load *ssa.UnOp) bool {
	stepped := false
	counts := func(addr ssa.Value) bool {
		for _, ref := range *addr.Referrers() {
			switch ref := ref.(type) {
			case *ssa.DebugRef, *ssa.MakeClosure:
			case *ssa.UnOp:
				if isExamined(ref, nil, 2) {
					return false
				}
			case *ssa.Store:
				steps := isStepIn(ref)
				if ref.Addr != addr || !isConst(ref.Val) && !steps || steps && (isDecidedBy(ref) || t.isInBoundedRound(ref)) {
					return false
				}
				stepped = stepped || steps
			default:
				return false
			}
		}
		return true
	}
	if load.Op != token.MUL || !isInteger(load.Type()) {
		return false
	}
	switch at := load.X.(type) {
	case *ssa.FieldAddr:
		if structOf(at).Field(at.Field).Exported() || at.Parent().Pkg == nil || isCopied(at) {
			return false
		}
		return eachUse(at, func(use *ssa.FieldAddr) bool { return counts(use) }) && stepped
	case *ssa.FreeVar, *ssa.Alloc:
		variable := declared(at)
		return variable != nil && eachAddress(variable, counts) && stepped
	}
	return false
}

// isInBoundedRound reports whether a step is in a bounded loop, or in a function that one calls.
func (t tally) isInBoundedRound(step *ssa.Store) bool {
	return isInBounded(step) || slices.ContainsFunc(t.calls()[step.Parent()], func(call *ssa.Call) bool {
		return isInBounded(call)
	})
}

// isDecidedBy reports whether a number is only stepped where something that is made of it is
// as said.
func isDecidedBy(step *ssa.Store) bool {
	from := step.Val.(*ssa.BinOp).X.(*ssa.UnOp).X
	conds := map[ssa.Value]bool{}
	anyInstr(step.Parent(), func(instr ssa.Instruction) bool {
		load, ok := instr.(*ssa.UnOp)
		if !ok || load.Op != token.MUL || !isSamePlace(load.X, from) {
			return false
		}
		for _, use := range usesOf(load,
			func(call *ssa.Call) bool { return types.Identical(call.Type(), load.Type()) || isDuration(call.Type()) }) {
			if branch, ok := use.(*ssa.If); ok {
				conds[branch.Cond] = true
			}
		}
		return false
	})
	for b := step.Block().Idom(); b != nil; b = b.Idom() {
		if branch, ok := terminator(b).(*ssa.If); ok && conds[branch.Cond] {
			return true
		}
	}
	return false
}

// isCopied reports whether the package reads a field of a copy of its struct, or compares the
// struct as a whole.
func isCopied(field *ssa.FieldAddr) bool {
	of := structOf(field)
	return !EachFunction(field.Parent().Pkg, func(fn *ssa.Function) bool {
		return !anyInstr(fn, func(instr ssa.Instruction) bool {
			switch instr := instr.(type) {
			case *ssa.Field:
				return instr.Field == field.Field && types.Identical(instr.X.Type().Underlying(), of)
			case *ssa.BinOp:
				return types.Identical(instr.X.Type().Underlying(), of)
			}
			return false
		})
	})
}

// isSamePlace reports whether two addresses are the same, or of the same field.
func isSamePlace(a, b ssa.Value) bool {
	of, ok := a.(*ssa.FieldAddr)
	at, also := b.(*ssa.FieldAddr)
	return a == b || ok && also && isSameField(of, at)
}

// isStepIn reports whether a store adds a constant to what is stored there.
func isStepIn(store *ssa.Store) bool {
	step, ok := store.Val.(*ssa.BinOp)
	if !ok || step.Op != token.ADD || !isConst(step.Y) {
		return false
	}
	load, ok := step.X.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return false
	}
	return isSamePlace(load.X, store.Addr)
}

// declared returns the variable that a closure captures as v, or v itself, or nil.
func declared(v ssa.Value) *ssa.Alloc {
	for {
		captured, ok := v.(*ssa.FreeVar)
		if !ok {
			alloc, _ := v.(*ssa.Alloc)
			return alloc
		}
		outer, fn := captured.Parent().Parent(), captured.Parent()
		if outer == nil {
			return nil
		}
		v = nil
		anyInstr(outer, func(instr ssa.Instruction) bool {
			made, ok := instr.(*ssa.MakeClosure)
			if ok && made.Fn == ssa.Value(fn) {
				v = made.Bindings[slices.Index(fn.FreeVars, captured)]
			}
			return v != nil
		})
	}
}

// eachAddress calls do with a variable, and as what closures capture it, until it returns false.
func eachAddress(variable ssa.Value, do func(ssa.Value) bool) bool {
	return do(variable) && !slices.ContainsFunc(closuresOf(variable), func(c *ssa.MakeClosure) bool {
		for i, bound := range c.Bindings {
			if bound == variable && !eachAddress(c.Fn.(*ssa.Function).FreeVars[i], do) {
				return true
			}
		}
		return false
	})
}

// isExamined reports whether a number is compared, but with 0 or 1, or may be by what it is
// given to, but for the variable of a loop that it is the next value of. It looks depth calls
// deep into this package.
func isExamined(v ssa.Value, counter *ssa.Phi, depth int) bool {
	return slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.DebugRef:
			return false
		case *ssa.Convert:
			return isExamined(ref, counter, depth)
		case *ssa.BinOp:
			switch {
			case types.Identical(ref.Type().Underlying(), types.Typ[types.Bool]):
				return !isFirst(ref.X) && !isFirst(ref.Y)
			case ref.Op == token.SHL:
				return ref.Y != v
			}
			return counterOf(ref) == nil || isExamined(ref, counter, depth)
		case *ssa.Phi:
			return ref != counter
		case *ssa.Store:
			return !isStepIn(ref)
		case *ssa.MakeInterface:
			return !isOnlyTold(ref, 4)
		case *ssa.Call:
			fn := ref.Common().StaticCallee()
			if isTold(ref) || isNamed(fn, "math", "Pow", "Exp2") {
				return false
			}
			if fn == nil || len(fn.Blocks) == 0 || depth == 0 {
				return true
			}
			for i, arg := range ref.Common().Args {
				if arg == v && isExamined(fn.Params[i], nil, depth-1) {
					return true
				}
			}
			return false
		}
		return true
	})
}

// isFirst reports whether v is 0 or 1: a number of attempts that are not many.
func isFirst(v ssa.Value) bool {
	n, ok := whole(v)
	return ok && (n == 0 || n == 1)
}
