package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"syscall"

	"golang.org/x/tools/go/ssa"
)

// judge decides what bounds a retry: nothing but a success, or an error of
// another class, or only a context besides.
func (r *Retry) judge(branch *ssa.If, errs map[ssa.Value]bool) {
	cycle := r.failed.cycle()
	cycle[r.Call.Block()] = true
	c := classification{failed: r.failed, succeeded: r.succeeded, tried: r.Call, errs: errs, judged: map[ssa.Value]bool{}, set: &r.sets}
	if given := GivenContext(r.Attempt()); given != nil {
		parent := r.beforeAttempts(given)
		c.ownTime = parent != given && NeverEnds(parent)
	}
	asked := map[*ssa.BasicBlock]ssa.Value{}
	classes, bounds := map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]bool{}
	for _, b := range r.failed.loop.list {
		if !cycle[b] {
			continue
		}
		last, isBranch := terminator(b).(*ssa.If)
		if _, jumps := terminator(b).(*ssa.Jump); ends(b) || !isBranch && !jumps {
			bounds[b] = true
		}
		if !isBranch || bounds[b] || last == branch && !r.recognised || r.staysOn(b, cycle) || r.comesBack(b, cycle) || r.leavesIfOK(last, cycle) {
			continue
		}
		if asked[b] = contextAsked(last.Cond); asked[b] != nil {
			continue
		}
		if b == r.failed.loop.header && r.failed.lacksIt(r.Call) {
			continue
		}
		if to := whenStopped(b); to != nil && !cycle[to] {
			bounds[b] = true
			continue
		}
		if away := r.walksAway(last); away != nil && !cycle[away] {
			continue
		}
		if r.isOfMaker(last.Cond) {
			r.remade = true
			continue
		}
		if !c.only(last.Cond) {
			bounds[b] = true
			continue
		}
		classes[b] = !c.fixed(last.Cond) && r.failed.loop.concerns(last.Cond, errs)
		if !classes[b] && r.comesSometimes(b, cycle, c) {
			bounds[b] = true
		}
	}
	if len(bounds) > 0 && !r.escapes(cycle, bounds, classes, c, branch) {
		return
	}
	var ctx ssa.Value
	selected, knows := false, false
	for _, b := range r.failed.loop.list {
		if !cycle[b] {
			continue
		}
		if classes[b] {
			last := terminator(b).(*ssa.If)
			r.Classified = true
			selected = selected || isSelected(last, cycle) && !isDown(last.Cond)
			knows = knows || !isSpared(last, cycle)
		}
		if asked[b] != nil {
			if ctx != nil && ctx != asked[b] {
				return
			}
			ctx = asked[b]
		}
	}
	switch given := GivenContext(r.Attempt()); {
	case r.tires() || r.mayExit(cycle) || r.failed.loop.isWatched():
		// The callee, what is asked beside it, or a timer ends it.
	case selected && !r.waitsOn(cycle):
		// One error alone asks for the same again at once: there is more to do, or
		// others were faster.
	case ctx != nil:
		r.Bound, r.Context = ByContext, ctx
	case knows && given != nil && !NeverEnds(r.beforeAttempts(given)):
		// What classifies the error may well know that the context ended.
		r.knows = true
	default:
		r.Bound = Unbounded
		if r.DeadCounter == nil {
			r.DeadCounter = r.failed.deadCounter()
		}
	}
}

// comesSometimes reports whether something that changes from round to round chooses whether
// the cycle comes to block b, as the count does in i < max || max == 0: what b asks may stay
// the same, and yet end the retry later.
func (r *Retry) comesSometimes(b *ssa.BasicBlock, cycle map[*ssa.BasicBlock]bool, c classification) bool {
	l := r.failed.loop
	return slices.ContainsFunc(l.list, func(at *ssa.BasicBlock) bool {
		branch, ok := terminator(at).(*ssa.If)
		if !ok || !cycle[at] || at == b || at == r.failed.from || c.only(branch.Cond) {
			return false
		}
		yes, no := at.Succs[0], at.Succs[1]
		return cycle[yes] && cycle[no] && l.between(yes, b)[yes] != l.between(no, b)[no]
	})
}

