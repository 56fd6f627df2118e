// Package retryloop recognises retries in SSA form.
//
// A loop is a retry of a call when it asks inside of it whether the call has
// failed, the failing branch can reach the call again with the same operands, and
// the succeeding branch leaves the loop or changes them. The last separates
// retries from daemons, the second from pages and alternatives. That a call has
// failed its error says, or that of what it returns, a bool that it returns in
// place of one, one class of errors, or the status of a response.
package retryloop

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Bound says what is known of the end of a retry.
type Bound uint8

// Only what is proven is Unbounded, or ended by nothing but a context.
const (
	Unknown Bound = iota
	Unbounded
	ByContext
)

// A Retry is a loop that makes the same call again after it failed.
type Retry struct {
	Call        *ssa.Call
	Bound       Bound
	Context     ssa.Value // what ends it, if that is a context
	Classified  bool      // a way out asks which error it was
	IsFor       bool      // made by a for statement, not by goto
	OfItems     bool      // tried for each of several items, from the first on
	Dead        Dead      // why a way out is none, if one is not
	Wanted      Answer    // what ends it that the caller's function answers, if that says how it went
	DeadCounter *Counter  // a counter of attempts that no exit reads, if there is one

	failed, succeeded way
	recognised        bool // what failed is known by its class, not by that it is not nil
	sets              bool // a way out asks for a field that a success sets
	remade            bool // what makes its object anew may end it
	first             bool // after its success something else may fail and lead back
	operands          operands
	told              bool // its errors are only told, and a bool says how it went
	untiring          bool // nothing ends it but a context, what classifies the error, and what the call sees to itself
}

// An Answer is a bool by which a function says how it went that is given to a helper.
type Answer uint8

// Most functions say it by an error.
const (
	NoError Answer = iota
	True
	False
)

// A Counter is a variable that failures count.
type Counter struct {
	Name     string
	Pos      token.Pos // where it is counted, if that is known
	Compared bool      // with anything, though no way out depends on it
	Passed   bool      // a way out depends on it, which some failures go past
	Away     bool      // compared with a limit that it goes away from
}

// Name returns the name of what is called to try.
func (r Retry) Name() string { return NameOf(r.Attempt()) }

// Attempt returns what is called to try: with a context, where the retried call only asks
// the answer to that how it went, as Get(ctx, key).Result() does.
func (r Retry) Attempt() *ssa.Call {
	made := answeredBy(r.Call)
	if made == nil || GivenContext(made) == nil || len(errorsOf(made)) > 0 || receiverOf(made) == nil || isMade(made) ||
		!onlyFills(r.Call) || !r.failed.loop.blocks[made.Block()] {
		return r.Call
	}
	return made
}

// MakesRequest reports whether what is tried only makes a request, which another call sends.
func (r Retry) MakesRequest() bool { return isBuilt(r.Call) }

// onlyFills reports whether a call is told nothing but what to put its answer into.
func onlyFills(call *ssa.Call) bool {
	for p := range call.Common().Signature().Params().Variables() {
		t := p.Type().Underlying()
		if list, ok := t.(*types.Slice); ok {
			t = list.Elem().Underlying()
		}
		switch t.(type) {
		case *types.Pointer, *types.Interface:
		default:
			return false
		}
	}
	return true
}

// Through returns the parameter that is called, if the retry is of a function
// that the caller gives.
func (r Retry) Through() *ssa.Parameter {
	p, _ := r.Call.Common().Value.(*ssa.Parameter)
	if p == nil || r.Call.Common().IsInvoke() {
		return nil
	}
	return p
}

// NameOf returns the name of what is called, which may be that of a variable or field.
func NameOf(call *ssa.Call) string {
	name, syntax := nameOf(call), call.Parent().Syntax()
	if name != nameless || syntax == nil {
		return name
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if source, ok := n.(*ast.CallExpr); ok && source.Lparen == call.Pos() {
			switch fun := ast.Unparen(source.Fun).(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				name = fun.Sel.Name
			}
		}
		return true
	})
	return name
}

// nameless is what stands for the name of a function value: a variable's says how it is
// used here, and nothing of what it does.
const nameless = "the call"

func nameOf(call *ssa.Call) string {
	common := call.Common()
	if common.IsInvoke() {
		return common.Method.Name()
	}
	if fn := common.StaticCallee(); fn != nil {
		if fn = Generic(fn); fn.Parent() == nil {
			name, _, _ := strings.Cut(fn.Name(), "$") // what stands for a method value adds to its name
			return name
		}
	}
	return nameless
}

