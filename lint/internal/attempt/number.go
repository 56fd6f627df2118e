package attempt

import (
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// numbers computes numbers, and conditions on numbers, in the iterations of a loop. An unknown
// value is nil.
type numbers struct {
	run    *flow.Run                        // the run of the loop; nil: the body of a function, which is executed once
	most   bool                             // compute the maximum of a number over all iterations
	wraps  *wrap                            // records the first overflow; nil if it is not needed
	assume func(v ssa.Value) constant.Value // returns the value of an unknown number; may be nil
	known  map[ssa.Value][]constant.Value   // values of loop variables, by iteration, and of arguments
	depth  int                              // depth of the expression that is being computed
	left   *int                             // the number of values that may still be computed
}

// A wrap is the first number that overflows its type.
type wrap struct {
	at    ssa.Value
	shift *ssa.BinOp // the last left shift
	by    int64      // the number of bits by which it shifts
}

const (
	deepest  = 16      // maximum depth of an expression
	mostWork = 200_000 // maximum number of values that are computed for one query; a value is computed again at each use
)

// numbers returns the numbers of the loop if each attempt fails.
func (t *Attempt) numbers() *numbers {
	x := newNumbers()
	x.run = t.Run
	return x
}

func newNumbers() *numbers {
	left := mostWork
	return &numbers{known: map[ssa.Value][]constant.Value{}, left: &left}
}

// int returns the value of v in iteration n, if it is an integer.
func (x *numbers) int(v ssa.Value, n int) (int64, bool) {
	c := x.of(v, n)
	if c == nil || c.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(c)
}

// of returns the value of v in iteration n: a number or a bool.
func (x *numbers) of(v ssa.Value, n int) constant.Value {
	if x.depth == deepest || *x.left == 0 {
		return nil
	}
	*x.left--
	x.depth++
	defer func() { x.depth-- }()
	c := x.compute(v, n)
	if c == nil && x.assume != nil {
		c = x.assume(v)
	}
	if c == nil || !isOfKind(v.Type(), c.Kind()) {
		return nil
	}
	return c
}

// isOfKind reports whether a constant of the given kind is a number or a bool of a type.
// Constants of other types cannot be compared with each other.
func isOfKind(t types.Type, k constant.Kind) bool {
	switch k {
	case constant.Bool:
		return flow.IsBool(t)
	case constant.Int:
		return flow.IsBasic(t, types.IsInteger|types.IsFloat)
	}
	return k == constant.Float && flow.IsBasic(t, types.IsFloat)
}

func (x *numbers) compute(v ssa.Value, n int) constant.Value {
	switch v := v.(type) {
	case *ssa.Const:
		return v.Value
	case *ssa.Phi:
		return x.phi(v, n)
	case *ssa.BinOp:
		return x.binary(v, n)
	case *ssa.Convert:
		return x.keep(v, x.of(v.X, n))
	case *ssa.ChangeType:
		return x.of(v.X, n)
	case *ssa.Call:
		return x.call(v, n)
	case *ssa.Parameter:
		if args := x.known[v]; args != nil {
			return args[0]
		}
	}
	return nil
}

// phi returns the value of a variable. In the loop header, it depends on the preceding
// iteration.
func (x *numbers) phi(v *ssa.Phi, n int) constant.Value {
	switch {
	case x.most:
		n = 0
	case x.run == nil || v.Block() != x.run.Loop.Header:
		if i := x.entered(v.Block(), n); i >= 0 {
			return x.of(v.Edges[i], n)
		}
		return nil
	}
	for k := len(x.known[v]); k <= n; k++ {
		x.known[v] = append(x.known[v], nil) // for a cycle
		x.known[v][k] = x.brought(v, k)
	}
	return x.known[v][n]
}

// brought returns the value with which a variable enters a block. For a loop variable, that is
// its value at the start of iteration n.
func (x *numbers) brought(v *ssa.Phi, n int) (value constant.Value) {
	for i, e := range v.Edges {
		if x.most && e == ssa.Value(v) || !x.most && !x.brings(v.Block(), i, n) {
			continue
		}
		c := x.of(e, max(n-1, 0))
		switch {
		case c == nil:
			return nil
		case value == nil, x.most && c.Kind() != constant.Bool && constant.Compare(c, token.GTR, value):
			value = c
		case (!x.most || c.Kind() == constant.Bool) && !constant.Compare(c, token.EQL, value):
			return nil
		}
	}
	return value
}

// brings reports whether iteration n may begin with edge i into the header.
func (x *numbers) brings(header *ssa.BasicBlock, i, n int) bool {
	inside := x.run.Loop.Has(header.Preds[i])
	return inside == (n > 0) && (!inside || x.run.Enters(header, i))
}

// entered returns the index of the predecessor from which iteration n enters a block, or -1 if
// it is unknown.
func (x *numbers) entered(b *ssa.BasicBlock, n int) int {
	from := b.Idom()
	for range b.Parent().Blocks {
		next := x.next(from, n)
		if next == b {
			return slices.Index(b.Preds, from)
		}
		if next == nil || x.run != nil && next == x.run.Loop.Header {
			break
		}
		from = next
	}
	return -1
}

// next returns the block that iteration n executes after b, or nil if it is unknown.
func (x *numbers) next(b *ssa.BasicBlock, n int) *ssa.BasicBlock {
	var next []*ssa.BasicBlock
	for k, s := range b.Succs {
		if x.run == nil || x.run.Takes(b, k) {
			next = append(next, s)
		}
	}
	switch len(next) {
	case 1:
		return next[0]
	case 2:
		if holds := x.of(flow.Branch(b).Cond, n); holds != nil && !constant.BoolVal(holds) {
			return next[1]
		} else if holds != nil {
			return next[0]
		}
	}
	return nil
}

func (x *numbers) binary(v *ssa.BinOp, n int) constant.Value {
	a, b, op := x.of(v.X, n), x.of(v.Y, n), v.Op
	_, fixed := v.Y.(*ssa.Const)
	switch atMost := x.most || x.wraps != nil; {
	case atMost && !fixed && (op == token.SUB || op == token.QUO || op == token.REM):
		return a
	case a == nil || b == nil || !isNumber(v.X.Type()):
		return nil
	case flow.IsBool(v.Type()):
		return constant.MakeBool(constant.Compare(a, op, b))
	}
	switch op {
	case token.SHL, token.SHR:
		return x.shift(v, a, b)
	case token.QUO, token.REM:
		if constant.Sign(b) == 0 {
			return nil
		}
		if op == token.QUO && flow.IsBasic(v.Type(), types.IsInteger) {
			op = token.QUO_ASSIGN // package constant uses this token for integer division
		}
	}
	return x.keep(v, constant.BinaryOp(a, op, b))
}

// shift returns the result of a shift.
func (x *numbers) shift(v *ssa.BinOp, number, by constant.Value) constant.Value {
	n, ok := constant.Int64Val(by)
	if !ok || n < 0 || n > 1000 {
		return nil
	}
	if v.Op == token.SHL && x.wraps != nil {
		x.wraps.shift, x.wraps.by = v, n
	}
	return x.keep(v, constant.Shift(number, v.Op, uint(n)))
}

// call returns the result of a call.
func (x *numbers) call(call *ssa.Call, n int) constant.Value {
	var args []constant.Value
	complete := true
	for _, arg := range call.Call.Args {
		c := x.of(arg, n)
		complete = complete && c != nil
		args = append(args, c)
	}
	_, fn := flow.StaticCallee(&call.Call)
	builtin, _ := call.Call.Value.(*ssa.Builtin)
	switch {
	case builtin != nil && builtin.Name() == "min" && (complete || x.most):
		return extreme(args, token.LSS)
	case builtin != nil && builtin.Name() == "max" && complete:
		return extreme(args, token.GTR)
	case builtin != nil:
	case known(&call.Call).Is(vocab.Random) && (x.most || x.wraps != nil):
		return x.random(call, args)
	case x.most && known(&call.Call).Is(vocab.Clock) && vocab.IsDuration(call.Type()):
		return x.until(call, n)
	case fn != nil && !x.most && len(fn.Params) == len(args) && fn.Signature.Results().Len() == 1:
		return x.body(fn, args)
	}
	return nil
}

// until returns the maximum time until a point in time that is a duration after another one, if
// the latter is not in the future.
func (x *numbers) until(call *ssa.Call, n int) constant.Value {
	i := known(&call.Call).Duration
	if i < 0 {
		return nil
	}
	add, ok := flow.Arguments(&call.Call)[i].(*ssa.Call)
	if !ok || !known(&add.Call).Is(vocab.Adds) {
		return nil
	}
	return x.of(flow.Arguments(&add.Call)[known(&add.Call).Duration], n)
}

// random returns the maximum of a random number: the last argument, or a duration increased by
// a fraction of it, or 1.
func (x *numbers) random(call *ssa.Call, args []constant.Value) constant.Value {
	one, d := constant.MakeInt64(1), known(&call.Call).Duration
	switch {
	case len(args) == 2 && d >= 0 && args[0] != nil && args[1] != nil:
		return x.keep(call, constant.BinaryOp(args[d], token.MUL, constant.BinaryOp(one, token.ADD, args[1-d])))
	case len(args) > 0 && d < 0 && args[len(args)-1] != nil:
		return args[len(args)-1]
	case flow.IsBasic(call.Type(), types.IsFloat):
		return one
	}
	return nil
}

// extreme returns the least or the greatest of some numbers, depending on order.
func extreme(numbers []constant.Value, order token.Token) (best constant.Value) {
	for _, c := range numbers {
		if c != nil && (best == nil || constant.Compare(c, order, best)) {
			best = c
		}
	}
	return best
}

// body returns the result of a function that is called with the given arguments.
func (x *numbers) body(fn *ssa.Function, args []constant.Value) constant.Value {
	y := newNumbers()
	y.wraps, y.assume, y.depth, y.left = x.wraps, x.assume, x.depth, x.left
	for i, p := range fn.Params {
		y.known[p] = []constant.Value{args[i]}
	}
	b := fn.Blocks[0]
	for i := 0; i < len(fn.Blocks) && b != nil; i++ {
		if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			return y.of(ret.Results[0], 0)
		}
		b = y.next(b, 0)
	}
	return nil
}

