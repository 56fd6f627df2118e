package durablerun

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Use describes for what a source is used.
type Use uint8

// The uses.
const (
	ForID       Use = iota // the id of a step or a scope
	ForArgument            // an argument that is recorded
	ForDecision            // the decision whether the step is called
)

// A Cause describes why the next execution of a run may call a step differently.
type Cause struct {
	Kind     Kind
	Use      Use
	Evidence vocab.Evidence
	Step     string // the name of the function that calls the step
}

// A Difference is a call of a step that differs in the next execution of its run.
type Difference struct {
	Cause
	Source ssa.Instruction // the instruction whose result differs, or nil if it is in another package
	At     token.Pos       // the position of the call or of the branch
}

// Difference returns how a call of a step may differ in the next execution of its run, in its
// id or otherwise in an argument, or nil. A difference in a value that a function of the
// package computes counts as a difference in this function.
func (p *Package) Difference(s *Step) *Difference {
	run := p.RunOf(s.Context)
	if run != Within && (run != Unknown || !s.Needs) {
		return nil
	}
	if d := p.differs(s); d != nil {
		if run == Unknown {
			d.Evidence = vocab.Named // this may be the context of a step
		}
		return d
	}
	if s.cause != nil && run == Within {
		d := &Difference{*s.cause, nil, s.Call.Pos()}
		d.Step += " in " + s.Name()
		return d
	}
	return nil
}

// differs returns the difference of a call of a step in a run, or nil.
func (p *Package) differs(s *Step) *Difference {
	id := p.trace(s.ID...)
	id.all(slices.Collect(scopesOf(s.Context))...)
	sources, use := id.sourcesAt(s.Call.Block()), ForID
	if len(sources) == 0 {
		sources, use = p.trace(s.Compared...).sourcesAt(s.Call.Block()), ForArgument
	}
	if len(sources) == 0 {
		return nil
	}
	return sources[0].differs(use, s, s.Call.Pos())
}

// differs returns the difference in a step that a source causes.
func (s Source) differs(use Use, step *Step, at token.Pos) *Difference {
	return &Difference{Cause{s.Kind, use, s.Evidence, step.Name()}, s.At, at}
}

// causeOf returns why a function calls a step in its summary differently in each execution, or
// nil.
func (p *Package) causeOf(s *Step) *Cause {
	for ; s != nil; s = s.of {
		if d := p.differs(s); d != nil {
			return &d.Cause
		}
		if s.cause != nil {
			return s.cause
		}
	}
	return nil
}

// Decisions returns the steps that a function calls depending on a value which differs in the
// next execution of their run. On one side of a branch, the step is not called, and the
// function may return without an error.
func (p *Package) Decisions(fn *ssa.Function) (all []*Difference) {
	var steps []*Step
	for _, s := range p.Steps {
		if s.Call.Parent() == fn && p.RunOf(s.Context) == Within {
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	for _, b := range fn.Blocks {
		branch := flow.Branch(b)
		if branch == nil {
			continue
		}
		sources := p.trace(branch.Cond).sourcesAt(b)
		if len(sources) == 0 {
			continue
		}
		if s := decided(b, steps); s != nil {
			all = append(all, sources[0].differs(ForDecision, s, branch.Cond.Pos()))
		}
	}
	return all
}

// decided returns a step that is called only on one side of a branch, or nil.
func decided(b *ssa.BasicBlock, steps []*Step) *Step {
	var sides [2]map[*ssa.BasicBlock]bool
	for k := range sides {
		side := b.Succs[k]
		sides[k] = map[*ssa.BasicBlock]bool{}
		if side != b {
			sides[k] = flow.Reachable(side, func(from *ssa.BasicBlock, i int) bool { return from.Succs[i] != b })
			sides[k][side] = true
		}
	}
	for _, s := range steps {
		for k, side := range sides {
			if side[s.Call.Block()] && !sides[1-k][s.Call.Block()] && goesOn(sides[1-k], steps) {
				return s
			}
		}
	}
	return nil
}

// goesOn reports whether the given blocks call a step, or return without an error.
func goesOn(side map[*ssa.BasicBlock]bool, steps []*Step) bool {
	for b := range side {
		if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && b != b.Parent().Recover && mayBeNil(ret) {
			return true
		}
	}
	return slices.ContainsFunc(steps, func(s *Step) bool { return side[s.Call.Block()] })
}

// mayBeNil reports whether a return instruction returns no error, or the constant nil.
func mayBeNil(ret *ssa.Return) bool {
	n := len(ret.Results)
	return n == 0 || !flow.IsError(ret.Results[n-1].Type()) || flow.IsNil(ret.Results[n-1])
}