// leavesIfOK reports whether a branch leaves only where a bool that the call has returned
// beside its error is true, or another result has a value that is not left unset: it is not
// where the call has failed, or says how, unless that error is given back, as of a call that
// says when to give up.
func (r *Retry) leavesIfOK(branch *ssa.If, cycle map[*ssa.BasicBlock]bool) bool {
	asked, ok, not := branch.Cond, branch.Block().Succs[0], branch.Block().Succs[1]
	if cmp, compares := asked.(*ssa.BinOp); compares && asksForState(cmp) {
		if asked = cmp.X; cmp.Op == token.NEQ {
			ok, not = not, ok
		}
	}
	if !r.isResult(asked) || !cycle[not] || cycle[ok] {
		return false
	}
	errs := errorsOf(r.Call)
	return !slices.ContainsFunc(returnsOf(behind(ok)), func(ret *ssa.Return) bool { return errs[returnedError(ret)] })
}

// isResult reports whether v is what the call has returned beside its error, also in a
// variable of the loop that each round sets to that.
func (r *Retry) isResult(v ssa.Value) bool {
	phi, ok := v.(*ssa.Phi)
	if !ok {
		x, ok := v.(*ssa.Extract)
		return ok && x.Tuple == ssa.Value(r.Call)
	}
	l := r.failed.loop
	if phi.Block() != l.header {
		return false
	}
	for i, edge := range phi.Edges {
		x, ok := edge.(*ssa.Extract)
		if l.blocks[l.header.Preds[i]] && !(ok && x.Tuple == ssa.Value(r.Call)) {
			return false
		}
	}
	return true
}

// beforeAttempts returns what a context is derived from if each attempt gives it a time
// limit of its own: how long one may take ends no retry.
func (r *Retry) beforeAttempts(ctx ssa.Value) ssa.Value {
	for {
		outer := withoutLimit(ctx)
		if outer == ctx || !r.failed.loop.blocks[blockOf(ctx)] {
			return ctx
		}
		ctx = outer
	}
}

// escapes reports whether errors of some class lead round the cycle past all that
// bounds it, and takes the rest out of the cycle: of which class the next error is,
// the program cannot choose; all other branches are its own. Branches that choose by
// the class it adds to classes.
func (r *Retry) escapes(cycle, bounds, classes map[*ssa.BasicBlock]bool, c classification, branch *ssa.If) bool {
	header := r.failed.loop.header
	for b := range bounds {
		delete(cycle, b)
	}
	before := maps.Clone(cycle)
	for b := range bounds {
		before[b] = true
	}
	// What the program chooses by itself, and what follows a failure.
	chosen, failures := map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]*ssa.BasicBlock{}
	for b := range cycle {
		last, isBranch := terminator(b).(*ssa.If)
		chosen[b] = isBranch && last != branch && !(c.only(last.Cond) && r.failed.loop.concerns(last.Cond, c.errs))
		_, failures[b], _ = r.failed.loop.branchOn(b, c.errs)
	}
	for shrunk := true; shrunk; {
		shrunk = false
		for _, b := range slices.Backward(r.failed.loop.list) {
			if !cycle[b] {
				continue
			}
			failing := failures[b]
			on, off := 0, 0
			for _, s := range b.Succs {
				switch {
				case failing != nil && s != failing:
					// It has failed, whoever asks.
				case cycle[s]:
					on++
				case before[s]:
					off++
				}
			}
			if on == 0 || chosen[b] && off > 0 {
				delete(cycle, b)
				shrunk = true
			} else if off > 0 && terminator(b) != ssa.Instruction(branch) {
				classes[b] = true
			}
		}
	}
	return cycle[header] && cycle[r.Call.Block()] && cycle[r.failed.from]
}

