package attempt

import (
	"go/types"
	"slices"
	"sync"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/policies"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Package holds the attempts and summaries of one package. After it is complete, it may be
// used concurrently.
type Package struct {
	Attempts   []*Attempt // in the order of the functions, inner loops first
	Recursions []*Attempt // functions that call themselves again after an operation has failed
	Policies   *policies.Set

	types     *types.Package
	fns       []*ssa.Function
	flow      *flow.Program
	effects   *effect.Package
	imported  func(*types.Func) *Summary
	summaries map[*ssa.Function]*Summary
	indexes   map[*ssa.Function]*index
	facts     sync.Map // the summaries of other packages, by *types.Func
	complete  bool     // summaries and indexes no longer change

	methods    methods
	operations operations
	lifetimes  lifetimes
	closes     struct {
		once  sync.Once
		elems []types.Type
	}
}

// An index lists the instructions of a function that several queries need.
type index struct {
	waits    []Wait
	stores   map[flow.Cell][]*ssa.Store
	writes   []ssa.Instruction // stores, map updates, and calls of copy
	contexts []contextUse
	stoppers map[*ssa.BasicBlock][]*ssa.Call // calls that may not return
	resets   []*ssa.Call                     // calls that restart a timer
}

// Find returns the attempts of the functions of a package. imported returns the summary of a
// function of another package, or nil if there is none.
func Find(pkg *types.Package, fns []*ssa.Function, effects *effect.Package,
	imported func(*types.Func) *Summary) *Package {
	fns = slices.DeleteFunc(slices.Clone(fns), func(fn *ssa.Function) bool { return len(fn.Blocks) == 0 }) // in assembly
	p := &Package{types: pkg, fns: fns, Policies: policies.New(fns, effects), effects: effects, imported: imported,
		summaries: map[*ssa.Function]*Summary{}, indexes: map[*ssa.Function]*index{},
		lifetimes: lifetimes{solved: map[ssa.Value]Lifetime{}}}
	p.flow = flow.NewProgram(func(call *ssa.CallCommon) flow.Callee {
		ctx := contextAsked(call)
		return flow.Callee{Exits: p.summaryOf(call).Exits, Nil: ctx != nil && returnsError(call) && p.NeverEnds(ctx)}
	})
	for _, fn := range fns {
		p.Attempts = append(p.Attempts, p.find(fn)...)
		p.Recursions = append(p.Recursions, p.findRecursions(fn)...)
	}
	for _, fn := range fns {
		p.summary(fn)
		p.index(fn)
	}
	p.complete = true
	return p
}

// find returns the attempts of a function.
func (p *Package) find(fn *ssa.Function) (attempts []*Attempt) {
	for _, l := range flow.Loops(fn) {
		for instr := range flow.Instructions(l.List) {
			if op, ok := instr.(*ssa.Call); ok && isOperation(op) {
				if t := p.attempt(l, op); t != nil {
					attempts = append(attempts, t)
				}
			}
		}
	}
	return attempts
}

// index returns the index of a function.
func (p *Package) index(fn *ssa.Function) *index {
	x := p.indexes[fn]
	if x != nil {
		return x
	}
	x = &index{stores: map[flow.Cell][]*ssa.Store{}, stoppers: map[*ssa.BasicBlock][]*ssa.Call{}}
	if !p.complete {
		p.indexes[fn] = x
	}
	for instr := range flow.Instructions(fn.Blocks) {
		if w, ok := p.wait(instr); ok {
			x.waits = append(x.waits, w)
		}
		p.add(x, instr)
	}
	return x
}

func (p *Package) add(x *index, instr ssa.Instruction) {
	switch instr := instr.(type) {
	case *ssa.Store:
		if c, ok := flow.CellAt(instr.Addr); ok {
			x.stores[c] = append(x.stores[c], instr)
		}
		x.writes = append(x.writes, instr)
	case *ssa.MapUpdate:
		x.writes = append(x.writes, instr)
	case *ssa.Call:
		if b, ok := instr.Call.Value.(*ssa.Builtin); ok {
			if b.Name() == "copy" {
				x.writes = append(x.writes, instr)
			}
			return
		}
		if p.mayStop(&instr.Call) {
			x.stoppers[instr.Block()] = append(x.stoppers[instr.Block()], instr)
		}
		if args := instr.Call.Args; len(args) > 0 && !instr.Call.IsInvoke() && vocab.IsTimer(args[0].Type()) &&
			known(&instr.Call).Is(vocab.Clock) {
			x.resets = append(x.resets, instr)
		}
	}
	if call, ok := instr.(ssa.CallInstruction); ok {
		if use, uses := contextUseOf(call); uses {
			x.contexts = append(x.contexts, use)
		}
	}
}
