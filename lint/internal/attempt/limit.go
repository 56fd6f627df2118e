package attempt

import (
	"go/constant"

	"golang.org/x/tools/go/ssa"
)

// A Limit is a number up to which the executions of an operation are counted.
type Limit struct {
	Attempts int            // the maximum number of attempts; 0 if it is not constant
	Of       *ssa.Parameter // if it is not constant: the parameter up to which attempts are counted
	Beyond   int            // if it is not constant: the number of attempts in addition to the value of Of
}

// mostCounted is the maximum number of attempts that are counted. A higher limit is treated as
// no limit.
const mostCounted = 10_000

// Limits returns the limits that the counters of a retry set. All of them apply.
func (t *Attempt) Limits() (limits []Limit) {
	for branch := range t.Run.Branches() {
		b := branch.Block()
		if !t.isInIterations(b) {
			continue
		}
		leaves := -1
		for k, s := range b.Succs {
			if t.Run.Takes(b, k) && !(t.Loop.Has(s) && t.Run.Repeats(s)) {
				leaves = k
			}
		}
		if leaves < 0 || !t.Run.Takes(b, 1-leaves) {
			continue
		}
		const sample = 100
		switch n, of := t.until(branch, leaves == 0, sample); {
		case n > 0 && of == nil:
			limits = append(limits, Limit{Attempts: n})
		case n > 0:
			if more, _ := t.until(branch, leaves == 0, sample+1); more == n+1 {
				limits = append(limits, Limit{Of: of, Beyond: n - sample})
			}
		}
	}
	return limits
}

// Limit returns the maximum number of executions of the operation, or 0 if no constant limits
// it.
func (t *Attempt) Limit() (least int) {
	for _, l := range t.Limits() {
		if l.Attempts > 0 && (least == 0 || l.Attempts < least) {
			least = l.Attempts
		}
	}
	return least
}

// isInIterations reports whether a block is executed in each iteration that another one
// follows. An inner loop may execute the operation again without this block.
func (t *Attempt) isInIterations(b *ssa.BasicBlock) bool {
	if b.Dominates(t.Op.Block()) {
		return true
	}
	for i, latch := range t.Loop.Header.Preds {
		if t.Loop.Has(latch) && t.Run.Enters(t.Loop.Header, i) && !b.Dominates(latch) {
			return false
		}
	}
	return true
}

// until returns the number of executions of the operation until a branch leaves the loop, or 0
// if it is unknown. If the number depends on a parameter, it is computed for the value sample.
func (t *Attempt) until(branch *ssa.If, leavesIf bool, sample int64) (n int, of *ssa.Parameter) {
	x := t.numbers()
	x.assume = func(v ssa.Value) constant.Value {
		p, ok := v.(*ssa.Parameter)
		if !ok || !isNumber(p.Type()) || of != nil && of != p {
			return nil
		}
		of = p
		return constant.MakeInt64(sample)
	}
	for n := range mostCounted {
		switch holds := x.of(branch.Cond, n); {
		case holds == nil:
			return 0, nil
		case constant.BoolVal(holds) != leavesIf:
		case branch.Block().Dominates(t.Op.Block()):
			return n, of
		default:
			return n + 1, of
		}
	}
	return 0, nil
}
