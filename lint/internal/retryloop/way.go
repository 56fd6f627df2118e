package retryloop

import (
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A way is what can follow one branch in the rest of a round of the loop.
type way struct {
	loop     *loop
	from, to *ssa.BasicBlock          // the edge that it begins with
	blocks   map[*ssa.BasicBlock]bool // from to on, without the header
	got      *ssa.Call                // if not nil: what has succeeded at its beginning
	shut     edge                     // if not zero: where it does not go
}

// An edge leads from one block to the next.
type edge struct{ from, to *ssa.BasicBlock }

func (l *loop) way(from, to *ssa.BasicBlock) way { return l.wayWithout(edge{}, from, to) }

// wayWithout returns the way that does not go along an edge.
func (l *loop) wayWithout(shut edge, from, to *ssa.BasicBlock) way {
	w := way{loop: l, from: from, to: to, blocks: map[*ssa.BasicBlock]bool{}, shut: shut}
	var visit func(*ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if b == l.header || !l.blocks[b] || w.blocks[b] {
			return
		}
		w.blocks[b] = true
		if ends(b) {
			return
		}
		for _, s := range b.Succs {
			if (edge{b, s}) != shut {
				visit(s)
			}
		}
	}
	visit(to)
	return w
}

// takes reports whether the way goes along an edge between two blocks that follow its
// beginning.
func (w way) takes(from, to *ssa.BasicBlock) bool {
	return w.blocks[from] && edge{from, to} != w.shut || from == w.from && to == w.to
}

// sides returns the ways on which one side is left out of a branch that asks something of
// some errors.
func (w way) sides(errs map[ssa.Value]bool) (found []way) {
	for _, b := range w.loop.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !w.blocks[b] || !w.loop.concerns(branch.Cond, errs) {
			continue
		}
		for _, s := range b.Succs {
			if side := w.loop.wayWithout(edge{b, s}, w.from, w.to); w.loop.blocks[s] && side.returns() {
				found = append(found, side)
			}
		}
	}
	return found
}

// repeatsOnOneSide returns the way on which the call is made again with the same operands,
// although what some of its errors are answered with changes them.
func (w way) repeatsOnOneSide(call *ssa.Call, errs map[ssa.Value]bool) (side way, ok bool) {
	for _, side := range w.sides(errs) {
		if same, counted := side.repeats(call); same && !counted {
			return side, true
		}
	}
	return w, false
}

// enters reports whether the way comes back to the header from pred. A continue
// that follows the branch at once makes an edge without a block of its own.
func (w way) enters(pred *ssa.BasicBlock) bool {
	return w.comesBy(pred) && !w.loop.isLastWith(pred, w.chosen) && !(w.got != nil && w.hasIt(pred))
}

// chosen returns which of its values a variable has on this way.
func (w way) chosen(v ssa.Value) ssa.Value { return w.choose(v, 4) }

// hasIt reports whether the way comes to the header, by pred, with the object that the
// call has returned, and the loop only goes on for as long as there is none.
func (w way) hasIt(pred *ssa.BasicBlock) bool {
	v, without := w.loop.goesOnWithout()
	if without == nil || !w.loop.blocks[without] {
		return false
	}
	switch v := v.(type) {
	case *ssa.Phi:
		i := slices.Index(w.loop.header.Preds, pred)
		return v.Block() == w.loop.header && isAnswer(w.choose(v.Edges[i], 4), w.got)
	case *ssa.UnOp:
		return isShared(v.X) && v.Block() == w.loop.header && w.keepsIt(v.X)
	}
	return false
}

// lacksIt reports whether the loop goes on for as long as there is no such object as a
// call returns, and the way, on which that has failed, has none.
func (w way) lacksIt(call *ssa.Call) bool {
	v, without := w.loop.goesOnWithout()
	if without == nil {
		return false
	}
	switch v := v.(type) {
	case *ssa.Phi:
		return v.Block() == w.loop.header && !slices.ContainsFunc(w.loop.header.Preds, func(pred *ssa.BasicBlock) bool {
			if !w.enters(pred) {
				return false
			}
			has := w.choose(v.Edges[slices.Index(w.loop.header.Preds, pred)], 4)
			return !isNil(has) && !isAnswer(has, call) && has != ssa.Value(v)
		})
	case *ssa.UnOp:
		return isShared(v.X) && !isWrittenElsewhere(v.X) && !slices.ContainsFunc(storesTo(v.X), func(store *ssa.Store) bool {
			return w.loop.blocks[store.Block()] && !isNil(store.Val) && !isAnswer(store.Val, call)
		})
	}
	return false
}

// keepsIt reports whether a variable holds what the call has returned when the way is at
// the header: that alone is put into it, and nothing on the way.
func (w way) keepsIt(variable ssa.Value) bool {
	kept := false
	for _, store := range storesTo(variable) {
		if w.blocks[store.Block()] {
			return false
		}
		kept = kept || isAnswer(store.Val, w.got)
	}
	return kept
}

