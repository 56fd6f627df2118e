package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

var (
	asker     = regexp.MustCompile(`(?i)^(ask|prompt|readline|readpassword)`)
	prompter  = regexp.MustCompile(`(?i)prompt|survey|question`)
	server    = regexp.MustCompile(`(?i)^(start)?(receiv|serv|consum|listen|watch|run)`)
	predicate = regexp.MustCompile(
		`(?i)^(is|has|have|can|should|must|need|may|was|will|exist|contain|check|valid|equal|match|ready|wait|next|more|done)|(exists?|ready|done|alive|running|available|up|healthy|valid|open|closed|complete|finished|enabled|allowed)$`)
)

// isNoAttempt reports whether a call tries nothing that could fail again in the
// same way.
func isNoAttempt(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	return asksForError(call) || takesHandler(call) || readsOn(call) || asksSomebody(call) ||
		isNamed(fn, "errors", "Unwrap", "Join", "New") || isNamed(fn, "fmt", "Errorf")
}

// isAccept reports whether a call takes the next connection: closing the listener
// ends that, by an error that many loops do not tell from others.
func isAccept(call *ssa.Call) bool { return strings.HasPrefix(strings.ToLower(nameOf(call)), "accept") }

// readsOn reports whether a call is given a reader with a buffer of its own, or is of
// what is made of one: it takes the next of what comes.
func readsOn(call *ssa.Call) bool {
	if of := receiverOf(call); of != nil {
		if made, ok := of.(*ssa.Call); ok && isMade(made) && readsOn(made) {
			return true
		}
	}
	return slices.ContainsFunc(call.Common().Args, func(arg ssa.Value) bool {
		if made, ok := arg.(*ssa.MakeInterface); ok {
			arg = made.X
		}
		p, ok := arg.Type().(*types.Pointer)
		if !ok {
			return false
		}
		named, ok := p.Elem().(*types.Named)
		return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "bufio"
	})
}

// reads reports whether a function of this package takes the next of what a reader has:
// what did not do is skipped. It looks depth calls deep.
func reads(fn *ssa.Function, depth int) bool {
	return fn != nil && depth > 0 && anyInstr(fn, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		return ok && (readsOn(call) || reads(call.Common().StaticCallee(), depth-1))
	})
}

// asksSomebody reports whether a call asks the user, to whom a wrong answer says
// to think again.
func asksSomebody(call *ssa.Call) bool {
	return asker.MatchString(nameOf(call)) || isOf(call, prompter) || readsTerminal(call.Common().StaticCallee(), 3)
}

// asksWithin reports whether a function of this package asks the user, or what it calls does.
func asksWithin(fn *ssa.Function) bool {
	return anyWithin([]*ssa.Function{fn}, 2, func(instr ssa.Instruction, depth int) (bool, []*ssa.Function) {
		call, ok := instr.(*ssa.Call)
		return ok && (asker.MatchString(nameOf(call)) || isOf(call, prompter)), calleeOf(instr)
	}) || readsTerminal(fn, 3)
}

// readsTerminal looks depth calls deep into this package.
func readsTerminal(fn *ssa.Function, depth int) bool {
	return isScan(fn) ||
		anyWithin([]*ssa.Function{fn}, depth-1, func(instr ssa.Instruction, depth int) (bool, []*ssa.Function) {
			if load, ok := instr.(*ssa.UnOp); ok {
				stdin, ok := load.X.(*ssa.Global)
				return ok && isVariable(stdin, "os", "Stdin"), nil
			}
			call, ok := instr.(*ssa.Call)
			return ok && isScan(call.Common().StaticCallee()), calleeOf(instr)
		})
}

func isScan(fn *ssa.Function) bool { return isNamed(fn, "fmt", "Scan", "Scanf", "Scanln") }

// takesHandler reports whether a call gives what comes to a function, until it is told
// to stop. That it is called again belongs to serving.
func takesHandler(call *ssa.Call) bool {
	return server.MatchString(nameOf(call)) && slices.ContainsFunc(call.Common().Args, func(arg ssa.Value) bool {
		_, ok := arg.Type().Underlying().(*types.Signature)
		return ok
	})
}

// answersOf returns what a call says in place of an error: a bool that is false
// when something inside of it has failed, a number that tells that from a success, or an
// object or text that is left out then. What is named as a predicate is asked, not tried,
// unless it tells of a failure itself.
func answersOf(call *ssa.Call) map[ssa.Value]bool {
	fn := calledLiteral(call)
	if fn == nil || len(fn.Blocks) == 0 {
		return nil
	}
	answers := map[ssa.Value]bool{}
	results := fn.Signature.Results()
	for i := range results.Len() {
		if !answersBy(fn, i, results.At(i).Type()) {
			continue
		}
		if results.Len() == 1 {
			answers[call] = true
			continue
		}
		for _, ref := range *call.Referrers() {
			if x, ok := ref.(*ssa.Extract); ok && x.Index == i {
				answers[x] = true
			}
		}
	}
	return answers
}

