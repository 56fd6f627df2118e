package attempt

import (
	"go/constant"
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// A Limit is a number that the executions of an operation are counted to.
type Limit struct {
	Attempts int       // at most; 0 if that is not constant
	Of       ssa.Value // what the count is compared with
	Beyond   int       // if Of is not constant: how many attempts are made beyond its value
}

// mostCounted is how far attempts are counted. More are as good as no limit.
const mostCounted = 10_000

// Limits returns the limits of a retry by its own counters: all of them apply.
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
		if compare, ok := branch.Cond.(*ssa.BinOp); ok {
			limits = t.appendLimit(limits, compare, leaves == 0)
		}
	}
	return limits
}

// Limit returns how often the operation is executed at most, or 0 if no constant says so.
func (t *Attempt) Limit() (least int) {
	for _, l := range t.Limits() {
		if l.Attempts > 0 && (least == 0 || l.Attempts < least) {
			least = l.Attempts
		}
	}
	return least
}

// isInIterations reports whether a block is executed in each iteration after which the loop goes
// on. An inner loop may execute the operation again without it.
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

// appendLimit appends the limit that a comparison is which leaves the loop if it is true, or
// if it is not.
func (t *Attempt) appendLimit(limits []Limit, compare *ssa.BinOp, leavesIf bool) []Limit {
	x, y, op := compare.X, compare.Y, compare.Op
	count, ok := t.counted(x)
	if !ok {
		x, y, op = y, x, mirrored(op)
		if count, ok = t.counted(x); !ok {
			return limits
		}
	}
	l := Limit{Of: y}
	before := compare.Block().Dominates(t.Op.Block())
	if to, ok := flow.IntOf(y); ok {
		l.Attempts = count.until(op, to, leavesIf, before)
		if l.Attempts == 0 {
			return limits
		}
		return append(limits, l)
	}
	const sample = 100
	if n := count.until(op, sample, leavesIf, before); n > 0 {
		l.Beyond = n - sample
	}
	return append(limits, l)
}

// until returns how often an operation is executed until a comparison with a number leaves the
// loop, before the operation or after it; 0 for more often than is counted.
func (p progression) until(op token.Token, to int64, leavesIf, before bool) int {
	for n := range mostCounted {
		if constant.Compare(constant.MakeInt64(p.first+int64(n)*p.step), op, constant.MakeInt64(to)) != leavesIf {
			continue
		}
		if before {
			return n
		}
		return n + 1
	}
	return 0
}

// A progression is the values of a number that each iteration changes by the same step.
type progression struct{ first, step int64 }

// counted returns the values of a number in the iterations of the loop.
func (t *Attempt) counted(v ssa.Value) (p progression, ok bool) {
	if sum, isSum := v.(*ssa.BinOp); isSum {
		by, ok := stepOf(sum)
		if !ok {
			return p, false
		}
		p, ok = t.counted(sum.X)
		p.first += by
		return p, ok
	}
	phi, isPhi := v.(*ssa.Phi)
	if !isPhi || phi.Block() != t.Loop.Header {
		return p, false
	}
	first, step := false, false
	for i, edge := range phi.Edges {
		if !t.Loop.Has(phi.Block().Preds[i]) {
			n, known := flow.IntOf(edge)
			if !known || first && n != p.first {
				return p, false
			}
			p.first, first = n, true
			continue
		}
		sum, isSum := edge.(*ssa.BinOp)
		if !isSum || sum.X != ssa.Value(phi) {
			return p, false
		}
		by, known := stepOf(sum)
		if !known || step && by != p.step {
			return p, false
		}
		p.step, step = by, true
	}
	return p, first && step
}

// CountsUp reports whether a value is a variable of the loop that each iteration increases by
// the same step.
func (t *Attempt) CountsUp(v ssa.Value) bool {
	p, ok := t.counted(v)
	return ok && p.step > 0
}

// stepOf returns what a sum or difference adds to its first operand.
func stepOf(sum *ssa.BinOp) (int64, bool) {
	n, ok := flow.IntOf(sum.Y)
	switch sum.Op {
	case token.ADD:
		return n, ok
	case token.SUB:
		return -n, ok
	}
	return 0, false
}

// mirrored returns the comparison of exchanged operands.
func mirrored(op token.Token) token.Token {
	switch op {
	case token.LSS:
		return token.GTR
	case token.GTR:
		return token.LSS
	case token.LEQ:
		return token.GEQ
	case token.GEQ:
		return token.LEQ
	}
	return op
}
