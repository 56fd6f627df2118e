package attempt

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Counter is a number that each failure increments, and that does not end the loop.
type Counter struct {
	Name     string
	Pos      token.Pos // the position of the statement that increments it
	Compared bool      // a condition reads it
}

// deadCounter returns a number that each failed attempt increments by one, or nil.
func (t *Attempt) deadCounter() *Counter {
	for _, instr := range t.Loop.Header.Instrs {
		phi, ok := instr.(*ssa.Phi)
		if !ok {
			return nil
		}
		if !isNumber(phi.Type()) || vocab.IsDuration(phi.Type()) {
			continue
		}
		for i, edge := range phi.Edges {
			sum, ok := edge.(*ssa.BinOp)
			if !ok || sum.X != ssa.Value(phi) || !t.Run.Enters(phi.Block(), i) {
				continue
			}
			if n, ok := flow.IntOf(sum.Y); ok && n == 1 && sum.Op == token.ADD {
				return &Counter{phi.Comment, sum.Pos(), isCompared(phi) || isCompared(sum)}
			}
		}
	}
	return nil
}

func isCompared(v ssa.Value) bool {
	for _, ref := range flow.Refs(v) {
		if cmp, ok := ref.(*ssa.BinOp); ok && flow.IsBool(cmp.Type()) {
			return true
		}
	}
	return false
}

// A Missed is a comparison that is meant to end the attempts, but that its counter never
// satisfies.
type Missed struct {
	Cmp   *ssa.BinOp
	Name  string // the name of the counter
	Grows bool
	Away  bool // the counter moves away from the limit; otherwise, it skips the limit
}

// misses returns the comparison of a branch, if it compares a counter with a limit that the
// counter never reaches after failures, so that the branch never leaves the loop. Otherwise it
// returns nil.
func (t *Attempt) misses(branch *ssa.If) *Missed {
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok || t.Loop.Contains(cmp.Y) || mayWrap(cmp.X.Type()) {
		return nil
	}
	x := t.numbers()
	first, known := x.int(cmp.X, 0)
	second, counted := x.int(cmp.X, 1)
	leavesIf := !t.Loop.Has(branch.Block().Succs[0]) // the truth of cmp that leaves the loop
	if !known || !counted || first == second || leavesIf == !t.Loop.Has(branch.Block().Succs[1]) {
		return nil
	}
	m := &Missed{Cmp: cmp, Name: counterName(cmp.X), Grows: second > first}
	switch cmp.Op {
	case token.EQL, token.NEQ:
		limit, isConst := flow.IntOf(cmp.Y)
		if !isConst || (cmp.Op == token.EQL) != leavesIf {
			return nil
		}
		way := limit - first
		m.Away = way != 0 && (way > 0) != m.Grows
		if m.Away || way%(second-first) != 0 {
			return m
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		// If the counter moves away from the limit, only the first comparison can leave the
		// loop.
		above := cmp.Op == token.GTR || cmp.Op == token.GEQ
		if m.Away = (above == leavesIf) != m.Grows; m.Away {
			return m
		}
	}
	return nil
}

func counterName(v ssa.Value) string {
	if sum, ok := v.(*ssa.BinOp); ok {
		v = sum.X
	}
	if phi, ok := v.(*ssa.Phi); ok {
		return phi.Comment
	}
	return v.Name()
}

// mayWrap reports whether a number can soon wrap around, because its type is unsigned or has
// few bits.
func mayWrap(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return !ok || basic.Info()&types.IsInteger == 0 || basic.Info()&types.IsUnsigned != 0 ||
		basic.Kind() == types.Int8 || basic.Kind() == types.Int16
}

// Frozen returns the conditions of loops that check an error which the loop never assigns, and
// that nothing else ends.
func (p *Package) Frozen(fn *ssa.Function) (conds []*ssa.BinOp) {
	for _, l := range flow.Loops(fn) {
		var exits []ssa.Value
		stops := false
		for _, b := range l.List {
			if i := flow.Branch(b); i != nil && !(l.Has(b.Succs[0]) && l.Has(b.Succs[1])) {
				exits = append(exits, i.Cond)
			}
			stops = stops || len(p.index(fn).stoppers[b]) > 0
		}
		if stops || len(exits) != 1 {
			continue
		}
		cmp, ok := exits[0].(*ssa.BinOp)
		if ok && flow.IsError(cmp.X.Type()) && !l.Contains(cmp.X) && !l.Contains(cmp.Y) {
			conds = append(conds, cmp)
		}
	}
	return conds
}
