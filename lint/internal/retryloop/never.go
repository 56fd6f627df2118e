package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Dead says why a way out of a retry is none.
type Dead uint8

const (
	Alive        Dead = iota
	DeadContext       // it asks for the end of a context that never ends
	RebuiltClock      // it asks a clock that each round starts anew
)

// never returns what follows block b on paper only, or nil, and why: where a
// ticker is closed, a context that never ends has ended, or a clock has run out
// that the same round has started. A round that takes too long by itself is not
// thought of.
func (l *loop) never(b *ssa.BasicBlock) (*ssa.BasicBlock, Dead) {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return nil, Alive
	}
	if ctx, ended := endOf(branch); ctx != nil && NeverEnds(ctx) {
		return ended, DeadContext
	}
	if sel, n := caseOf(branch.Cond); sel != nil && l.isLate(sel, n) {
		return b.Succs[0], RebuiltClock
	}
	if x, ok := branch.Cond.(*ssa.Extract); ok && x.Index == 1 {
		if receive, ok := x.Tuple.(*ssa.UnOp); ok && receive.Op == token.ARROW && isTicker(receive.X) {
			return b.Succs[1], Alive
		}
	}
	if l.innermost[b] == l {
		if late, ok := l.asksForLate(branch.Cond); ok {
			return b.Succs[map[bool]int{true: 0, false: 1}[late]], RebuiltClock
		}
	}
	return nil, Alive
}

// noCase returns what follows block b if a select that waits has taken none of
// its cases, or nil.
func noCase(b *ssa.BasicBlock) *ssa.BasicBlock {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return nil
	}
	if sel, n := caseOf(branch.Cond); sel != nil && sel.Blocking && n == len(sel.States)-1 {
		return b.Succs[1]
	}
	return nil
}

// isTicker reports whether v is the channel of a ticker, which nobody closes.
func isTicker(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Call:
		return isNamed(v.Common().StaticCallee(), "time", "Tick")
	case *ssa.UnOp:
		field, ok := v.X.(*ssa.FieldAddr)
		return ok && isPointerToTime(field.X.Type(), "Ticker")
	}
	return false
}

// isPointerToTime reports whether t points to the named type of package time.
func isPointerToTime(t types.Type, name string) bool {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time"
}

// isOfSelect reports whether a condition asks which case a select has taken.
func isOfSelect(cond ssa.Value) bool {
	sel, _ := caseOf(cond)
	return sel != nil
}

// lastCases returns the blocks that ask whether a select of the loop has taken one of its last
// cases, where these leave the loop: they stand outside of it, since behind them nothing leads
// back.
func (l *loop) lastCases() (blocks []*ssa.BasicBlock) {
	for _, b := range l.list {
		blocks = append(blocks, l.lastCasesBehind(b)...)
	}
	return blocks
}

// lastCasesBehind returns those of a select of which block b of the loop asks for the case before.
func (l *loop) lastCasesBehind(b *ssa.BasicBlock) (blocks []*ssa.BasicBlock) {
	next := func(b *ssa.BasicBlock) int { return slices.IndexFunc(b.Succs, l.isLastCase) }
	for i := next(b); i >= 0; i = next(b) {
		b = b.Succs[i]
		blocks = append(blocks, b)
	}
	return blocks
}

func (l *loop) isLastCase(b *ssa.BasicBlock) bool {
	branch, ok := terminator(b).(*ssa.If)
	if !ok || l.blocks[b] || len(b.Preds) != 1 {
		return false
	}
	sel, _ := caseOf(branch.Cond)
	return sel != nil && l.blocks[sel.Block()]
}

// lastIn returns the block of the loop that leads to b, if that is one of its last cases, or b.
func (l *loop) lastIn(b *ssa.BasicBlock) *ssa.BasicBlock {
	for !l.blocks[b] {
		b = b.Preds[0]
	}
	return b
}

