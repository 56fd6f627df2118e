package retryloop

import (
	"go/token"
	"go/types"
	"iter"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Overflows returns the powers that delays are made of, as whole numbers, of a number of
// attempts that nothing bounds, the delay itself neither, but for what is capped
// afterwards. A delay without a cap takes centuries to overflow.
func Overflows(fns []*ssa.Function) (found []ssa.Value) {
	t := newTally(fns)
	for _, fn := range fns {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				// What is asked first is seldom so, and soon seen.
				power, ok := instr.(ssa.Value)
				if ok && isPower(power) && becomesDuration(power, 8) && isCapped(power) && !isGuarded(power) &&
					!endsTooLarge(power) && t.isFreePower(power) {
					found = append(found, power)
				}
			}
		}
	}
	return found
}

// isPower reports whether v is shifted, or made a whole number of what may be a power.
func isPower(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.BinOp:
		return v.Op == token.SHL
	case *ssa.Convert:
		from, ok := v.X.Type().Underlying().(*types.Basic)
		return ok && from.Info()&types.IsFloat != 0 && isInteger(v.Type())
	}
	return false
}

// isFreePower reports whether what may be a power is shifted by, or has as its exponent, a
// number that counts up and is never compared.
func (t tally) isFreePower(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.BinOp:
		return t.isFree(v.Y, v)
	case *ssa.Convert:
		return t.isFreeFloat(v.X, v, 4)
	}
	return false
}

// isFreeFloat reports whether v is a power of that kind, or a multiple of one, which is not
// looked at before it is made a whole number: by then it may be capped. It looks depth
// products deep.
func (t tally) isFreeFloat(v ssa.Value, power ssa.Instruction, depth int) bool {
	if depth == 0 || v.Referrers() == nil || slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		product, ok := ref.(*ssa.BinOp)
		_, whole := ref.(*ssa.Convert)
		_, debug := ref.(*ssa.DebugRef)
		return !debug && !whole && !(ok && product.Op == token.MUL)
	}) {
		return false
	}
	switch v := v.(type) {
	case *ssa.BinOp:
		return v.Op == token.MUL && (t.isFreeFloat(v.X, power, depth-1) || t.isFreeFloat(v.Y, power, depth-1))
	case *ssa.Call:
		fn, args := v.Common().StaticCallee(), v.Common().Args
		return isNamed(fn, "math", "Pow") && isAboveOne(args[0]) && t.isFree(args[1], power) ||
			isNamed(fn, "math", "Exp2") && t.isFree(args[0], power)
	}
	return false
}

// isAboveOne reports whether v is a constant, perhaps converted, of which the powers grow.
func isAboveOne(v ssa.Value) bool {
	if conv, ok := v.(*ssa.Convert); ok {
		v = conv.X
	}
	base, ok := v.(*ssa.Const)
	return ok && base.Value != nil && base.Float64() > 1
}

// endsTooLarge reports whether the loop around a number, or the function if that has an answer
// which may say so, ends when it, or what is computed from it, is too large.
func endsTooLarge(v ssa.Value) bool {
	if l := innermostAround(v.(ssa.Instruction)); l != nil {
		return l.endsBy(v)
	}
	for result := range v.Parent().Signature.Results().Variables() {
		if isError(result.Type()) || types.Identical(result.Type().Underlying(), types.Typ[types.Bool]) {
			return true
		}
	}
	return false
}

// endsBy reports whether the loop leaves when a number, or what is computed from
// it, is too large.
func (l *loop) endsBy(v ssa.Value) bool {
	for _, use := range usesOf(v, nil) {
		branch, ok := use.(*ssa.If)
		if ok && slices.ContainsFunc(branch.Block().Succs, func(s *ssa.BasicBlock) bool { return !l.blocks[s] }) {
			return true
		}
	}
	return false
}

// isCapped reports whether a number, or what is computed from it, is compared,
// or given to what returns the smaller of two.
func isCapped(v ssa.Value) bool {
	for of, use := range usesOf(v, nil) {
		switch use := use.(type) {
		case *ssa.Call:
			if len(use.Common().Args) > 1 && types.Identical(use.Type(), of.Type()) {
				return true
			}
		case *ssa.BinOp:
			if types.Identical(use.Type().Underlying(), types.Typ[types.Bool]) {
				return true
			}
		}
	}
	return false
}

// isGuarded reports whether a number, or what is computed from it, is compared with 0, or with
// what it must not be less than as well as with what it must not be more than, or given to
// what returns the greater of two: as what has overflowed is found.
func isGuarded(v ssa.Value) bool {
	isCallOf := func(call *ssa.Call, name string) bool {
		builtin, ok := call.Common().Value.(*ssa.Builtin)
		return ok && builtin.Name() == name
	}
	less, more := false, false
	for of, use := range usesOf(v, func(call *ssa.Call) bool { return isCallOf(call, "min") }) {
		switch use := use.(type) {
		case *ssa.Call:
			if isCallOf(use, "max") {
				return true
			}
		case *ssa.BinOp:
			if !types.Identical(use.Type().Underlying(), types.Typ[types.Bool]) {
				continue
			}
			if isZero(use.X) || isZero(use.Y) {
				return true
			}
			op := use.Op
			if use.Y == of {
				op = mirrored[op]
			}
			less = less || op == token.LSS || op == token.LEQ
			more = more || op == token.GTR || op == token.GEQ
		}
	}
	return less && more
}

// GrowsOn reports whether a number is multiplied, shifted or added to where beyond says that it
// is not looked at.
func GrowsOn(v ssa.Value, beyond func(token.Pos) bool) bool {
	for _, use := range usesOf(v, nil) {
		if sum, ok := use.(*ssa.BinOp); ok && !types.Identical(sum.Type().Underlying(), types.Typ[types.Bool]) &&
			beyond(sum.Pos()) {
			return true
		}
	}
	return false
}

// usesOf yields what uses a number, or what is computed from it, with the one of them that is
// used: also what those calls return of which through says so.
func usesOf(v ssa.Value, through func(*ssa.Call) bool) iter.Seq2[ssa.Value, ssa.Instruction] {
	return func(yield func(ssa.Value, ssa.Instruction) bool) {
		seen := map[ssa.Value]bool{v: true}
		for todo := []ssa.Value{v}; len(todo) > 0; {
			v := todo[0]
			todo = todo[1:]
			if v.Referrers() == nil {
				continue
			}
			for _, use := range *v.Referrers() {
				if !yield(v, use) {
					return
				}
				switch use := use.(type) {
				case *ssa.BinOp, *ssa.Convert, *ssa.ChangeType, *ssa.Phi:
				case *ssa.Call:
					if through == nil || !through(use) {
						continue
					}
				default:
					continue
				}
				if next := use.(ssa.Value); !seen[next] {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
	}
}

// becomesDuration reports whether a value is, or is part of, a time.Duration.
func becomesDuration(v ssa.Value, depth int) bool {
	if isDuration(v.Type()) {
		return true
	}
	if depth == 0 {
		return false
	}
	return slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.BinOp, *ssa.Convert, *ssa.ChangeType:
			return becomesDuration(ref.(ssa.Value), depth-1)
		case *ssa.Call: // the smaller of two, or a part of it
			return types.Identical(ref.Type(), v.Type()) && becomesDuration(ref, depth-1)
		}
		return false
	})
}

func isDuration(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Duration" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time"
}
