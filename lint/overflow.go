package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Overflow reports RL107.
var Overflow = newRule("backoffoverflow", runOverflow, []string{"RL107"}, attempts)

func runOverflow(pass *analysis.Pass, r *report) {
	var order []ssa.Value
	best := map[ssa.Value]Evidence{}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		for _, power := range overflows(t) {
			if _, known := best[power]; !known {
				order = append(order, power)
			}
			best[power] = max(best[power], t.Evidence)
		}
	}
	for _, power := range order {
		if file := fileOf(pass, power.Pos()); file != nil && !ast.IsGenerated(file) {
			r.finding(analysis.Diagnostic{
				Pos:            power.Pos(),
				Message:        "this delay overflows after many attempts: limit the exponent, not the result",
				SuggestedFixes: clampFix(pass, file, power),
			}, best[power], "RL107")
		}
	}
}

// overflows returns the powers that delays of a loop are made of, as whole numbers, whose
// exponent counts the attempts, which nothing ends, and that are limited only afterwards. A
// delay without a limit takes centuries to overflow.
func overflows(t *attempt.Attempt) (found []ssa.Value) {
	if t.Exits()&(attempt.Count|attempt.Clock|attempt.Item) != 0 {
		return nil
	}
	for instr := range flow.Instructions(t.Loop.List) {
		switch v := instr.(type) {
		case *ssa.BinOp, *ssa.Convert:
			power := v.(ssa.Value)
			if isFree(t, exponentOf(power), nil) && overflowsSilently(power, t.Loop) {
				found = append(found, power)
			}
		case *ssa.Call:
			found = append(found, overflowsIn(t, v)...)
		}
	}
	return found
}

// overflowsIn returns such powers in a function that a loop gives the number of attempts.
func overflowsIn(t *attempt.Attempt, call *ssa.Call) (found []ssa.Value) {
	_, fn := flow.StaticCallee(&call.Call)
	if fn == nil || len(fn.Params) != len(call.Call.Args) || fn.Signature.Results().Len() != 1 {
		return nil // another result may say that it is too large
	}
	for i, p := range fn.Params {
		if !isFree(t, counterOf(call.Call.Args[i]), call) || isLookedAt(p, nil) {
			continue
		}
		if f := fateOf(call, t.Loop); f.isGuarded() || f.ends {
			continue
		}
		for instr := range flow.Instructions(fn.Blocks) {
			power, ok := instr.(ssa.Value)
			if ok && exponentOf(power) == ssa.Value(p) && overflowsSilently(power, nil) {
				found = append(found, power)
			}
		}
	}
	return found
}

// isFree reports whether a value is a counter of a loop that nothing looks at besides a call.
func isFree(t *attempt.Attempt, counter ssa.Value, by *ssa.Call) bool {
	return counter != nil && t.CountsUp(counter) && !isLookedAt(counter, by)
}

// exponentOf returns what a number is shifted by, or the exponent of a power of which it is made
// as a whole number, without what is added to it, or nil.
func exponentOf(power ssa.Value) ssa.Value {
	switch v := power.(type) {
	case *ssa.BinOp:
		if v.Op == token.SHL {
			return counterOf(v.Y)
		}
	case *ssa.Convert:
		if flow.IsBasic(v.X.Type(), types.IsFloat) && flow.IsBasic(v.Type(), types.IsInteger) {
			return floatExponentOf(v.X)
		}
	}
	return nil
}

// floatExponentOf returns the exponent of a power, or of a product with one, that is not looked
// at before it is made a whole number: by then it may be limited.
func floatExponentOf(v ssa.Value) ssa.Value {
	if v.Referrers() == nil || slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		product, ok := ref.(*ssa.BinOp)
		_, whole := ref.(*ssa.Convert)
		return !whole && !(ok && product.Op == token.MUL)
	}) {
		return nil
	}
	switch v := v.(type) {
	case *ssa.BinOp:
		if v.Op == token.MUL {
			if x := floatExponentOf(v.X); x != nil {
				return x
			}
			return floatExponentOf(v.Y)
		}
	case *ssa.Call:
		switch {
		case isCallOf(v, "math", "Exp2"):
			return counterOf(v.Call.Args[0])
		case isCallOf(v, "math", "Pow") && isAboveOne(v.Call.Args[0]):
			return counterOf(v.Call.Args[1])
		}
	}
	return nil
}

// isAboveOne reports whether v is a constant, perhaps converted, whose powers grow.
func isAboveOne(v ssa.Value) bool {
	if conv, ok := v.(*ssa.Convert); ok {
		v = conv.X
	}
	base, ok := v.(*ssa.Const)
	return ok && base.Value != nil && base.Float64() > 1
}

// counterOf returns the variable or parameter that a number is made of by conversions, and by
// constants that are added or that it is multiplied with.
func counterOf(v ssa.Value) ssa.Value {
	for {
		switch x := v.(type) {
		case *ssa.Convert:
			v = x.X
		case *ssa.BinOp:
			v = x.X
			if _, ok := v.(*ssa.Const); ok {
				v = x.Y
			} else if _, ok := x.Y.(*ssa.Const); !ok || x.Op != token.MUL && x.Op != token.ADD && x.Op != token.SUB {
				return nil
			}
		default:
			return v
		}
	}
}