// contextAskedAt returns the context whose end block b asks for, or the last cases behind it, if
// nothing else leaves the loop by these, or nil.
func (l *loop) contextAskedAt(b *ssa.BasicBlock) ssa.Value {
	ctx := contextAsked(terminator(b).(*ssa.If).Cond)
	for i, last := range l.lastCasesBehind(b) {
		asked := contextAsked(terminator(last).(*ssa.If).Cond)
		if leaves := i == 0 && !l.blocks[b.Succs[0]]; asked == nil || (ctx != nil || leaves) && asked != ctx {
			return nil
		}
		ctx = asked
	}
	return ctx
}

// caseOf returns the select, and the index of its case, that a condition asks
// for.
func caseOf(cond ssa.Value) (*ssa.Select, int) {
	cmp, ok := cond.(*ssa.BinOp)
	if !ok || cmp.Op != token.EQL {
		return nil, 0
	}
	x, ok := cmp.X.(*ssa.Extract)
	if !ok || x.Index != 0 {
		return nil, 0
	}
	sel, ok := x.Tuple.(*ssa.Select)
	i, isIndex := cmp.Y.(*ssa.Const)
	if !ok || !isIndex {
		return nil, 0
	}
	if n, exact := constant.Int64Val(i.Value); exact && n >= 0 && int(n) < len(sel.States) {
		return sel, int(n)
	}
	return nil, 0
}

// NeverEnds reports whether v is a context that nobody can end while a loop of
// this function runs: one that never ends by itself, or one derived from such
// whose cancel function is only deferred.
func NeverEnds(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Call:
		if isNamed(v.Common().StaticCallee(), "context", "WithValue") {
			return NeverEnds(v.Common().Args[0])
		}
		return IsBackground(v)
	case *ssa.Extract:
		made, ok := v.Tuple.(*ssa.Call)
		if ok && tracer.MatchString(nameOf(made)) && IsContext(v.Type()) && GivenContext(made) != nil {
			return NeverEnds(GivenContext(made))
		}
		return ok && isNamed(made.Common().StaticCallee(), "context", "WithCancel", "WithCancelCause") &&
			NeverEnds(made.Common().Args[0]) && isOnlyDeferred(made)
	case *ssa.FreeVar:
		// The function around it may end, and run what it deferred.
		bound := bindingOf(v)
		return bound != nil && IsBackground(bound)
	case *ssa.UnOp:
		field, ok := v.X.(*ssa.FieldAddr)
		return ok && !structOf(field).Field(field.Field).Exported() && isSetOnlyTo(field, IsBackground)
	}
	return false
}

// tracer names what puts something into a context, and does not end it.
var tracer = regexp.MustCompile(`(?i)span|trace|baggage|logger`)

// isOnlyDeferred reports whether the second result of a call is called when the
// function ends, or not at all.
func isOnlyDeferred(made *ssa.Call) bool {
	return !slices.ContainsFunc(*made.Referrers(), func(ref ssa.Instruction) bool {
		x, ok := ref.(*ssa.Extract)
		return !ok || x.Index == 1 && !runsAtEnd(x)
	})
}

// runsAtEnd reports whether a function value is only used by defer statements,
// or by functions that are deferred. One that calls itself is not looked through.
func runsAtEnd(fn ssa.Value) bool { return runsAtEndBut(fn, map[ssa.Value]bool{}) }

func runsAtEndBut(fn ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[fn] || fn.Referrers() == nil {
		return false
	}
	seen[fn] = true
	return !slices.ContainsFunc(*fn.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.Defer, *ssa.DebugRef:
			return false
		case *ssa.UnOp: // of the variable that holds it
			return !runsAtEndBut(ref, seen)
		case *ssa.MakeClosure:
			return !runsAtEndBut(ref, seen)
		case *ssa.Store:
			if ref.Addr == fn {
				return false
			}
			kept, local := ref.Addr.(*ssa.Alloc)
			return !local || !runsAtEndBut(kept, seen) // others read fields and elements elsewhere
		}
		return true
	})
}
