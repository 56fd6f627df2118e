package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// MissedLimit returns a comparison by which a counter of the attempts is to end
// the retry, and which it steps over, or away from. grows tells where it goes,
// past that it is beyond the limit from the first.
func (r Retry) MissedLimit() (missed *ssa.BinOp, grows, past bool) {
	if r.operands.areNew() {
		return nil, false, false
	}
	cycle := r.failed.cycle()
	for _, b := range r.failed.loop.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[b] || cycle[b.Succs[0]] == cycle[b.Succs[1]] {
			continue
		}
		cmp, ok := branch.Cond.(*ssa.BinOp)
		// Equality must lead out.
		if !ok || cmp.Op == token.EQL && cycle[b.Succs[0]] || cmp.Op == token.NEQ && cycle[b.Succs[1]] ||
			cmp.Op != token.EQL && cmp.Op != token.NEQ {
			continue
		}
		first, step, ok := r.sequence(cmp.X)
		limit, isConst := whole(cmp.Y)
		if !ok || !isConst {
			continue
		}
		way := limit - first
		if way == 0 || way%step == 0 && (way > 0) == (step > 0) {
			continue
		}
		return cmp, step > 0, (way > 0) != (step > 0)
	}
	return nil, false, false
}

// walksAway returns what would follow a branch if a counter of the failures had
// reached a limit that it goes away from, or nil.
func (r *Retry) walksAway(branch *ssa.If) *ssa.BasicBlock {
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok {
		return nil
	}
	op, counter, limit := cmp.Op, cmp.X, cmp.Y
	step := r.step(counter)
	if step == 0 {
		op, counter, limit = mirrored[op], limit, counter
		step = r.step(counter)
	}
	if instr, ok := limit.(ssa.Instruction); step == 0 || ok && r.failed.loop.blocks[instr.Block()] {
		return nil
	}
	succs, grows := branch.Block().Succs, step > 0
	switch op {
	case token.LSS, token.LEQ:
		grows = !grows
	case token.GTR, token.GEQ:
	default:
		return nil
	}
	// Once it holds it holds for ever, or once it does not.
	out := succs[0]
	if grows {
		out = succs[1]
	}
	if r.failed.loop.blocks[out] {
		return nil
	}
	r.DeadCounter = &Counter{Name: nameOfCounter(counter), Pos: cmp.Pos(), Compared: true, Away: true}
	return out
}

var mirrored = map[token.Token]token.Token{token.LSS: token.GTR, token.GTR: token.LSS, token.LEQ: token.GEQ,
	token.GEQ: token.LEQ}

// step returns by how much each failure changes a variable that may be negative,
// or that after its step, or 0 if that is not known.
func (r *Retry) step(v ssa.Value) (step int64) {
	if sum, ok := v.(*ssa.BinOp); ok {
		if _, isStep := stepOf(sum, sum.X); isStep {
			v = sum.X
		}
	}
	phi, ok := v.(*ssa.Phi)
	if !ok || phi.Block() != r.failed.loop.header || !isInteger(phi.Type()) ||
		phi.Type().Underlying().(*types.Basic).Info()&types.IsUnsigned != 0 {
		return 0
	}
	for i, edge := range phi.Edges {
		if !r.failed.enters(phi.Block().Preds[i]) {
			continue
		}
		n, ok := r.failed.stepAlong(edge, phi, 8)
		if !ok || step != 0 && n != step {
			return 0
		}
		step = n
	}
	return step
}

func nameOfCounter(v ssa.Value) string {
	if sum, ok := v.(*ssa.BinOp); ok {
		v = sum.X
	}
	return v.(*ssa.Phi).Comment
}

// sequence returns the values that the failures of a retry give a counter, by
// the first and the step.
func (r Retry) sequence(v ssa.Value) (first, step int64, ok bool) {
	already := int64(0)
	if sum, isSum := v.(*ssa.BinOp); isSum {
		if already, ok = stepOf(sum, sum.X); !ok {
			return 0, 0, false
		}
		v = sum.X
	}
	phi, ok := v.(*ssa.Phi)
	if !ok || phi.Block() != r.failed.loop.header || mayWrap(phi.Type()) {
		return 0, 0, false
	}
	begun := false
	for i, edge := range phi.Edges {
		if !r.failed.loop.blocks[phi.Block().Preds[i]] {
			n, isConst := whole(edge)
			if !isConst || begun && n != first {
				return 0, 0, false
			}
			first, begun = n, true
			continue
		}
		n, isStep := stepOf(edge, phi)
		if !isStep || n == 0 || step != 0 && n != step {
			return 0, 0, false
		}
		step = n
	}
	return first + already, step, step != 0
}

// mayWrap reports whether a number comes back to what it was after some steps: it has no
// sign, or few bits.
func mayWrap(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && (basic.Info()&types.IsUnsigned != 0 || basic.Kind() == types.Int8 || basic.Kind() == types.Int16)
}

// stepOf returns how much v is more than of.
func stepOf(v, of ssa.Value) (int64, bool) {
	sum, ok := v.(*ssa.BinOp)
	if !ok || sum.X != of {
		return 0, false
	}
	n, ok := whole(sum.Y)
	if sum.Op == token.SUB {
		n = -n
	}
	return n, ok && (sum.Op == token.ADD || sum.Op == token.SUB)
}

func whole(v ssa.Value) (int64, bool) {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(c.Value)
}