// sizes are the type sizes on most machines.
var sizes = types.SizesFor("gc", "amd64")

// keep returns the part of a number that a variable of v's type can hold. For an integer, that
// is its lowest bits.
func (x *numbers) keep(v ssa.Value, c constant.Value) constant.Value {
	basic, ok := v.Type().Underlying().(*types.Basic)
	if c == nil || c.Kind() == constant.Unknown || !ok || basic.Info()&types.IsInteger == 0 {
		return c
	}
	kept := c
	if c.Kind() == constant.Float {
		kept = constant.MakeInt64(math.MinInt64) // the result of a conversion that is too large, on most processors
		if f, _ := constant.Float64Val(c); math.Abs(f) < 1<<63 {
			c = constant.MakeInt64(int64(f))
			kept = c
		}
	}
	if x.most {
		return c
	}
	bits := uint(sizes.Sizeof(basic)) * 8
	all := constant.Shift(constant.MakeInt64(1), token.SHL, bits)
	kept = constant.BinaryOp(kept, token.AND, constant.BinaryOp(all, token.SUB, constant.MakeInt64(1)))
	if basic.Info()&types.IsUnsigned == 0 && constant.BitLen(kept) == int(bits) {
		kept = constant.BinaryOp(kept, token.SUB, all)
	}
	if x.wraps != nil && x.wraps.at == nil && !constant.Compare(kept, token.EQL, c) {
		x.wraps.at = v
	}
	return kept
}
