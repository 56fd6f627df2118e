package durablerun

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// IsRepeated reports whether the loop around a step calls the step again after a success, with
// the same id in the same scopes.
func (p *Package) IsRepeated(s *Step) bool {
	call, ok := s.Call.(*ssa.Call)
	if !ok || !s.Once || !s.Always || !s.Fixed || p.RunOf(s.Context) == InStep {
		return false
	}
	loop := flow.Around(call)
	if loop == nil || !p.isCalledAgain(call, loop) {
		return false
	}
	same := sameness{loop, map[ssa.Value]bool{}}
	return same.of(rootOf(s.Context)) && same.all(slices.Collect(scopesOf(s.Context))...) && same.all(s.ID...)
}

// isCalledAgain reports whether every iteration of a loop executes a call, and the next
// iteration may follow a success.
func (p *Package) isCalledAgain(call *ssa.Call, loop *flow.Loop) bool {
	passed := p.flow.After(loop, call, func(_ int, field *types.Var, t types.Type) flow.Value {
		if field == nil && flow.IsError(t) {
			return flow.Nil
		}
		return flow.Top
	})
	if passed == nil || !passed.Again {
		return false
	}
	return !slices.ContainsFunc(loop.Header.Preds, func(latch *ssa.BasicBlock) bool {
		return loop.Has(latch) && !call.Block().Dominates(latch)
	})
}

// A sameness determines whether values are the same in each iteration of a loop.
type sameness struct {
	loop *flow.Loop
	seen map[ssa.Value]bool
}

func (s sameness) all(values ...ssa.Value) bool {
	return !slices.ContainsFunc(values, func(v ssa.Value) bool { return !s.of(v) })
}

// of reports whether a value is the same in each iteration.
func (s sameness) of(v ssa.Value) bool {
	if s.seen[v] {
		return true // as far as it depends on itself
	}
	s.seen[v] = true
	switch v := v.(type) {
	case *ssa.Const, *ssa.Function, *ssa.Builtin:
		return true
	case *ssa.Alloc:
		return s.ofVariable(v)
	}
	if !s.loop.Contains(v) {
		return vocab.IsContext(v.Type()) || !refers(v.Type())
	}
	switch v := v.(type) {
	case *ssa.UnOp:
		variable := flow.Declared(v.X)
		return v.Op == token.MUL && variable != nil && s.ofVariable(variable)
	case *ssa.Slice:
		list := variadic(v)
		return list != nil && !slices.ContainsFunc(flow.Stores(list), func(store *ssa.Store) bool { return !s.of(store.Val) })
	case *ssa.BinOp, *ssa.Convert, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface:
		return s.ofOperands(v.(ssa.Instruction))
	case *ssa.Call:
		known := flow.Known(&v.Call)
		return known.Is(vocab.Pure) && known.Evidence >= vocab.Library && s.ofOperands(v)
	}
	return false
}

// refers reports whether values of a type refer, or may refer, to memory whose content may
// differ in each iteration.
func refers(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic, *types.Signature, *types.Chan:
		return false
	case *types.Array:
		return refers(t.Elem())
	case *types.Struct:
		for field := range t.Fields() {
			if refers(field.Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// ofOperands reports whether all operands of an instruction are the same in each iteration.
func (s sameness) ofOperands(instr ssa.Instruction) bool {
	return !slices.ContainsFunc(instr.Operands(nil), func(v *ssa.Value) bool { return *v != nil && !s.of(*v) })
}

// ofVariable reports whether a variable holds the same value in each iteration. A variable that
// each iteration creates must always be set to the same value. A variable from before the loop
// must not be set in the loop.
func (s sameness) ofVariable(variable *ssa.Alloc) bool {
	switch {
	case flow.Escapes(variable):
		return false
	case variable.Parent() != s.loop.Header.Parent():
		return flow.OnlyStored(variable) != nil // the loop is in a function literal
	}
	inner := s.loop.Contains(variable)
	return !slices.ContainsFunc(flow.Stores(variable), func(store *ssa.Store) bool {
		return s.loop.Has(store.Block()) && (!inner || !s.of(store.Val))
	})
}
