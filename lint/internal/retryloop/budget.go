package retryloop

import (
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// RebuiltBudget returns where a retry makes anew, for each attempt, what is to
// end it: an object that a way out asks, and that counts what it was asked.
func (r Retry) RebuiltBudget() ssa.Value {
	if r.operands == countingOperands || r.operands.areNew() {
		return nil
	}
	cycle := r.failed.cycle()
	for _, b := range r.failed.loop.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[b] || cycle[b.Succs[0]] && cycle[b.Succs[1]] {
			continue
		}
		if timer := r.rebuiltTimer(branch); timer != nil {
			return timer
		}
		asked := callBehind(branch.Cond)
		if asked == nil || asked == r.Call || !r.failed.blocks[asked.Block()] {
			continue
		}
		if budget := receiverOf(asked); budget != nil && r.isMadeAnew(budget, asked) &&
			!slices.Contains(r.Call.Common().Args, budget) {
			return budget
		}
	}
	return nil
}

// rebuiltTimer returns the timer that a case of a select waits for, if it is
// started for that select and never gets its turn. RL101 tells of it where
// nothing else ends the retry.
func (r Retry) rebuiltTimer(branch *ssa.If) ssa.Value {
	sel, n := caseOf(branch.Cond)
	if sel == nil || r.Bound == Unbounded || !r.failed.loop.isLate(sel, n) {
		return nil
	}
	if timer := timerOf(sel.States[n].Chan); timer.Block() == sel.Block() {
		return timer
	}
	return nil
}

// callBehind returns the call whose result, or error, a condition asks.
func callBehind(cond ssa.Value) *ssa.Call {
	if cmp, ok := cond.(*ssa.BinOp); ok {
		cond = cmp.X
	}
	if not, ok := cond.(*ssa.UnOp); ok {
		cond = not.X
	}
	call, _ := errorCall(cond)
	return call
}

func receiverOf(call *ssa.Call) ssa.Value {
	common := call.Common()
	if common.IsInvoke() {
		return common.Value
	}
	if common.Signature().Recv() == nil || len(common.Args) == 0 {
		return nil
	}
	return common.Args[0]
}

// isMadeAnew reports whether a round of the loop makes a value, of the same as
// every round, that counts what it is asked: it is seen to, or its type and its
// maker are named so.
func (r Retry) isMadeAnew(v ssa.Value, asked *ssa.Call) bool {
	counted := false
	s := sameness{way: r.failed, seen: map[ssa.Value]bool{}, counted: &counted}
	switch v := v.(type) {
	case *ssa.Alloc:
		method := asked.Common().StaticCallee()
		return r.failed.loop.blocks[v.Block()] && v.Block().Dominates(r.Call.Block()) && s.same(v) && !counted &&
			stepsItself(method)
	case *ssa.Call:
		fn := v.Common().StaticCallee()
		return r.failed.loop.blocks[v.Block()] && v.Block().Dominates(r.Call.Block()) && fn != nil &&
			strings.HasPrefix(strings.ToLower(fn.Name()), "new") &&
			isBudget(v.Type()) && s.sameOperands(v) && !counted
	}
	return false
}

// stepsItself reports whether a method of this package changes its receiver by
// what it was before.
func stepsItself(method *ssa.Function) bool {
	if method == nil || len(method.Params) == 0 {
		return false
	}
	return anyInstr(method, func(instr ssa.Instruction) bool {
		store, ok := instr.(*ssa.Store)
		return ok && steps(store) && root(store.Addr) == method.Params[0]
	})
}

var budgetName = regexp.MustCompile(`(?i)back-?off|budget|retry|retrier`)

func isBudget(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && budgetName.MatchString(named.Obj().Name())
}