// answersBy reports whether a result of a function says in place of an error how it went.
func answersBy(fn *ssa.Function, result int, t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	switch {
	case !ok || basic.Info()&types.IsString != 0:
		return !isError(t) && leavesOut(fn, result)
	case predicate.MatchString(fn.Name()) && !tellsOfFailures(fn):
		return false
	}
	return basic.Kind() == types.Bool && saysFailure(fn, result, false) ||
		basic.Info()&types.IsInteger != 0 && codesOf(fn, result) != nil
}

// leavesOut reports whether a function returns nothing as a result, nil or "", where
// something has failed, and nowhere else.
func leavesOut(fn *ssa.Function, result int) bool {
	failed, succeeded := false, false
	for _, b := range fn.Blocks {
		ret, ok := terminator(b).(*ssa.Return)
		if !ok {
			continue
		}
		err := returnedError(ret)
		fails := seesError(b, nil) || isErrorValue(err) && !isNil(err)
		if fails != isZero(returned(ret, result)) {
			return false
		}
		failed, succeeded = failed || fails, succeeded || !fails
	}
	return failed && succeeded
}

// calledLiteral returns the function that a call is of, also where a closure has it in a
// variable, or nil.
func calledLiteral(call *ssa.Call) *ssa.Function {
	if fn := call.Common().StaticCallee(); fn != nil || call.Common().IsInvoke() {
		return fn
	}
	return capturedLiteral(call.Common().Value)
}

// tellsOfFailures reports whether a function returns true, unless it has seen an error that it
// has told somebody of.
func tellsOfFailures(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		ret, ok := terminator(b).(*ssa.Return)
		if !ok {
			continue
		}
		if len(ret.Results) != 1 {
			return false
		}
		if !isBool(returned(ret, 0), true) && !(seesError(b, nil) && slices.ContainsFunc(b.Instrs, isMessage)) {
			return false
		}
	}
	return true
}

// isMessage reports whether an instruction is a call that does nothing but to tell somebody
// something.
func isMessage(instr ssa.Instruction) bool {
	call, ok := instr.(*ssa.Call)
	return ok && (isOfLogger(call) || teller.MatchString(nameOf(call))) && len(*call.Referrers()) == 0
}

// codesOf returns the constants that a function returns as a result, and whether each says
// that an error was seen, or nil if it returns anything else, or the same for both.
func codesOf(fn *ssa.Function, result int) map[int64]bool {
	codes := map[int64]bool{}
	failed, succeeded := false, false
	for _, b := range fn.Blocks {
		ret, ok := terminator(b).(*ssa.Return)
		if !ok {
			continue
		}
		code, isCode := whole(returned(ret, result))
		fails := seesError(b, nil)
		before, known := codes[code]
		if !isCode || known && before != fails {
			return nil
		}
		codes[code] = fails
		failed, succeeded = failed || fails, succeeded || !fails
	}
	if !failed || !succeeded {
		return nil
	}
	return codes
}

// tellsCode reports whether a comparison of a result with a code holds after a failure, if
// that is the only code of failures, or of successes: one of several may say that there is
// more to do.
func tellsCode(cmp *ssa.BinOp) (failed, known bool) {
	code, ok := whole(cmp.Y)
	call, result := cmp.X, 0
	if x, ok := call.(*ssa.Extract); ok {
		call, result = x.Tuple, x.Index
	}
	made, isCall := call.(*ssa.Call)
	if !ok || !isCall || cmp.Op != token.EQL && cmp.Op != token.NEQ {
		return false, false
	}
	codes := codesOf(made.Common().StaticCallee(), result)
	fails, known := codes[code]
	for other, alsoFails := range codes {
		known = known && (other == code || alsoFails != fails)
	}
	return fails == (cmp.Op == token.EQL), known
}

// mentions reports whether the way uses one of some errors.
func (w way) mentions(errs map[ssa.Value]bool) bool {
	for err := range errs {
		if slices.ContainsFunc(*err.Referrers(), func(ref ssa.Instruction) bool { return w.blocks[ref.Block()] }) {
			return true
		}
	}
	return false
}

// answersBeside returns the bools that a call returns beside its error.
func answersBeside(call *ssa.Call) map[ssa.Value]bool {
	answers := map[ssa.Value]bool{}
	for _, ref := range *call.Referrers() {
		if x, ok := ref.(*ssa.Extract); ok && types.Identical(x.Type(), types.Typ[types.Bool]) {
			answers[x] = true
		}
	}
	return answers
}

