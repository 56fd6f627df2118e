package attempt

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// PutsBack returns the send statements of a function that, after every failure, put an item
// back into the channel from which it was received, so that it is received again immediately.
func (p *Package) PutsBack(fn *ssa.Function) (found []*ssa.Send) {
	sends := func(instr ssa.Instruction) bool { _, ok := instr.(*ssa.Send); return ok }
	for _, l := range loopsOf(fn, sends) {
		for instr := range flow.Instructions(l.List) {
			send, ok := instr.(*ssa.Send)
			if !ok || slices.Contains(found, send) {
				continue
			}
			at := receiveOf(send.X)
			if at == nil || !l.Has(at.Block()) || !isSameChannel(at, send.Chan) {
				continue
			}
			if failed := failureOnly(at, send); failed != nil && !p.pausesBetween(l, failed, send, at) {
				found = append(found, send)
			}
		}
	}
	return found
}

// receiveOf returns the instruction that received a value, or nil. The channel is an operand of
// this instruction.
func receiveOf(v ssa.Value) ssa.Instruction {
	switch at := flow.Source(v, flow.Unpacked|flow.Renamed).(type) {
	case *ssa.UnOp:
		if at.Op == token.ARROW {
			return at
		}
	case *ssa.Select:
		return at
	}
	return nil
}

// isSameChannel reports whether a receive uses the given channel: the same value, or a value
// that is read from the same memory.
func isSameChannel(receive ssa.Instruction, ch ssa.Value) bool {
	return slices.ContainsFunc(receive.Operands(nil), func(operand *ssa.Value) bool {
		if *operand == ch {
			return true
		}
		a, ok := (*operand).(*ssa.UnOp)
		b, both := ch.(*ssa.UnOp)
		if !ok || !both || a.Op != token.MUL || b.Op != token.MUL {
			return false
		}
		from, known := flow.CellAt(a.X)
		to, knownTo := flow.CellAt(b.X)
		return known && knownTo && from == to || a.X == b.X
	})
}

// failureOnly returns the block in which the failure of a call leads to the send of a received
// item. It returns nil if anything else decides whether the item is sent, such as the number of
// failures.
func failureOnly(receive ssa.Instruction, send *ssa.Send) (failed *ssa.BasicBlock) {
	for b := send.Block(); b != receive.Block(); b = b.Idom() {
		if b.Idom() == nil {
			return nil
		}
		branch := flow.Branch(b.Idom())
		if branch == nil {
			continue
		}
		cmp, ok := branch.Cond.(*ssa.BinOp)
		switch {
		case isPartOf(branch.Cond, receive), ok && isPartOf(cmp.X, receive): // a value was received
		case !ok || !flow.IsError(cmp.X.Type()) || !flow.IsNil(cmp.Y):
			return nil
		case flow.IsFailure(cmp.X, b):
			failed = b
		}
	}
	return failed
}

// isPartOf reports whether a value is one of the results of an instruction.
func isPartOf(v ssa.Value, of ssa.Instruction) bool {
	x, ok := v.(*ssa.Extract)
	return ok && x.Tuple == of.(ssa.Value)
}

// pausesBetween reports whether the loop contains another wait than the receive, may block
// after a failure, or may be left between the send and the receive.
func (p *Package) pausesBetween(l *flow.Loop, failed *ssa.BasicBlock, send *ssa.Send, receive ssa.Instruction) bool {
	others := func(w Wait) bool { return w.At != receive && l.Has(w.At.Block()) }
	if slices.ContainsFunc(p.index(send.Parent()).waits, others) {
		return true
	}
	for instr := range flow.Instructions(l.List) {
		if call, ok := instr.(*ssa.Call); ok && failed.Dominates(call.Block()) && p.mayBlock(&call.Call) {
			return true
		}
	}
	d := &drain{p: p, loop: l, at: receive, after: send}
	return !d.returns() || d.acts
}