// Find returns the retries of one function, without those inside of its
// function literals.
func Find(fn *ssa.Function) []Retry {
	var found []Retry
	for _, l := range loops(fn) {
		var here []Retry
		for _, b := range l.list {
			inner := l.innermost[b]
			if inner != l && !l.beginsAnew(inner) {
				continue
			}
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok {
					if r, ok := l.retry(call); ok && (inner == l || !l.endsRoundBy(call)) {
						r.OfItems = inner != l
						here = append(here, r)
					}
				}
			}
		}
		// What gives an attempt its operands is what is tried first.
		if slices.ContainsFunc(here, func(r Retry) bool { return r.operands != askedOperands }) {
			here = slices.DeleteFunc(here, func(r Retry) bool { return r.operands == askedOperands })
		}
		// What only leads to another attempt that fails is a part of that, unless it
		// alone is proven to go on for ever, or what fails is about what it has returned.
		if slices.ContainsFunc(here, func(r Retry) bool { return !r.first && !r.operands.areNew() }) {
			proven := slices.ContainsFunc(here, func(r Retry) bool { return !r.first && r.Bound != Unknown })
			here = slices.DeleteFunc(here, func(r Retry) bool { return r.first && (proven || r.Bound != Unbounded) })
		}
		found = append(found, here...)
	}
	return found
}

// beginsAnew reports whether each round goes through the items of an inner loop from the
// first on: to try one again is to try the next.
func (l *loop) beginsAnew(inner *loop) bool {
	// Nothing lies between the two.
	return inner.items() && !slices.ContainsFunc(inner.header.Preds, func(pred *ssa.BasicBlock) bool {
		return !inner.blocks[pred] && l.innermost[pred] != l
	})
}

// endsRoundBy reports whether the loop leaves where a call, which an inner loop makes for each
// item, has failed for all of them.
func (l *loop) endsRoundBy(call *ssa.Call) bool {
	errs := errorsOf(call)
	return slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
		branch, failing, _ := l.branchOn(b, errs)
		return branch != nil && l.innermost[b] == l && !l.blocks[failing]
	})
}

// retry judges whether the loop is a retry of call.
func (l *loop) retry(call *ssa.Call) (Retry, bool) {
	if isNoAttempt(call) {
		return Retry{}, false
	}
	if r, ok := l.retryOfErrors(call); ok {
		return r, true
	}
	return l.retryOfGiven(call)
}

// retryOfErrors judges whether the loop is a retry of call, whose errors it asks for, or
// what says the same.
func (l *loop) retryOfErrors(call *ssa.Call) (Retry, bool) {
	errs := errorsOf(call)
	if isDropped(errs) {
		errs = l.errorsFrom(call)
	}
	if len(errs) == 0 {
		errs = answersOf(call)
	}
	told := l.tellsOnly(errs)
	if told {
		errs = answersBeside(call)
	}
	if len(errs) == 0 || l.items() {
		return Retry{}, false
	}
	for _, b := range l.list {
		branch, failing, succeeding := l.branchOn(b, errs)
		if branch == nil {
			continue
		}
		failed, succeeded := l.way(b, failing), l.way(b, succeeding)
		succeeded.got = call
		if told && !failed.mentions(errorsOf(call)) {
			continue
		}
		if r, ok := l.retryAt(branch, call, errs, failed, succeeded); ok {
			r.told = told
			return r, true
		}
	}
	if r, ok := l.retryOfOne(call, errs); ok {
		return r, true
	}
	return l.retryOfStatus(call, errs)
}

// retryAt judges whether the loop is a retry of call, of which a branch asks whether it has
// failed.
func (l *loop) retryAt(branch *ssa.If, call *ssa.Call, errs map[ssa.Value]bool, failed, succeeded way) (Retry, bool) {
	if !failed.returnsTo(call) || progresses(call, failed) || !succeeded.leaves() {
		return Retry{}, false
	}
	operands, failed := failed.operandsOf(call, errs)
	if operands == otherOperands {
		return Retry{}, false
	}
	back := l.comesBack(call, operands, failed, succeeded)
	if back.asks && !back.looks && !back.polls && !back.talks {
		return Retry{}, false
	}
	r := l.newRetry(call, failed, succeeded, operands)
	r.first = back.fails
	// A number that counts up may be the attempt's, or that of the next thing to try: which
	// one is not proven. Nor is which error comes next.
	if (operands == sameOperands || operands == askedOperands) && !isOpaque(call) && !isSystemCall(call) &&
		!isAccept(call) && !failed.restarts(call) && !l.asksFor(call) {
		// What returns no error once somebody has stopped does not go on for ever, but as
		// fast as it can until then.
		judged := r
		judged.judge(branch, errs)
		if !givesUp(call.Common(), 4) && !isSupervised(call.Parent()) {
			r = judged
		}
		r.untiring = judged.untiring
	}
	if !back.asks {
		return r, true
	}
	// What else ends the questions decides whether they are a poll.
	answered := l.endsByAnswer(call) || l.asksFilled(call)
	polls := back.polls && r.Bound == Unbounded && (r.sets || answered)
	insists := (back.talks || back.looks && answered) && r.Bound == Unknown && r.insists()
	return r, polls || insists
}