// goesOnWithout returns the object that the condition of the loop compares with nil, and
// what follows if there is none.
func (l *loop) goesOnWithout() (object ssa.Value, without *ssa.BasicBlock) {
	branch, ok := terminator(l.header).(*ssa.If)
	if !ok {
		return nil, nil
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok || !isNil(cmp.Y) || isError(cmp.X.Type()) {
		return nil, nil
	}
	switch succs := l.header.Succs; {
	case cmp.Op == token.EQL && !l.blocks[succs[1]]:
		return cmp.X, succs[0]
	case cmp.Op == token.NEQ && !l.blocks[succs[0]]:
		return cmp.X, succs[1]
	}
	return nil, nil
}

// choose returns which of its values a variable has on this way. It looks depth choices
// back.
func (w way) choose(v ssa.Value, depth int) ssa.Value {
	phi, ok := v.(*ssa.Phi)
	if !ok || phi.Block() == w.loop.header || !w.loop.blocks[phi.Block()] || depth == 0 {
		return v
	}
	var chosen ssa.Value
	for i, pred := range phi.Block().Preds {
		if !w.takes(pred, phi.Block()) {
			continue
		}
		value := w.choose(phi.Edges[i], depth-1)
		if chosen != nil && chosen != value {
			return v
		}
		chosen = value
	}
	if chosen == nil {
		return v
	}
	return chosen
}

// comesBy reports whether the way leads to the header, by pred.
func (w way) comesBy(pred *ssa.BasicBlock) bool {
	if w.to == w.loop.header {
		return pred == w.from
	}
	return w.takes(pred, w.loop.header) && !ends(pred)
}

// returns reports whether the way comes back to the header.
func (w way) returns() bool {
	return slices.ContainsFunc(w.loop.header.Preds, w.enters)
}

// returnsTo reports whether the way comes back to a call: what it sets leads there, and
// not to another step of what the loop does.
func (w way) returnsTo(call *ssa.Call) bool {
	for i, pred := range w.loop.header.Preds {
		if w.enters(pred) && w.loop.leadsTo(call.Block(), i) {
			return true
		}
	}
	return false
}

// leadsTo reports whether a block may run in the round that an edge to the header begins.
func (l *loop) leadsTo(to *ssa.BasicBlock, edge int) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if b == to {
			return true
		}
		if seen[b] || !l.blocks[b] {
			return false
		}
		seen[b] = true
		if branch, ok := terminator(b).(*ssa.If); ok {
			if holds, known := l.begins(branch.Cond, edge, asIs); known {
				return visit(b.Succs[map[bool]int{true: 0, false: 1}[holds]])
			}
		}
		return slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool { return s != l.header && visit(s) })
	}
	return visit(l.header)
}

// leaves reports whether the way may leave the loop. A loop that no success
// leaves serves for ever: a daemon.
func (w way) leaves() bool {
	if !w.loop.blocks[w.to] {
		return w.loop.goesOn(w.to)
	}
	exits := func(b *ssa.BasicBlock) bool {
		dead, _ := w.loop.never(b)
		return slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool {
			return !w.loop.blocks[s] && s != dead && w.loop.goesOn(s)
		})
	}
	for b := range w.blocks {
		if exits(b) {
			return true
		}
	}
	// The condition of a for statement is looked at before the next round.
	return slices.ContainsFunc(w.loop.conditions(), exits) && slices.ContainsFunc(w.loop.header.Preds, w.comesBy)
}

// conditions returns the blocks that make up the condition of the loop: its header, and
// what follows that and only compares, as && and || do.
func (l *loop) conditions() (blocks []*ssa.BasicBlock) {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if !l.blocks[b] || seen[b] {
			return
		}
		seen[b] = true
		blocks = append(blocks, b)
		if slices.ContainsFunc(b.Instrs, acts) {
			return
		}
		for _, s := range b.Succs {
			visit(s)
		}
	}
	visit(l.header)
	return blocks
}

// acts reports whether an instruction does more than to compute and to branch.
func acts(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Call:
		return !isBuiltin(instr)
	case *ssa.UnOp:
		return instr.Op == token.ARROW
	case *ssa.Store, *ssa.MapUpdate, *ssa.Send, *ssa.Select, *ssa.Go, *ssa.Defer, *ssa.RunDefers, *ssa.Return, *ssa.Panic:
		return true
	}
	return false
}

// endsRound reports whether the way may leave the loop before it is at its header again.
func (w way) endsRound() bool {
	for b := range w.blocks {
		if slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool { return !w.loop.blocks[s] }) {
			return true
		}
	}
	return false
}