// staysOn reports whether all that can follow block b is on the cycle. It keeps
// why a way out is none.
func (r *Retry) staysOn(b *ssa.BasicBlock, cycle map[*ssa.BasicBlock]bool) bool {
	out, why := r.failed.loop.never(b)
	for _, s := range b.Succs {
		if cycle[s] || s == noCase(b) {
			continue
		}
		// Another case of the same select may be none, too.
		_, branches := terminator(s).(*ssa.If)
		if s != out && !(branches && len(s.Preds) == 1 && len(s.Instrs) == 2 && r.staysOn(s, cycle)) {
			return false
		}
		if s == out && why != Alive {
			r.Dead = why
		}
	}
	return true
}

// comesBack reports whether what leaves the cycle behind block b only leads to
// the same attempt again.
func (r *Retry) comesBack(b *ssa.BasicBlock, cycle map[*ssa.BasicBlock]bool) bool {
	l := r.failed.loop
	for _, s := range b.Succs {
		if cycle[s] {
			continue
		}
		if !l.blocks[s] {
			return false
		}
		w := l.way(b, s)
		if !w.returns() {
			return false // what it sets ends the loop
		}
		for in := range w.blocks {
			if ends(in) || len(in.Succs) == 0 || slices.ContainsFunc(in.Succs, func(to *ssa.BasicBlock) bool { return !l.blocks[to] }) || in == r.failed.from {
				return false
			}
		}
		if same, counted := w.repeats(r.Call); !same || counted {
			return false
		}
	}
	return true
}

// isOfMaker reports whether a condition asks for the error of what makes the
// object that the call is of, anew for each attempt: it has no reason to fail
// the next time.
func (r *Retry) isOfMaker(cond ssa.Value) bool {
	cmp, ok := cond.(*ssa.BinOp)
	if !ok || !isError(cmp.X.Type()) || !isNil(cmp.Y) || receiverOf(r.Call) == nil {
		return false
	}
	err, ok := cmp.X.(*ssa.Extract)
	if !ok {
		return false
	}
	made, ok := err.Tuple.(*ssa.Call)
	return ok && (isMade(made) || isDialled(made)) && isMadeBy(root(receiverOf(r.Call)), made, 4)
}

// isMadeBy reports whether v is what a call returns, or is made of that, as a client is
// of a connection. It looks depth makers deep.
func isMadeBy(v ssa.Value, made *ssa.Call, depth int) bool {
	if depth == 0 {
		return false
	}
	switch v := v.(type) {
	case *ssa.Extract:
		return v.Tuple == ssa.Value(made)
	case *ssa.Call:
		return isMade(v) && slices.ContainsFunc(v.Common().Args, func(arg ssa.Value) bool { return isMadeBy(root(arg), made, depth-1) })
	}
	return false
}

// isSelected reports whether a branch stays on the cycle for one error alone,
// and leaves it for all others.
func isSelected(branch *ssa.If, cycle map[*ssa.BasicBlock]bool) bool {
	one := asksForOne(branch)
	return one != nil && cycle[one]
}

// isSpared reports whether a branch leaves the cycle for one error alone, and
// stays on it for all others.
func isSpared(branch *ssa.If, cycle map[*ssa.BasicBlock]bool) bool {
	one := asksForOne(branch)
	return one != nil && !cycle[one]
}

// down names errors of what cannot be reached.
var down = regexp.MustCompile(`(?i)refused|unreachable|unavailable|timed?out|noconn|disconnect|offline|brokenpipe|reset`)

// isDown reports whether a condition compares an error, or its code, with one by which
// a server says that it cannot serve now, or in time: no more to do, and nobody was
// faster.
func isDown(cond ssa.Value) bool {
	if one := sentinelOf(cond); one != nil {
		return asksForTime(cond) || down.MatchString(one.Name())
	}
	cmp, ok := cond.(*ssa.BinOp)
	if !ok {
		return false
	}
	named, ok := types.Unalias(cmp.X.Type()).(*types.Named)
	code, isCode := whole(cmp.Y)
	if !ok || !isCode || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != "google.golang.org/grpc/codes" {
		return false
	}
	const unknown, deadlineExceeded, resourceExhausted, internal, unavailable = 2, 4, 8, 13, 14
	return slices.Contains([]int64{unknown, deadlineExceeded, resourceExhausted, internal, unavailable}, code)
}