// isSystemCall reports whether a call asks the system itself, which interrupts calls and
// says when they are to be made again.
func isSystemCall(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil &&
		slices.Contains([]string{"syscall", "golang.org/x/sys/unix"}, fn.Object().Pkg().Path())
}

// restarts reports whether the way runs a program again as soon as that has ended: it
// supervises it, or the program asks its user.
func (w way) restarts(call *ssa.Call) bool {
	return isNamed(call.Common().StaticCallee(), "os/exec", "Run", "Output", "CombinedOutput", "Wait") && !w.alwaysWaits()
}

func (l *loop) newRetry(call *ssa.Call, failed, succeeded way, of operands) Retry {
	return Retry{
		Call: call, failed: failed, succeeded: succeeded, operands: of,
		IsFor: strings.HasPrefix(l.header.Comment, "for.") || strings.HasPrefix(l.header.Comment, "range"),
	}
}

// A comeback says what it means that a success leads back to the call, if it does.
type comeback struct {
	fails bool // only what fails behind it leads back
	asks  bool // it leads back by itself: that is a daemon's, unless
	looks bool // nothing is done before but to look at the answer, not even to wait, or
	polls bool // it was not the answer that is waited for, or
	talks bool // what was said on a new connection, or in a response, went wrong
}

func (l *loop) comesBack(call *ssa.Call, of operands, failed, succeeded way) (c comeback) {
	if !succeeded.returns() || changes(call, failed, succeeded) || advances(failed, succeeded) {
		return c
	}
	back := succeeded.returning()
	c.asks = len(back) > 0 || succeeded.to == l.header
	c.fails = !c.asks
	if !c.asks || of == rereadOperands || of == askedOperands || l.returnsOK(back) {
		return c
	}
	c.looks, c.polls = l.onlyLooks(call, failed, back)
	c.looks = c.looks && l.isInEachRound(call.Block()) && !succeeded.waitsUnlessItFails()
	// Where a failure is only told, what follows a success follows that as well.
	c.polls = c.polls || l.drains(call, failed) && !failed.blocks[succeeded.to]
	c.talks = (isDialled(call) || isOfResponse(call)) && succeeded.endsRound()
	return c
}

// isInEachRound reports whether a block runs in every round that another one follows.
func (l *loop) isInEachRound(b *ssa.BasicBlock) bool {
	return !slices.ContainsFunc(l.header.Preds, func(pred *ssa.BasicBlock) bool {
		return l.blocks[pred] && !b.Dominates(pred)
	})
}

// asksFor reports whether each round waits for somebody to ask for the call: it
// takes a message, and no tick, before.
func (l *loop) asksFor(call *ssa.Call) bool {
	for b := call.Block(); b != nil && l.blocks[b]; b = b.Idom() {
		for _, instr := range b.Instrs {
			if instr == ssa.Instruction(call) {
				break
			}
			if receive, ok := instr.(*ssa.UnOp); ok && receive.Op == token.ARROW && !isTimedWait(receive) {
				return true
			}
		}
		at := b.Idom()
		if at == nil || len(b.Preds) != 1 {
			continue
		}
		branch, ok := terminator(at).(*ssa.If)
		if !ok || at.Succs[0] != b {
			continue
		}
		if sel, n := caseOf(branch.Cond); sel != nil && l.blocks[sel.Block()] && takesMessage(sel.States[n]) {
			return true
		}
	}
	return false
}

// takesMessage reports whether a case of a select takes a message: no tick, and no end of a
// context.
func takesMessage(s *ssa.SelectState) bool {
	return s.Dir == types.RecvOnly && !isOfTicks(s.Chan) && methodOfContext(s.Chan, "Done") == nil
}

// progresses reports whether another result of the call is used although it
// failed: a read that brought something and says what it did not bring is no
// failure to repeat.
func progresses(call *ssa.Call, failed way) bool {
	for _, ref := range *call.Referrers() {
		x, ok := ref.(*ssa.Extract)
		if !ok || isError(x.Type()) {
			continue
		}
		for _, use := range *x.Referrers() {
			switch use := use.(type) {
			case *ssa.Phi, *ssa.DebugRef, *ssa.If: // a bool that leaves is judged
			default:
				if cmp, ok := use.(*ssa.BinOp); ok && (isNil(cmp.Y) || asksForState(cmp)) {
					continue // whether there is one at all, or the one that is waited for
				}
				if failed.blocks[use.Block()] && use.Block() != call.Block() && !isOnlyTold(use, 4) && !isOnlyIf(x, use.Block()) {
					return true
				}
			}
		}
	}
	return false
}

