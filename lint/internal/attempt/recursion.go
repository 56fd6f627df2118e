package attempt

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Recursion describes how a function calls itself after an operation has failed.
type Recursion struct {
	Calls   []*ssa.Call // the calls that follow a failure
	between set         // the blocks between two executions of the operation
}

// has reports whether the call is one of the recursive calls. The receiver may be nil.
func (r *Recursion) has(call *ssa.Call) bool { return r != nil && slices.Contains(r.Calls, call) }

// leads reports whether the attempt is a recursion and a block is between two executions of the
// operation.
func (t *Attempt) leads(b *ssa.BasicBlock) bool { return t.Recursion != nil && t.Recursion.between[b] }

// findRecursions returns the operations of a function after whose failure the function calls
// itself, but not after their success. If a recursive call takes a context, it must be the same
// one. The Loop of such an attempt is the whole function.
func (p *Package) findRecursions(fn *ssa.Function) (found []*Attempt) {
	var again, ops []*ssa.Call
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			switch {
			case !ok:
			case effect.Callee(&call.Call) != fn:
				ops = append(ops, call)
			default:
				ctx := GivenContext(&call.Call)
				if _, given := ctx.(*ssa.Parameter); given || ctx == nil {
					again = append(again, call)
				}
			}
		}
	}
	if len(again) == 0 {
		return nil
	}
	whole := flow.Whole(fn)
	for _, op := range ops {
		if isOperation(op) {
			if t := p.recursion(whole, op, again); t != nil {
				found = append(found, t)
			}
		}
	}
	return found
}

// recursion returns the attempt of a recursion whose operation is op, or nil.
func (p *Package) recursion(whole *flow.Loop, op *ssa.Call, again []*ssa.Call) *Attempt {
	e := p.endings(op)[0]
	if e.until == Unclear {
		return nil
	}
	failed, passed := p.flow.After(whole, op, e.failed), p.flow.After(whole, op, e.passed)
	if failed == nil {
		return nil
	}
	t := &Attempt{Fn: op.Parent(), Loop: whole, Op: op, Until: e.until, Ends: Leaves,
		Recursion: new(Recursion), Runs: Runs{Run: failed, Failed: failed, Passed: passed}, pkg: p}
	same := true
	for _, call := range again {
		if t.Passed.IsReached(call.Block()) {
			return nil
		}
		if t.Run.IsReached(call.Block()) {
			t.Recursion.Calls = append(t.Recursion.Calls, call)
			same = same && passesOn(call)
		}
	}
	if len(t.Recursion.Calls) == 0 {
		return nil
	}
	if t.Change, t.Evidence = t.operands(t.Run); t.Change == Changed {
		return nil
	}
	var ends []*ssa.BasicBlock
	for _, call := range t.Recursion.Calls {
		ends = append(ends, call.Block())
	}
	t.Recursion.between = flow.Before(ends, t.Run.Enters)
	for _, w := range p.index(t.Fn).waits {
		call, ok := w.At.(*ssa.Call)
		if w.At != ssa.Instruction(op) && !(ok && t.Recursion.has(call)) && t.Run.IsReached(w.At.Block()) &&
			t.leads(w.At.Block()) {
			t.Waits = append(t.Waits, w)
		}
	}
	t.Trap = t.trap(&judge{p: p, run: t.Run}, adversary)
	if !t.Traps() || !same || !t.comesBack() {
		t.Never = 0
	}
	return t
}

// callsAgain reports whether a block contains a recursive call.
func (t *Attempt) callsAgain(b *ssa.BasicBlock) bool {
	return t.Recursion != nil &&
		slices.ContainsFunc(t.Recursion.Calls, func(call *ssa.Call) bool { return call.Block() == b })
}

// passesOn reports whether a recursive call passes the arguments of its own function unchanged.
func passesOn(call *ssa.Call) bool {
	for i, param := range call.Parent().Params {
		if flow.Source(call.Call.Args[i], flow.Kept) != ssa.Value(param) { // function literals may share the variable
			return false
		}
	}
	return true
}

// comesBack reports whether a recursive call executes the operation again, because the
// conditions that decide this do not change.
func (t *Attempt) comesBack() bool {
	j := &judge{p: t.pkg, fn: t.Fn}
	before := flow.Before([]*ssa.BasicBlock{t.Op.Block()}, flow.EveryEdge)
	for b := range before {
		t.Recursion.between[b] = true
		if b == t.Op.Block() {
			continue
		}
		if len(t.pkg.index(t.Fn).stoppers[b]) > 0 {
			return false
		}
		branch := flow.Branch(b)
		if branch == nil || before[b.Succs[0]] && before[b.Succs[1]] {
			continue
		}
		t.Decisions[b] = j.why(branch.Cond)
		if t.Decisions[b]&^adversary != 0 {
			return false
		}
	}
	return true
}

// IsEndlessRecursion reports whether a recursion never stops: only a success ends it, and no
// code is visible that may change what the operation depends on.
func (t *Attempt) IsEndlessRecursion() bool {
	return t.Endless() != nil && t.sharedDoubts() > vocab.Named
}