// ofOne names functions that recognise one error, which is not that of a context.
var ofOne = regexp.MustCompile(`^Is(NotFound|NotExist|Exist|AlreadyExists|Conflict|Gone|Invalid|Forbidden|Unauthorized|BadRequest|ResourceExpired)$`)

// asksForOne returns what follows where a branch has recognised one error, or
// nil if it asks for anything else.
func asksForOne(branch *ssa.If) *ssa.BasicBlock {
	succs := branch.Block().Succs
	switch cond := branch.Cond.(type) {
	case *ssa.Call:
		if isNamed(cond.Common().StaticCallee(), "errors", "Is") || ofOne.MatchString(nameOf(cond)) {
			return succs[0]
		}
	case *ssa.BinOp:
		switch cond.Op {
		case token.EQL:
			return succs[0]
		case token.NEQ:
			return succs[1]
		}
	}
	return nil
}

// concerns reports whether a condition asks anything of some errors.
func (l *loop) concerns(v ssa.Value, errs map[ssa.Value]bool) bool {
	seen := map[ssa.Value]bool{}
	var visit func(ssa.Value) bool
	visit = func(v ssa.Value) bool {
		if errs[v] {
			return true
		}
		instr, ok := v.(ssa.Instruction)
		if !ok || seen[v] || !l.blocks[instr.Block()] {
			return false
		}
		seen[v] = true
		for _, op := range instr.Operands(nil) {
			if *op != nil && visit(*op) {
				return true
			}
		}
		return false
	}
	return visit(v)
}

// classification judges whether a condition asks nothing but which error it
// was: it depends only on the error, and on what is the same in every round
// that fails.
type classification struct {
	failed, succeeded way
	tried             *ssa.Call
	errs              map[ssa.Value]bool
	judged            map[ssa.Value]bool // what only says; false while that is under way
	set               *bool              // whether a way out asks for a field that a success sets
	ownTime           bool               // only the time limit of each attempt ends its context
}

func (c classification) only(v ssa.Value) bool {
	if isInterrupt(v) {
		return false // the system asks for another try
	}
	if phi, ok := v.(*ssa.Phi); ok && c.errs[v] && c.replaces(phi) {
		return false
	}
	if c.errs[v] || c.fixed(v) || isAnswer(v, c.tried) {
		return true
	}
	// A value that depends on itself changes from round to round: a counter.
	only, judged := c.judged[v]
	if !judged {
		c.judged[v] = false
		only = c.onlyBehind(v)
		c.judged[v] = only
	}
	return only
}

// onlyBehind is only of a value that is made of others.
func (c classification) onlyBehind(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return c.memory(v.X)
		}
		return v.Op != token.ARROW && c.only(v.X)
	case *ssa.Extract:
		made, ok := v.Tuple.(*ssa.Call)
		return ok && c.failed.computes(made) || c.only(v.Tuple)
	case *ssa.BinOp:
		if isOfPackageVariable(v.X) && isNil(v.Y) {
			return false // no error to compare with, but whether there is one
		}
		return c.only(v.X) && c.only(v.Y)
	case *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType, *ssa.Convert, *ssa.TypeAssert, *ssa.Field:
		return !slices.ContainsFunc(v.(ssa.Instruction).Operands(nil), func(op *ssa.Value) bool { return !c.only(*op) })
	case *ssa.Phi:
		return c.isChoice(v)
	case *ssa.Call:
		return c.call(v)
	}
	return false
}

// memory reports whether what stands at addr can only be a sentinel or a part
// of the error. Any other memory may be a flag that somebody sets.
func (c classification) memory(addr ssa.Value) bool {
	switch addr := addr.(type) {
	case *ssa.Global:
		// The end of a stream is reached by reading on.
		isEOF := isVariable(addr, "io", "EOF")
		ended := isVariable(addr, "context", "Canceled", "DeadlineExceeded") && !c.ownTime
		return isError(addr.Type().(*types.Pointer).Elem()) && !isEOF && !ended
	case *ssa.Alloc:
		return isTarget(addr)
	case *ssa.FieldAddr:
		_, nested := addr.X.(*ssa.FieldAddr)
		own := c.fixed(addr.X) || nested && c.fixed(root(addr)) // of an object that stays the same
		if own && (c.setBySuccess(addr) || c.isLeftAlone(addr)) {
			return true
		}
		if !c.failed.loop.assignsTo(addr) && (own && isSettled(addr) || c.fixed(root(addr)) && isSetting(addr) && !c.failed.loop.handsOn(addr)) {
			return true
		}
		return !own && c.only(addr.X)
	}
	return false
}

