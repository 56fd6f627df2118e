package lint

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// hasEnded reports whether a context has ended whenever an instruction is reached: every path
// to it received from the Done channel of the context, or found that its Err is not nil. What
// is derived from an ended context has ended as well.
func hasEnded(ctx ssa.Value, at ssa.Instruction) bool {
	for ; ctx != nil; ctx = attempt.DerivedFrom(ctx) {
		if ctx = flow.Source(ctx, flow.Boxed); isSeenToEnd(ctx, at) {
			return true
		}
	}
	return false
}

// isSeenToEnd is hasEnded of one context. A literal sees what the function around it has seen.
func isSeenToEnd(ctx ssa.Value, at ssa.Instruction) bool {
	load, isLoad := ctx.(*ssa.UnOp)
	if !isLoad || load.Op != token.MUL {
		return endsIn(ctx, at)
	}
	addr := load.X
	for isAssignedOnce(addr) {
		for _, ref := range *addr.Referrers() {
			if same, ok := ref.(*ssa.UnOp); ok && endsIn(same, at) {
				return true
			}
		}
		captured, ok := addr.(*ssa.FreeVar)
		if !ok {
			return false
		}
		addr, at = flow.Binding(captured), flow.Closure(captured.Parent())
	}
	return false
}

// isAssignedOnce reports whether a local variable, perhaps a captured one, has one value only.
func isAssignedOnce(addr ssa.Value) bool {
	variable := flow.Declared(addr)
	return variable != nil && flow.OnlyStored(variable) != nil
}

// endsIn reports whether a use of a value shows on every path to an instruction that the
// context has ended.
func endsIn(ctx ssa.Value, at ssa.Instruction) bool {
	for _, ref := range *ctx.Referrers() {
		call, ok := ref.(*ssa.Call)
		if !ok || !call.Call.IsInvoke() || call.Call.Value != ctx || !flow.Known(&call.Call).Is(vocab.Ends) {
			continue
		}
		if isReceived(call, at) || isNotNil(call, at) {
			return true
		}
	}
	return false
}

// isReceived reports whether every path to an instruction receives from a channel.
func isReceived(channel ssa.Value, at ssa.Instruction) bool {
	for _, ref := range *channel.Referrers() {
		switch ref := ref.(type) {
		case *ssa.UnOp:
			if ref.Op == token.ARROW && before(ref, at) {
				return true
			}
		case *ssa.Select:
			for i, state := range ref.States {
				if state.Chan == channel && isChosen(ref, i, at.Block()) {
					return true
				}
			}
		}
	}
	return false
}

// isChosen reports whether every path to a block chooses a case of a select.
func isChosen(sel *ssa.Select, index int, b *ssa.BasicBlock) bool {
	if sel.Blocking && len(sel.States) == 1 {
		return sel.Block().Dominates(b)
	}
	for _, ref := range *sel.Referrers() {
		chosen, ok := ref.(*ssa.Extract)
		if !ok || chosen.Index != 0 {
			continue
		}
		for _, compare := range *chosen.Referrers() {
			eq, ok := compare.(*ssa.BinOp)
			if !ok || eq.Op != token.EQL {
				continue
			}
			if c, ok := eq.Y.(*ssa.Const); ok && c.Int64() == int64(index) && isDecided(eq, true, b) {
				return true
			}
		}
	}
	return false
}

// isNotNil reports whether every path to an instruction finds that an error is not nil.
func isNotNil(err ssa.Value, at ssa.Instruction) bool {
	for _, ref := range *err.Referrers() {
		compare, ok := ref.(*ssa.BinOp)
		if !ok || compare.Op != token.EQL && compare.Op != token.NEQ {
			continue
		}
		other := compare.Y
		if other == err {
			other = compare.X
		}
		if flow.IsNil(other) && isDecided(compare, compare.Op == token.NEQ, at.Block()) {
			return true
		}
	}
	return false
}

// isDecided reports whether every path to a block takes an edge on which a condition has a
// value.
func isDecided(cond ssa.Value, value bool, b *ssa.BasicBlock) bool {
	for _, ref := range *cond.Referrers() {
		branch, ok := ref.(*ssa.If)
		if !ok {
			continue
		}
		succ := branch.Block().Succs[1]
		if value {
			succ = branch.Block().Succs[0]
		}
		if len(succ.Preds) == 1 && succ.Dominates(b) {
			return true
		}
	}
	return false
}