// mayReturn reports whether the function can return after the way has left the
// loop, and not only by another round of an outer loop.
func (w way) mayReturn() bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if seen[b] || b.Dominates(w.loop.header) {
			return false
		}
		seen[b] = true
		return len(b.Succs) == 0 || slices.ContainsFunc(b.Succs, visit)
	}
	return visit(w.to) ||
		slices.ContainsFunc(w.loop.header.Preds, w.comesBy) &&
			slices.ContainsFunc(w.loop.header.Succs, func(s *ssa.BasicBlock) bool {
				return !w.loop.blocks[s] && visit(s)
			})
}

// goesOn reports whether the function can return after block b, or begin the loop
// again, because it stands in another: it is a part of what that one does. What can do
// neither serves for ever behind it.
func (l *loop) goesOn(b *ssa.BasicBlock) bool {
	return reaches(b, func(in *ssa.BasicBlock) bool { return in == l.header || isEndOf(in) })
}

func isEndOf(b *ssa.BasicBlock) bool {
	_, panics := terminator(b).(*ssa.Panic)
	return len(b.Succs) == 0 && !panics
}

// reaches reports whether b, or a block that can follow it, is as said.
func reaches(b *ssa.BasicBlock, is func(*ssa.BasicBlock) bool) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if seen[b] {
			return false
		}
		seen[b] = true
		return is(b) || slices.ContainsFunc(b.Succs, visit)
	}
	return visit(b)
}

// behind returns the blocks that can follow b, and b.
func behind(b *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	found := map[*ssa.BasicBlock]bool{}
	reaches(b, func(in *ssa.BasicBlock) bool { found[in] = true; return false })
	return found
}

// cycle returns the blocks on the ways from a failure back to the branch that
// saw it.
func (w way) cycle() map[*ssa.BasicBlock]bool {
	on := maps.Clone(w.loop.between(w.loop.header, w.from))
	// Behind the failure only what leads back counts.
	var back func(*ssa.BasicBlock)
	back = func(b *ssa.BasicBlock) {
		if on[b] || !w.blocks[b] || ends(b) {
			return
		}
		on[b] = true
		for _, p := range b.Preds {
			back(p)
		}
	}
	for _, p := range w.loop.header.Preds {
		if !w.loop.isLast(p) && (edge{p, w.loop.header}) != w.shut {
			back(p)
		}
	}
	return on
}

// ends reports whether a block calls what does not return. The SSA form knows
// most of them; loggers and tests of other modules it knows by name only, and
// a name that misleads makes us silent.
func ends(b *ssa.BasicBlock) bool { return endsWithin(b, 3, nil) }

var ender = regexp.MustCompile(
	`(?i)^(exit|goexit|critf?|failnowf?|skip(f|now)?|terminate|noerror|checkerr(or)?|(must|expect|require|assert)([A-Z_].*)?)$|fatal|panic`)

// A depthOf is a function that is looked at with so many calls to follow.
type depthOf struct {
	fn    *ssa.Function
	depth int
}

func endsWithin(b *ssa.BasicBlock, depth int, known map[depthOf]bool) bool {
	return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		if !ok {
			return false
		}
		if call.Common().Signature().Results().Len() == 0 && (ender.MatchString(nameOf(call)) || sendsFatal(call)) ||
			isGivenTest(call) {
			return true
		}
		fn := call.Common().StaticCallee()
		if depth == 0 || fn == nil || len(fn.Blocks) == 0 || fn.Recover != nil {
			return false
		}
		at := depthOf{fn, depth - 1}
		never, judged := known[at]
		if !judged {
			if known == nil {
				known = map[depthOf]bool{}
			}
			never = neverReturns(at, known)
			known[at] = never
		}
		return never
	})
}

// sendsFatal reports whether a call sends a message that was begun as one that ends the
// program, as log.Fatal().Err(err).Msg("...") does.
func sendsFatal(call *ssa.Call) bool {
	for of, ok := call, true; ok; of, ok = receiverOf(of).(*ssa.Call) {
		if of != call && isOfLogger(of) && ender.MatchString(nameOf(of)) {
			return true
		}
	}
	return false
}

// neverReturns reports whether every way through a function of this package
// ends the program.
func neverReturns(at depthOf, known map[depthOf]bool) bool {
	return !slices.ContainsFunc(at.fn.Blocks, func(b *ssa.BasicBlock) bool {
		_, returns := terminator(b).(*ssa.Return)
		return returns && !endsWithin(b, at.depth, known)
	})
}

// isGivenTest reports whether a call, which is no method of it, is given a test:
// an assertion, which ends it.
func isGivenTest(call *ssa.Call) bool {
	args := call.Common().Args
	if len(args) > 0 && call.Common().Signature().Recv() != nil && !call.Common().IsInvoke() {
		args = args[1:]
	}
	return slices.ContainsFunc(args, func(arg ssa.Value) bool {
		if iface, ok := arg.Type().Underlying().(*types.Interface); ok {
			return slices.ContainsFunc(slices.Collect(iface.Methods()), func(m *types.Func) bool {
				return m.Name() == "FailNow"
			})
		}
		return IsTest(arg.Type())
	})
}