// replaces reports whether a failure may put another error in the place of that
// of the call, or none: by what, is not known.
func (c classification) replaces(phi *ssa.Phi) bool {
	for i, edge := range phi.Edges {
		load, ok := edge.(*ssa.UnOp)
		if c.failed.blocks[phi.Block().Preds[i]] && (isConst(edge) || ok && isPackageVariable(load.X)) {
			return true
		}
	}
	return false
}

// isAnswer reports whether v is an object that the call returned with its error:
// what it holds says how the call failed.
func isAnswer(v ssa.Value, call *ssa.Call) bool { return isAnswerWithin(v, call, 8) }

func isAnswerWithin(v ssa.Value, call *ssa.Call, depth int) bool {
	if alloc, ok := v.(*ssa.Alloc); ok {
		in := contents(alloc)
		return len(in) > 0 && depth > 0 && !slices.ContainsFunc(in, func(in ssa.Value) bool { return !isAnswerWithin(in, call, depth-1) })
	}
	x, ok := v.(*ssa.Extract)
	if v != ssa.Value(call) && (!ok || x.Tuple != ssa.Value(call)) {
		return false
	}
	return isObject(v.Type())
}

// fixed reports whether a value is the same in every round that fails: it comes
// from before the loop, or only a success assigns to it.
func (c classification) fixed(v ssa.Value) bool {
	instr, ok := v.(ssa.Instruction)
	if !ok || !c.failed.loop.blocks[instr.Block()] {
		return true
	}
	phi, ok := v.(*ssa.Phi)
	if !ok || phi.Block() != c.failed.loop.header {
		return false
	}
	for i, edge := range phi.Edges {
		if !c.failed.enters(phi.Block().Preds[i]) {
			continue
		}
		if n, ok := c.failed.stepAlong(edge, phi, 8); !ok || n != 0 {
			return false
		}
	}
	return true
}

// isChoice reports whether a phi chooses among classifications, as && and ||
// make it.
func (c classification) isChoice(phi *ssa.Phi) bool {
	// Constants only: a flag that tells one round from the next.
	return slices.ContainsFunc(phi.Edges, func(edge ssa.Value) bool { return !isConst(edge) }) &&
		!slices.ContainsFunc(phi.Edges, func(edge ssa.Value) bool { return !c.only(edge) })
}

// call reports whether a call looks at nothing but the error: a function of
// the error and plain values, or a method of the error itself. Anything that a
// pointer leads to may count.
func (c classification) call(call *ssa.Call) bool {
	common := call.Common()
	args, fn := common.Args, common.StaticCallee()
	if builtin, ok := common.Value.(*ssa.Builtin); ok && builtin.Name() == "len" {
		switch args[0].Type().Underlying().(type) {
		case *types.Map, *types.Chan:
			return false // others fill the same one
		}
		return c.only(args[0])
	}
	if common.IsInvoke() {
		args = append([]ssa.Value{common.Value}, args...)
	} else if fn == nil || len(fn.FreeVars) > 0 || remembers(fn, 3) {
		return false
	}
	aboutError := isOfTime(fn)
	for _, arg := range args {
		if alloc := targetOf(arg); alloc != nil && isTarget(alloc) {
			continue
		}
		_, plain := arg.Type().Underlying().(*types.Basic)
		fromError := !c.fixed(arg) && !c.isFromBefore(arg)
		if !c.only(arg) || !fromError && !plain && !isConst(arg) && !isOfTime(fn) {
			return false
		}
		aboutError = aboutError || fromError || c.errs[arg]
	}
	return aboutError
}