// tellsOnly reports whether the loop compares none of some errors, but hands one to a
// call that tells somebody.
func (l *loop) tellsOnly(errs map[ssa.Value]bool) bool {
	told := false
	for err := range errs {
		if compared(err) {
			return false
		}
		for _, ref := range *err.Referrers() {
			switch ref := ref.(type) {
			case *ssa.DebugRef, *ssa.Phi, *ssa.Store:
			case *ssa.ChangeInterface, *ssa.MakeInterface:
				told = told || l.blocks[ref.Block()]
			case *ssa.Call:
				if !isTold(ref) || types.Identical(ref.Type(), types.Typ[types.Bool]) {
					return false
				}
				told = told || l.blocks[ref.Block()]
			default:
				return false
			}
		}
	}
	return told
}

// saysFailure reports whether a function returns a bool as a result where an error was
// seen, and the other nowhere there.
func saysFailure(fn *ssa.Function, result int, failure bool) bool {
	says := false
	for _, b := range fn.Blocks {
		ret, ok := terminator(b).(*ssa.Return)
		if ok && tellsOfError(returned(ret, result), failure) {
			says = true // return err == nil
		}
		if !ok || !seesError(b, nil) {
			continue
		}
		if !isBool(returned(ret, result), failure) {
			return false
		}
		says = true
	}
	return says
}

// isBool reports whether v is the constant true, or false.
func isBool(v ssa.Value, value bool) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.Kind() == constant.Bool && constant.BoolVal(c.Value) == value
}

// tellsOfError reports whether v is that value of a bool where an error is not nil, and the
// other where it is.
func tellsOfError(v ssa.Value, failure bool) bool {
	cmp, ok := v.(*ssa.BinOp)
	return ok && (cmp.Op == token.EQL && !failure || cmp.Op == token.NEQ && failure) && isError(cmp.X.Type()) &&
		isNil(cmp.Y)
}

// returning returns the blocks by which the way comes back to the header
// without that anything else fails.
func (w way) returning() map[*ssa.BasicBlock]bool {
	succeeds := func(from, to *ssa.BasicBlock) bool { return failingEdge(from) != to && (edge{from, to}) != w.shut }
	forward := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if b == w.loop.header || !w.blocks[b] || forward[b] || ends(b) {
			return
		}
		forward[b] = true
		for _, s := range b.Succs {
			if succeeds(b, s) {
				visit(s)
			}
		}
	}
	visit(w.to)
	back := map[*ssa.BasicBlock]bool{}
	var mark func(*ssa.BasicBlock)
	mark = func(b *ssa.BasicBlock) {
		if !forward[b] || back[b] {
			return
		}
		back[b] = true
		for _, p := range b.Preds {
			if succeeds(p, b) {
				mark(p)
			}
		}
	}
	for _, p := range w.loop.header.Preds {
		if succeeds(p, w.loop.header) && w.enters(p) {
			mark(p)
		}
	}
	return back
}

// onlyLooks reports whether a success that comes back through some blocks does
// nothing on the way but to look at the answer, to tell of it and to wait: it
// was not the answer that the loop is for. It polls where it waits, or asks for what is
// the same each time.
func (l *loop) onlyLooks(call *ssa.Call, failed way, back map[*ssa.BasicBlock]bool) (looks, polls bool) {
	waits := false
	look := func(instr ssa.Instruction) bool {
		waits = waits || instr != ssa.Instruction(call) && mayWait(instr, 3)
		switch instr := instr.(type) {
		case *ssa.Call:
			return instr == call || isBuiltin(instr) || isTimedWait(instr) || isTold(instr) || isDecoding(instr) ||
				isDuration(instr.Type()) || asksContext(instr) || l.readsAnswer(instr, call)
		case *ssa.Store:
			return isConst(instr.Val) || l.blocks[blockOf(root(instr.Addr))]
		case *ssa.Select:
			return !slices.ContainsFunc(instr.States, func(s *ssa.SelectState) bool { return s.Dir == types.SendOnly })
		case *ssa.MapUpdate, *ssa.Send, *ssa.Go, *ssa.Defer:
			return false
		}
		return true
	}
	for b := range back {
		for _, instr := range b.Instrs {
			if !look(instr) {
				return false, false
			}
		}
	}
	for b := range failed.cycle() {
		waits = waits || slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			return instr != ssa.Instruction(call) && mayWait(instr, 3)
		})
	}
	return true, waits || getter.MatchString(nameOf(call))
}

// getter names what brings the same each time.
var getter = regexp.MustCompile(`^(Get|Find|Lookup|Describe|Query|Load|Stat)`)

