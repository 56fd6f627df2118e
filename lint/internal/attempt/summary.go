package attempt

import (
	"go/token"
	"go/types"
	"iter"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Waiting describes on how many paths a function waits.
type Waiting uint8

// The values of Waiting.
const (
	Never Waiting = iota
	Sometimes
	Always
)

// A Summary contains what callers need to know about a function. The zero value describes a
// function that only computes. Summary is a fact of go/analysis.
type Summary struct {
	Exits        bool // the function never returns
	FalseOnError bool // the function returns false if and only if a call in it failed
	NilOnError   bool // the function returns nil if and only if a call in it failed
	State        Why  // what its results depend on in addition to its arguments; 0 for a function that judges errors

	Waits        Waiting       // whether it waits for a time
	Max          time.Duration // the maximum wait, in addition to MaxParameter
	MaxParameter int           // the index of the parameter with the duration of a wait, or -1
	Heeds        bool          // a context ends a wait
	Blocks       bool          // it may block for another reason

	Roles vocab.Role // the roles of the functions that it calls; Exits: some path does not return

	known bool // the function has a body or a fact
}

// inherited contains the roles that a function has if it calls a function with these roles.
const inherited = vocab.Exits | vocab.Remote | vocab.Random | vocab.Asks | vocab.Locks

// Is reports whether a function has one of the given roles.
func (s *Summary) Is(roles vocab.Role) bool { return s.Roles&roles != 0 }

// AFact marks Summary as a fact.
func (*Summary) AFact() {}

// unknown is the summary of a function about which nothing is known.
var unknown = &Summary{State: Unknown, MaxParameter: -1}

// summaryOf returns the summary of a call's callee.
func (p *Package) summaryOf(call *ssa.CallCommon) *Summary {
	obj, fn := flow.StaticCallee(call)
	switch {
	case fn != nil:
		return p.summary(fn)
	case obj != nil && !call.IsInvoke():
		return p.importedSummary(obj)
	}
	return unknown
}

// importedSummary returns the summary of a function of another package.
func (p *Package) importedSummary(obj *types.Func) *Summary {
	if s, ok := p.facts.Load(obj.Origin()); ok {
		return s.(*Summary)
	}
	s := p.imported(obj.Origin())
	if s == nil {
		s = unknown
	} else {
		s.known = true
	}
	p.facts.Store(obj.Origin(), s)
	return s
}

// summary returns the summary of a function with a body. It summarizes callees first. A
// recursive call adds nothing.
func (p *Package) summary(fn *ssa.Function) *Summary {
	if s := p.summaries[fn]; s != nil {
		return s
	}
	if p.complete {
		return unknown // no function in the package calls it
	}
	s := &Summary{MaxParameter: -1, known: true}
	p.summaries[fn] = s
	sum := &summarizer{p: p, fn: fn, s: s, waits: map[*ssa.BasicBlock]bool{}, stops: map[*ssa.BasicBlock]bool{}}
	for instr := range flow.Instructions(fn.Blocks) {
		sum.add(instr)
	}
	if s.Waits != Never && sum.passes(sum.waits) {
		s.Waits = Always
	}
	s.Exits = sum.passes(sum.stops)
	if s.Exits {
		s.Roles |= vocab.Exits
	}
	p.summarizeFailure(fn, s)
	return s
}

// summarizeFailure finds whether the only result of a function reports that a call in it
// failed.
func (p *Package) summarizeFailure(fn *ssa.Function, s *Summary) {
	results := fn.Signature.Results()
	if results.Len() != 1 || fn.Object() == nil {
		return
	}
	obj, ok := fn.Object().(*types.Func)
	if !ok || vocab.Of(obj).Is(vocab.Judges) {
		return
	}
	switch t := results.At(0).Type(); {
	case flow.IsError(t):
	case flow.IsBool(t):
		s.FalseOnError = p.reportsFailure(fn, flow.Bool(false), flow.Bool(true))
	default:
		switch t.Underlying().(type) {
		case *types.Pointer, *types.Interface:
			s.NilOnError = p.reportsFailure(fn, flow.Nil, flow.NonNil)
		}
	}
}

// reportsFailure reports whether a function contains a call after whose failure it returns one
// value on all paths, and after whose success it returns another.
func (p *Package) reportsFailure(fn *ssa.Function, failed, passed flow.Value) bool {
	if p.returnsOtherwise(fn, failed) {
		return false
	}
	for instr := range flow.Instructions(fn.Blocks) {
		call, ok := instr.(*ssa.Call)
		if !ok || known(&call.Call).Is(vocab.Pure) || !flow.ReturnsError(call.Call.Signature()) {
			continue
		}
		e := ofError(call.Call.Signature().Results().Len())
		if p.returns(call, e.failed, failed) && p.returns(call, e.passed, passed) {
			return true
		}
	}
	return false
}

// returns reports whether a function returns want, and no error in addition, after a call that
// ends as assumed.
func (p *Package) returns(call *ssa.Call, assume flow.Assumption, want flow.Value) bool {
	fn := call.Parent()
	run := p.flow.After(flow.Whole(fn), call, assume)
	if run == nil {
		return false
	}
	any := false
	for ret := range flow.Returns(fn) {
		if !run.IsReached(ret.Block()) || run.Stops(ret.Block()) {
			continue
		}
		last := ret.Results[len(ret.Results)-1]
		if !run.Value(ret.Results[0]).Equal(want) || flow.IsError(last.Type()) && !run.Value(last).Equal(flow.Nil) {
			return false
		}
		any = true
	}
	return any
}

// returnsOtherwise reports whether a function also returns a value on a path that does not
// depend on an error.
func (p *Package) returnsOtherwise(fn *ssa.Function, value flow.Value) bool {
	for ret := range flow.Returns(fn) {
		b := ret.Block()
		if !p.flow.Always(fn, ret.Results[0]).Equal(value) {
			continue
		}
		for len(b.Preds) == 1 {
			b = b.Preds[0]
			if branch := flow.Branch(b); branch != nil {
				if cmp, ok := branch.Cond.(*ssa.BinOp); ok && !flow.IsError(cmp.X.Type()) {
					return true
				}
				break
			}
		}
	}
	return false
}

// A summarizer combines the effects of a function's instructions.
type summarizer struct {
	p     *Package
	fn    *ssa.Function
	s     *Summary
	waits map[*ssa.BasicBlock]bool // blocks that wait whenever they are executed
	stops map[*ssa.BasicBlock]bool // blocks with a call that does not return
}

func (m *summarizer) add(instr ssa.Instruction) {
	switch instr := instr.(type) {
	case *ssa.Store:
		if _, variable := instr.Addr.(*ssa.Alloc); !variable && !isLocal(instr.Addr) {
			m.s.State |= Count
		}
	case *ssa.MapUpdate, *ssa.Send:
		m.s.State |= Count
	case *ssa.Select:
		m.s.State |= Signal
		m.wait(instr)
	case *ssa.UnOp:
		m.load(instr)
	case *ssa.Go: // the goroutine runs independently
	case ssa.CallInstruction:
		m.call(instr)
	}
}

// load adds the effect of a load or a receive.
func (m *summarizer) load(instr *ssa.UnOp) {
	switch x := instr.X.(type) {
	case *ssa.Global:
		if !flow.IsError(instr.Type()) && !m.p.effects.IsConstant(x) {
			m.s.State |= Flag
		}
	case *ssa.FieldAddr:
		if !isLocal(x) && !m.p.effects.IsConstant(x) && !isPartOfError(x.X) {
			m.s.State |= Flag
		}
	}
	if instr.Op == token.ARROW {
		m.s.State |= Signal
		m.wait(instr)
	}
}

// wait adds an instruction, if it may wait.
func (m *summarizer) wait(instr ssa.Instruction) {
	w, ok := m.p.wait(instr)
	if !ok {
		return
	}
	if w.Heeds && w.Max == NoLimit {
		m.s.Blocks = true
		return
	}
	m.s.Waits = Sometimes
	m.s.Heeds = m.s.Heeds || w.Heeds
	m.waits[instr.Block()] = m.waits[instr.Block()] || w.Always
	m.limit(w)
}

// limit adds the maximum duration of a wait.
func (m *summarizer) limit(w Wait) {
	if i := w.parameter(); i >= 0 && m.s.MaxParameter < 0 {
		m.s.MaxParameter = i
		return
	}
	m.s.Max = max(m.s.Max, w.Max)
}

// call adds the effect of a call.
func (m *summarizer) call(instr ssa.CallInstruction) {
	common, s := instr.Common(), m.s
	if _, builtin := common.Value.(*ssa.Builtin); builtin {
		return
	}
	if contextAsked(common) != nil {
		s.State |= Context
		return
	}
	k := known(common)
	if call, ok := instr.(*ssa.Call); ok {
		m.wait(call)
		if k.Is(vocab.Exits) && k.Evidence >= vocab.Library || m.p.summaryOf(common).Exits {
			m.stops[call.Block()] = true
		}
	}
	s.Roles |= k.Role & inherited
	switch {
	case k.Is(vocab.Clock):
		s.State |= Clock
		return
	case k.Is(vocab.Loads):
		s.State |= Flag
		return
	case k.Is(vocab.Pure), k.Is(vocab.Waits|vocab.Logs) && k.Evidence >= vocab.Library:
		return
	case k.Is(vocab.Asks):
		s.State |= Person
	}
	if callee := m.p.summaryOf(common); callee.known {
		s.State |= callee.State
		s.Roles |= callee.Roles
	} else if !k.Is(vocab.Logs|vocab.Judges|vocab.Makes|vocab.Cleans) &&
		!(common.IsInvoke() && flow.IsErrorLike(common.Value.Type())) {
		s.State |= Unknown
	}
}

// passes reports whether all paths to a return contain one of the given blocks.
func (m *summarizer) passes(blocks map[*ssa.BasicBlock]bool) bool {
	entry := m.fn.Blocks[0]
	reached := flow.Reachable(entry, func(b *ssa.BasicBlock, _ int) bool { return !blocks[b] })
	reached[entry] = true
	for b := range reached {
		if _, returns := b.Instrs[len(b.Instrs)-1].(*ssa.Return); returns && !blocks[b] {
			return false
		}
	}
	return true
}

// isPartOfError reports whether v is an error, or part of one.
func isPartOfError(v ssa.Value) bool {
	for v != nil && !flow.IsErrorLike(v.Type()) {
		v = flow.Back(v, flow.Loaded|flow.Addressed|flow.Unpacked|flow.Asserted)
	}
	return v != nil
}

// isLocal reports whether an address is in a local variable of the function.
func isLocal(v ssa.Value) bool {
	_, local := flow.Source(v, flow.Addressed|flow.Sliced).(*ssa.Alloc)
	return local
}

// Exported yields the summaries that contain information for packages that import this one.
func (p *Package) Exported() iter.Seq2[*types.Func, *Summary] {
	return func(yield func(*types.Func, *Summary) bool) {
		for fn, s := range p.summaries {
			obj, ok := fn.Object().(*types.Func)
			if ok && obj.Pkg() == p.types && fn.Parent() == nil && s.isInformative() && !yield(obj, s) {
				return
			}
		}
	}
}

// isInformative reports whether a summary contains any information.
func (s *Summary) isInformative() bool {
	return s.Exits || s.FalseOnError || s.NilOnError || s.State&Unknown == 0 || s.Waits != Never || s.Blocks ||
		s.Is(vocab.Remote|vocab.Random|vocab.Asks|vocab.Locks)
}
