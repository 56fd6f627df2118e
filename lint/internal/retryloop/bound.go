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
	if !cycle[r.failed.loop.header] {
		return // something on each way back to the call ends the program, or a test
	}
	cycle[r.Call.Block()] = true
	c := classification{failed: r.failed, succeeded: r.succeeded, tried: r.Call, errs: errs, judged: map[ssa.Value]bool{},
		set: &r.sets}
	if given := GivenContext(r.Attempt()); given != nil {
		parent := r.beforeAttempts(given)
		c.ownTime = parent != given && NeverEnds(parent)
	}
	out := endings{map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]ssa.Value{}}
	for _, b := range r.failed.loop.list {
		last, isBranch := terminator(b).(*ssa.If)
		_, jumps := terminator(b).(*ssa.Jump)
		switch {
		case !cycle[b]:
		case ends(b) || !isBranch && !jumps:
			out.bounds[b] = true
		case isBranch && (last != branch || r.recognised):
			r.addEnding(out, b, cycle, c)
		}
	}
	// Errors of some class may pass by the end of the context as well.
	if past, beyond := out.withContexts(), maps.Clone(cycle); len(out.contexts) > 0 && r.escapes(beyond, past, c, branch) {
		r.conclude(past, beyond)
		return
	}
	if len(out.bounds) > 0 && !r.escapes(cycle, out, c, branch) {
		return
	}
	r.conclude(out, cycle)
}

// endings are the blocks of a cycle behind which it may end.
type endings struct {
	bounds   map[*ssa.BasicBlock]bool      // for a reason that may come to hold
	classes  map[*ssa.BasicBlock]bool      // for an error of another class
	contexts map[*ssa.BasicBlock]ssa.Value // because one has ended
}

// withContexts returns the endings of which a context is no other than the rest.
func (out endings) withContexts() endings {
	all := endings{maps.Clone(out.bounds), maps.Clone(out.classes), map[*ssa.BasicBlock]ssa.Value{}}
	for b := range out.contexts {
		all.bounds[b] = true
	}
	return all
}

// addEnding adds block b, which ends with a branch, if it may end the cycle. Of what looks so,
// and never does, it keeps why.
func (r *Retry) addEnding(out endings, b *ssa.BasicBlock, cycle map[*ssa.BasicBlock]bool, c classification) {
	branch := terminator(b).(*ssa.If)
	if r.staysOn(b, cycle) || r.comesBack(b, cycle) || r.leavesIfOK(branch, cycle) {
		return
	}
	if ctx := r.failed.loop.contextAskedAt(b); ctx != nil {
		out.contexts[b] = ctx
		return
	}
	if b == r.failed.loop.header && r.failed.lacksIt(r.Call) {
		return
	}
	if to := whenStopped(b); to != nil && !cycle[to] {
		out.bounds[b] = true
		return
	}
	if away := r.walksAway(branch); away != nil && !cycle[away] {
		return
	}
	switch {
	case r.isOfMaker(branch.Cond):
		r.remade = true
	case !c.only(branch.Cond):
		out.bounds[b] = true
	case !c.fixed(branch.Cond) && r.failed.loop.concerns(branch.Cond, c.errs):
		out.classes[b] = true
	case r.comesSometimes(b, cycle, c):
		out.bounds[b] = true
	}
}

// conclude sets the bound of a retry that only what is left of the cycle ends: an error of
// another class, or a context.
func (r *Retry) conclude(out endings, cycle map[*ssa.BasicBlock]bool) {
	var ctx ssa.Value
	selected, knows := false, false
	for _, b := range r.failed.loop.list {
		if !cycle[b] {
			continue
		}
		if out.classes[b] {
			last := terminator(b).(*ssa.If)
			r.Classified = true
			selected = selected || isSelected(last, cycle) && !isDown(last.Cond)
			knows = knows || !isSpared(last, cycle)
		}
		if asked := out.contexts[b]; asked != nil {
			if ctx != nil && ctx != asked {
				return
			}
			ctx = asked
		}
	}
	switch given := GivenContext(r.Attempt()); {
	case r.tires() || r.mayExit(cycle) || r.failed.loop.isWatched():
		// The callee, what is asked beside it, or a timer ends it.
	case selected && !r.waitsOn(cycle), r.Classified && locker.MatchString(nameOf(r.Call)),
		r.goesOnOnlyFor(asksForConflict):
		// One error alone asks for the same again at once: there is more to do, or
		// others were faster, or hold the lock.
	case ctx != nil:
		r.Bound, r.Context = ByContext, ctx
	case knows && given != nil && !NeverEnds(r.beforeAttempts(given)):
		// What classifies the error may well know that the context ended.
		r.untiring = true
	default:
		r.Bound = Unbounded
		if r.DeadCounter == nil {
			r.DeadCounter = r.failed.deadCounter()
		}
	}
	r.untiring = r.untiring || r.Bound != Unknown
}

// asksForConflict reports whether a condition asks whether an error says that others were
// faster.
func asksForConflict(cond ssa.Value) bool {
	if one := sentinelOf(cond); one != nil {
		return conflict.MatchString(one.Name())
	}
	asked, ok := cond.(*ssa.Call)
	return ok && conflict.MatchString(nameOf(asked))
}

var conflict = regexp.MustCompile(`(?i)conflict`)

// locker names what takes a lock.
var locker = regexp.MustCompile(`(^|[a-z_])Lock([A-Z_]|$)|^(?i:try_?)?lock([A-Z_]|$)`)

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
// the class it adds to the classes.
func (r *Retry) escapes(cycle map[*ssa.BasicBlock]bool, out endings, c classification, branch *ssa.If) bool {
	header := r.failed.loop.header
	for b := range out.bounds {
		delete(cycle, b)
	}
	before := maps.Clone(cycle)
	for b := range out.bounds {
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
				out.classes[b] = true
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
			if ends(in) || len(in.Succs) == 0 ||
				slices.ContainsFunc(in.Succs, func(to *ssa.BasicBlock) bool { return !l.blocks[to] }) || in == r.failed.from {
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
		return isMade(v) && slices.ContainsFunc(v.Common().Args, func(arg ssa.Value) bool {
			return isMadeBy(root(arg), made, depth-1)
		})
	}
	return false
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

// isClock reports whether fn says what time it is, or how much has passed.
func isClock(fn *ssa.Function) bool { return isNamed(fn, "time", "Now", "Since", "Until") }

// isOfTime reports whether fn computes with the times that it is given.
func isOfTime(fn *ssa.Function) bool {
	return isNamed(fn, "time", "Compare", "Before", "After", "Equal", "Sub", "Add", "IsZero") && fn.Signature.Recv() != nil
}

// isNamed reports whether fn is a function or method of a package with one of
// the names.
func isNamed(fn *ssa.Function, path string, names ...string) bool {
	fn = Generic(fn)
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil && fn.Object().Pkg().Path() == path &&
		slices.Contains(names, fn.Name())
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