// asksForState reports whether a comparison is with a constant that no result has which is
// left unset.
func asksForState(cmp *ssa.BinOp) bool {
	return (cmp.Op == token.EQL || cmp.Op == token.NEQ) && isConst(cmp.Y) && !isZero(cmp.Y)
}

// isOnlyIf reports whether block b only runs where there is a result of a call: it closes
// what came, or asks what it says, whether the call has failed or not.
func isOnlyIf(result ssa.Value, b *ssa.BasicBlock) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		branch, ok := terminator(b.Idom()).(*ssa.If)
		if !ok || len(b.Preds) != 1 {
			continue
		}
		cmp, ok := branch.Cond.(*ssa.BinOp)
		if ok && cmp.X == result && isNil(cmp.Y) &&
			(cmp.Op == token.NEQ && b.Idom().Succs[0] == b || cmp.Op == token.EQL && b.Idom().Succs[1] == b) {
			return true
		}
	}
	return false
}

// isOpaque reports whether the callee is a value that is neither a function nor
// a parameter, or a closure that does more than to pass errors on: whether its
// errors end is for its variables to know.
func isOpaque(call *ssa.Call) bool {
	if call.Common().IsInvoke() {
		return false
	}
	if _, ok := call.Common().Value.(*ssa.Parameter); ok {
		return false
	}
	fn := call.Common().StaticCallee()
	if fn == nil && isGivenOnce(call.Common().Value) {
		return false
	}
	if fn == nil {
		fn = capturedLiteral(call.Common().Value)
	}
	return fn == nil || fn.Parent() != nil && (MayEnd(fn) || !onlyAsksErrors(fn) && !keepsNothing(fn))
}

// capturedLiteral returns the function literal that a captured variable holds, or nil.
func capturedLiteral(v ssa.Value) *ssa.Function {
	switch held := captured(v).(type) {
	case *ssa.MakeClosure:
		return held.Fn.(*ssa.Function)
	case *ssa.Function:
		return held
	}
	return nil
}

// isGivenOnce reports whether a function value is read from a field that is set to nothing
// but what others have given, or to functions that keep nothing.
func isGivenOnce(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	field, ok := load.X.(*ssa.FieldAddr)
	return ok && isSetOnlyTo(field, func(v ssa.Value) bool {
		switch v := v.(type) {
		case *ssa.Parameter:
			return true
		case *ssa.Phi:
			return !slices.ContainsFunc(v.Edges, func(edge ssa.Value) bool { return !isKeepingNothing(edge) })
		}
		return isKeepingNothing(v)
	})
}

// isKeepingNothing reports whether v is a function, or a closure that is as good as one.
func isKeepingNothing(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Function:
		return !MayEnd(v)
	case *ssa.MakeClosure:
		fn := v.Fn.(*ssa.Function)
		return fn.Parent() == nil || !MayEnd(fn) && keepsNothing(fn) // a method with its receiver is called as any
	case *ssa.ChangeType:
		return isKeepingNothing(v.X)
	}
	return false
}

// keepsNothing reports whether a closure neither assigns to a variable that it captures
// nor reads one that changes once it is made: it is as good as a function.
func keepsNothing(fn *ssa.Function) bool {
	return len(fn.AnonFuncs) == 0 && !slices.ContainsFunc(fn.FreeVars, func(v *ssa.FreeVar) bool {
		return len(storesTo(v)) > 0 || bindingOf(v) == nil
	})
}

// deadCounter finds a variable that a failure counts up. The retry being
// unbounded, no way out reads it.
func (w way) deadCounter() *Counter {
	for _, instr := range w.loop.header.Instrs {
		phi, ok := instr.(*ssa.Phi)
		if !ok {
			break
		}
		for i, edge := range phi.Edges {
			add, ok := edge.(*ssa.BinOp)
			if ok && w.enters(w.loop.header.Preds[i]) && add.Op == token.ADD && add.X == phi && isConst(add.Y) &&
				phi.Comment != "" && !isLookedAt(phi) && !isLookedAt(add) {
				return &Counter{Name: phi.Comment, Pos: add.Pos(), Compared: compared(phi) || compared(add),
					Passed: w.loop.endsBy(phi)}
			}
		}
	}
	return nil
}

// isLookedAt reports whether a number is given to a function of this package that does not
// only tell of it: that may compare it.
func isLookedAt(v ssa.Value) bool {
	return slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		call, ok := ref.(*ssa.Call)
		return ok && !isTold(call) && call.Common().StaticCallee() != nil && len(call.Common().StaticCallee().Blocks) > 0
	})
}

func compared(v ssa.Value) bool {
	return slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		cmp, ok := ref.(*ssa.BinOp)
		// Each tenth attempt may be told of.
		return ok && (types.Identical(cmp.Type().Underlying(), types.Typ[types.Bool]) || cmp.Op == token.REM && compared(cmp))
	})
}
