package attempt

import (
	"go/types"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Stop is a channel that asks a loop to end when it is closed.
type Stop struct {
	Channel  ssa.Value
	Name     string // the name of the parameter or field, or ""
	Always   bool   // the loop checks the channel between any two attempts
	Evidence vocab.Evidence
}

// Stop returns the channel that asks the loop to end, or nil. It is a channel from which the
// loop receives before it is left, or otherwise a parameter of the function whose name says so.
func (t *Attempt) Stop() *Stop {
	for instr := range flow.Instructions(t.Loop.List) {
		s, ok := instr.(*ssa.Select)
		if !ok || !t.Run.IsReached(s.Block()) {
			continue
		}
		for _, c := range t.pkg.cases(t.Loop, s) {
			if c.start == nil || t.Loop.Contains(flow.Source(c.ch, flow.Addressed|flow.Loaded)) || !t.leadsOut(c.start) {
				continue
			}
			stop := &Stop{c.ch, channelName(c.ch), t.Run.IsPassed(s.Block()), vocab.Proven}
			switch _, timed := delayOf(c.ch); {
			case vocab.IsStopChannel(c.ch.Type()):
				return stop
			case !timed && !c.used:
				stop.Evidence = vocab.Library // it is sufficient that a value is received
				return stop
			}
		}
	}
	for _, p := range t.Fn.Params {
		if vocab.IsStopChannel(p.Type()) && vocab.StopsByName(p.Name()) && !isOwn(p) {
			return &Stop{p, p.Name(), false, vocab.Library}
		}
	}
	return nil
}

// isOwn reports whether a function may send on a channel or close it. Other code then waits for
// the function, not the reverse. The function may also do so in a function literal that
// captures the channel.
func isOwn(ch *ssa.Parameter) bool {
	return slices.ContainsFunc(flow.Refs(ch), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.Send, *ssa.Store:
			return true
		case *ssa.Select:
			return slices.ContainsFunc(ref.States, func(s *ssa.SelectState) bool {
				return s.Chan == ssa.Value(ch) && s.Dir == types.SendOnly
			})
		case ssa.CallInstruction:
			return closedBy(ref) != nil
		}
		return false
	})
}

// channelName returns the name of a channel in the source code.
func channelName(ch ssa.Value) string {
	switch ch := ch.(type) {
	case *ssa.Parameter, *ssa.FreeVar:
		return ch.Name()
	case *ssa.UnOp:
		switch x := ch.X.(type) {
		case *ssa.FieldAddr:
			return flow.FieldOf(x).Name()
		case *ssa.Alloc:
			return x.Comment
		case *ssa.FreeVar, *ssa.Global:
			return x.Name()
		}
	}
	return ""
}

// leadsOut reports whether a block may lead out of the loop before the next attempt.
func (t *Attempt) leadsOut(start *ssa.BasicBlock) bool {
	seen := set{}
	for work := []*ssa.BasicBlock{start}; len(work) > 0; {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		switch {
		case !t.Loop.Has(b), t.mayStop(b), len(b.Succs) == 0:
			return true
		case seen[b], b == t.Op.Block():
			continue
		}
		seen[b] = true
		work = append(work, b.Succs...)
	}
	return false
}

// Interrupts returns the maximum duration of a wait that only ends early by channels whose
// cases continue like the case of the timer. It returns 0 if the wait ends with a context, or
// may end the loop.
func (t *Attempt) Interrupts(w Wait) (most time.Duration) {
	s, ok := w.At.(*ssa.Select)
	if !ok || !w.Timed {
		return 0
	}
	cases := t.pkg.cases(t.Loop, s)
	i := slices.IndexFunc(cases, func(c drain) bool { _, timed := delayOf(c.ch); return timed })
	if i < 0 || len(cases) < len(s.States) {
		return 0
	}
	timeout := cases[i].start
	if timeout == nil {
		timeout = s.Block()
	}
	after := flow.Reachable(timeout, func(b *ssa.BasicBlock, _ int) bool { return b != t.Op.Block() })
	after[timeout] = true
	for _, c := range cases {
		call, ok := c.ch.(*ssa.Call)
		switch delay, timed := delayOf(c.ch); {
		case timed:
			most = max(most, Longest(delay))
		case ok && contextAsked(&call.Call) != nil, c.start != nil && !t.joins(c.start, after):
			return 0
		}
	}
	return most
}

// joins reports whether a block leads to one of the other blocks, and changes nothing on the
// path that matters there.
func (t *Attempt) joins(b *ssa.BasicBlock, others map[*ssa.BasicBlock]bool) bool {
	var from *ssa.BasicBlock
	seen := set{}
	for ; !others[b]; seen[from] = true {
		if seen[b] || len(b.Succs) != 1 || !t.Loop.Has(b) || slices.ContainsFunc(b.Instrs, t.pkg.changes) {
			return false
		}
		from, b = b, b.Succs[0]
	}
	for _, instr := range b.Instrs {
		phi, ok := instr.(*ssa.Phi)
		if !ok || from == nil {
			break
		}
		brought := phi.Edges[slices.Index(b.Preds, from)]
		for i, pred := range b.Preds {
			if t.Loop.Has(pred) && phi.Edges[i] != brought {
				return false
			}
		}
	}
	return true
}

// changes reports whether an instruction changes a variable, or has an effect that other code
// can observe.
func (p *Package) changes(instr ssa.Instruction) bool {
	_, stores := instr.(*ssa.Store)
	return stores || p.effects.Acts(instr)
}