// isFromBefore reports whether a value is read from what is the same in every round: no
// sentinel, and not what an error was put into.
func (c classification) isFromBefore(v ssa.Value) bool {
	kept := root(v)
	if alloc, ok := kept.(*ssa.Alloc); ok && isTarget(alloc) || isPackageVariable(kept) {
		return false
	}
	return c.fixed(kept) && !c.errs[kept]
}

// remembers reports whether a function of this package may answer differently
// the next time: it reads a clock, a channel, or a variable that may change, assigns to
// what it is given, or asks for interrupted system calls. It looks depth calls deep, and believes in
// what it cannot see.
func remembers(fn *ssa.Function, depth int) bool {
	return isClock(fn) || anyWithin([]*ssa.Function{fn}, depth-1, func(instr ssa.Instruction, depth int) (bool, []*ssa.Function) {
		if slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool { return isInterrupt(*op) }) {
			return true, nil
		}
		switch instr := instr.(type) {
		case *ssa.UnOp:
			g, ok := instr.X.(*ssa.Global)
			return ok && instr.Op == token.MUL && mayChange(g) || instr.Op == token.ARROW, nil
		case *ssa.Select, *ssa.MapUpdate:
			return true, nil
		case *ssa.Store:
			_, local := root(instr.Addr).(*ssa.Alloc)
			return !local, nil
		case ssa.CallInstruction:
			// flag.Load(), mu.Lock()
			return slices.ContainsFunc(instr.Common().Args, isPackageVariable) || isClock(instr.Common().StaticCallee()), calleeOf(instr)
		}
		return false, nil
	})
}

// isClock reports whether fn says what time it is, or how much has passed.
func isClock(fn *ssa.Function) bool { return isNamed(fn, "time", "Now", "Since", "Until") }

// mayChange reports whether a variable is of a type that programs keep flags,
// counts and times in. Loggers, patterns and sentinels are of others.
func mayChange(g *ssa.Global) bool {
	t := g.Type().(*types.Pointer).Elem()
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString == 0
	case *types.Map, *types.Chan, *types.Struct:
		return true
	}
	return false
}

// isOfTime reports whether fn computes with the times that it is given.
func isOfTime(fn *ssa.Function) bool {
	return isNamed(fn, "time", "Compare", "Before", "After", "Equal", "Sub", "Add", "IsZero") && fn.Signature.Recv() != nil
}

// isNamed reports whether fn is a function or method of a package with one of
// the names.
func isNamed(fn *ssa.Function, path string, names ...string) bool {
	fn = Generic(fn)
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil && fn.Object().Pkg().Path() == path && slices.Contains(names, fn.Name())
}

// isVariable reports whether g is a variable of a package with one of the names.
func isVariable(g *ssa.Global, path string, names ...string) bool {
	return g.Pkg != nil && g.Pkg.Pkg.Path() == path && slices.Contains(names, g.Name())
}

// isInterrupt reports whether v is EINTR.
func isInterrupt(v ssa.Value) bool { return isErrno(v, syscall.EINTR) }

// isErrno reports whether v is one of some errors of the system.
func isErrno(v ssa.Value, wanted ...syscall.Errno) bool {
	if iface, ok := v.(*ssa.MakeInterface); ok {
		v = iface.X
	}
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return false
	}
	named, ok := types.Unalias(c.Type()).(*types.Named)
	if !ok || named.Obj().Name() != "Errno" {
		return false
	}
	n, exact := constant.Uint64Val(c.Value)
	return exact && slices.Contains(wanted, syscall.Errno(n))
}

// isTarget reports whether nothing but errors.As writes to a variable.
func isTarget(alloc *ssa.Alloc) bool {
	for _, ref := range *alloc.Referrers() {
		switch ref := ref.(type) {
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.MakeInterface:
			for _, use := range *ref.Referrers() {
				if call, ok := use.(*ssa.Call); !ok || !isNamed(call.Common().StaticCallee(), "errors", "As") {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// targetOf returns the variable whose address an argument is.
func targetOf(arg ssa.Value) *ssa.Alloc {
	iface, ok := arg.(*ssa.MakeInterface)
	if !ok {
		return nil
	}
	alloc, _ := iface.X.(*ssa.Alloc)
	return alloc
}