// isLookedAt reports whether anything besides a call may depend on how large a counter is: it
// is more than computed with, logged, and compared for one of its values.
func isLookedAt(counter ssa.Value, by *ssa.Call) bool {
	through := func(v ssa.Value) bool {
		op, ok := v.(*ssa.BinOp)
		return exponentOf(v) == nil && !(ok && flow.IsBool(op.Type()))
	}
	for _, use := range dependents(counter, through) {
		switch use := use.(type) {
		case *ssa.BinOp:
			if flow.IsBool(use.Type()) && use.Op != token.EQL && use.Op != token.NEQ {
				return true
			}
		case *ssa.Call:
			obj, _ := flow.StaticCallee(&use.Call)
			if use != by && (obj == nil || !vocab.Of(obj).Is(vocab.Logs|vocab.Pure)) {
				return true
			}
		case *ssa.Convert, *ssa.ChangeType, *ssa.Phi, *ssa.MakeInterface, *ssa.DebugRef:
		default:
			return true
		}
	}
	return false
}

// overflowsSilently reports whether a power becomes a delay that is limited, but not checked for
// an overflow, and does not end the loop around it.
func overflowsSilently(power ssa.Value, loop *flow.Loop) bool {
	f := fateOf(power, loop)
	return f.delays && f.capped && !f.isGuarded() && !f.ends
}

// A fate is what happens to a number, and to what is computed from it.
type fate struct {
	delays bool // it becomes a duration
	capped bool // it is compared, or the smaller of two is taken
	below  bool // it is compared with what it must not be less than
	above  bool // it is compared with what it must not be more than
	judged bool // it is compared with 0, or given to a function that may limit it
	ends   bool // a branch on it leaves the loop
}

// isGuarded reports whether a number that has overflowed is found.
func (f fate) isGuarded() bool { return f.judged || f.below && f.above }

func fateOf(v ssa.Value, loop *flow.Loop) fate {
	f := fate{delays: vocab.IsDuration(v.Type())}
	for of, use := range dependents(v, func(ssa.Value) bool { return true }) {
		if v, ok := use.(ssa.Value); ok && computed(use) != nil {
			f.delays = f.delays || vocab.IsDuration(v.Type())
		}
		switch use := use.(type) {
		case *ssa.If:
			f.ends = f.ends || loop != nil && !(loop.Has(use.Block().Succs[0]) && loop.Has(use.Block().Succs[1]))
		case *ssa.Call:
			least := isLeast(use)
			f.capped = f.capped || least
			f.judged = f.judged || !least && types.Identical(use.Type(), of.Type())
		case *ssa.BinOp:
			if flow.IsBool(use.Type()) {
				f.compare(use, of)
			}
		}
	}
	return f
}

// compare adds a comparison of a number.
func (f *fate) compare(cmp *ssa.BinOp, number ssa.Value) {
	less := cmp.Op == token.LSS || cmp.Op == token.LEQ
	below := less == (cmp.X == number)
	f.capped, f.judged = true, f.judged || isZero(cmp.X) || isZero(cmp.Y)
	f.below, f.above = f.below || below, f.above || !below
}

// isLeast reports whether a call is of the builtin function min.
func isLeast(call *ssa.Call) bool {
	builtin, ok := call.Call.Value.(*ssa.Builtin)
	return ok && builtin.Name() == "min"
}

// growsOn reports whether a number is multiplied, shifted or added to outside of an expression.
func growsOn(v ssa.Value, whole ast.Node) bool {
	for _, use := range dependents(v, func(ssa.Value) bool { return true }) {
		sum, ok := use.(*ssa.BinOp)
		if ok && !flow.IsBool(sum.Type()) && (sum.Pos() < whole.Pos() || whole.End() <= sum.Pos()) {
			return true
		}
	}
	return false
}

// dependents yields what uses a number, or what is computed from it, with the one of them that is
// used. It follows those of which through says so.
func dependents(v ssa.Value, through func(ssa.Value) bool) func(func(ssa.Value, ssa.Instruction) bool) {
	return func(yield func(ssa.Value, ssa.Instruction) bool) {
		seen := map[ssa.Value]bool{v: true}
		for todo := []ssa.Value{v}; len(todo) > 0; todo = todo[1:] {
			for _, use := range flow.Refs(todo[0]) {
				if !yield(todo[0], use) {
					return
				}
				if next := computed(use); next != nil && !seen[next] && through(next) {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
	}
}

// computed returns the number or bool that an instruction computes from one that it has, or nil.
func computed(instr ssa.Instruction) ssa.Value {
	switch v := instr.(type) {
	case *ssa.BinOp, *ssa.Convert, *ssa.ChangeType, *ssa.Phi:
		return v.(ssa.Value)
	case *ssa.Call:
		if isLeast(v) {
			return v
		}
	}
	return nil
}