// returnsOK reports whether the answer with which the loop begins again may be
// that of an HTTP request that has succeeded.
func (l *loop) returnsOK(back map[*ssa.BasicBlock]bool) bool {
	return slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
		branch, ok := terminator(b).(*ssa.If)
		if !ok {
			return false
		}
		cmp, ok := branch.Cond.(*ssa.BinOp)
		if !ok {
			return false
		}
		status, ok := whole(cmp.Y)
		return ok && status == http.StatusOK &&
			(cmp.Op == token.EQL && back[b.Succs[0]] || cmp.Op == token.NEQ && back[b.Succs[1]])
	})
}

var (
	taker = regexp.MustCompile(
		`(?i)^(accept|recv|receive|read|next|scan|wait|poll|listen|decode|consume|dequeue|pop|take)`)
	reader = regexp.MustCompile(`(?i)^read`)
)

// isTaker reports whether a call takes what comes next, by its name: it does not read the
// one thing that a string, or an ID, names.
func isTaker(call *ssa.Call) bool {
	name := nameOf(call)
	return taker.MatchString(name) && !(reader.MatchString(name) && slices.ContainsFunc(argumentsOf(call.Common()), isID))
}

// isID reports whether a value may tell which of several things is meant: a string, or an
// array, as UUIDs are, that is no constant.
func isID(v ssa.Value) bool {
	switch t := v.Type().Underlying().(type) {
	case *types.Basic:
		return t.Info()&types.IsString != 0 && !isConst(v)
	case *types.Array:
		return true
	}
	return false
}

// drains reports whether the loop asks for more to do until there is none, and
// waits for as long as that fails. What only takes what comes is for serving, and so is
// what is filled with that each time.
func (l *loop) drains(call *ssa.Call, failed way) bool {
	return !isTaker(call) && failed.alwaysWaits() && !l.asksFilled(call)
}

// alwaysWaits reports whether the way always waits for a time before it comes back.
func (w way) alwaysWaits() bool {
	return w.waitsBut(func(*ssa.BasicBlock) *ssa.BasicBlock { return nil })
}

// waitsUnlessItFails reports whether the way waits for a time before it comes back,
// where nothing else fails.
func (w way) waitsUnlessItFails() bool { return w.waitsBut(failingEdge) }

// waitsBut reports whether the way waits for a time before it comes back, except where
// it goes from a block on to what but returns for that.
func (w way) waitsBut(but func(*ssa.BasicBlock) *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var hurries func(*ssa.BasicBlock) bool
	hurries = func(b *ssa.BasicBlock) bool {
		if seen[b] || !w.blocks[b] || slices.ContainsFunc(b.Instrs, isPause) || ends(b) {
			return false
		}
		seen[b] = true
		return slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool {
			if s == w.loop.header {
				return s != but(b) && !w.loop.isLast(b)
			}
			return s != but(b) && hurries(s)
		})
	}
	return w.returns() && w.to != w.loop.header && !hurries(w.to)
}

// endsByAnswer reports whether the loop may leave because of what a call
// returned besides its error.
func (l *loop) endsByAnswer(call *ssa.Call) bool {
	if call.Common().Signature().Results().Len() == 1 {
		return !isError(call.Type()) && l.dependsOn(call)
	}
	return slices.ContainsFunc(*call.Referrers(), func(ref ssa.Instruction) bool {
		x, ok := ref.(*ssa.Extract)
		return ok && !isError(x.Type()) && l.dependsOn(x)
	})
}

func blockOf(v ssa.Value) *ssa.BasicBlock {
	if instr, ok := v.(ssa.Instruction); ok {
		return instr.Block()
	}
	return nil
}

// readsAnswer reports whether a call is of a method of what another call returned:
// it reads or closes the answer.
func (l *loop) readsAnswer(call, asked *ssa.Call) bool {
	of := receiverOf(call)
	return of != nil && isResultOf(of, asked, 8)
}

// isDecoding reports whether a call only makes a value of what stands in a text.
func isDecoding(call *ssa.Call) bool { return strings.HasPrefix(nameOf(call), "Unmarshal") }

// isResultOf reports whether v is a result of a call, or is read from one.
func isResultOf(v ssa.Value, call *ssa.Call, depth int) bool {
	if v == ssa.Value(call) {
		return true
	}
	switch v := v.(type) {
	case *ssa.Extract:
		return v.Tuple == ssa.Value(call)
	case *ssa.Alloc:
		return slices.ContainsFunc(contents(v), func(in ssa.Value) bool { return depth > 0 && isResultOf(in, call, depth-1) })
	case *ssa.Call:
		of := receiverOf(v)
		return of != nil && depth > 0 && isResultOf(of, call, depth-1)
	}
	inner := partOf(v)
	return inner != nil && depth > 0 && isResultOf(inner, call, depth-1)
}
