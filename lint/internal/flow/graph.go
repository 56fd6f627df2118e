package flow

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A graph is a function in the form that the solvers need.
type graph struct {
	prog    *Program
	fn      *ssa.Function
	edgesIn [][]int // by block index: the edges that enter the block, in the order of its predecessors
	target  []int   // by edge: the index of the block that the edge enters, or -1
	work    []int   // scratch memory for runs
	loads   map[*ssa.UnOp]definition
	readers map[definition][]definition // the loads, and the merges of cells, that read a definition
	members map[ssa.Value][]member      // by result: the members of the result that the function reads
	merges  [][]*merge                  // by block index
	phis    map[*ssa.Phi]*merge
	base    *solution // the solution without assumptions
}

// edge returns the number of the edge from a block to its successor k.
func edge(b *ssa.BasicBlock, k int) int { return 2*b.Index + k }

// graph returns the graph of a function, which must have a body.
func (p *Program) graph(fn *ssa.Function) *graph {
	g := p.graphs[fn]
	if g != nil {
		return g
	}
	g = &graph{prog: p, fn: fn, edgesIn: make([][]int, len(fn.Blocks)), loads: map[*ssa.UnOp]definition{},
		readers: map[definition][]definition{}, members: map[ssa.Value][]member{}, phis: map[*ssa.Phi]*merge{}}
	p.graphs[fn] = g
	for _, b := range fn.Blocks {
		for k := range 2 {
			to := -1
			if k < len(b.Succs) {
				to = b.Succs[k].Index
			}
			g.target = append(g.target, to)
		}
		for i, pred := range b.Preds {
			k := slices.Index(pred.Succs, b)
			if slices.Contains(b.Preds[:i], pred) {
				k = 1 // both edges of a branch lead to this block
			}
			g.edgesIn[b.Index] = append(g.edgesIn[b.Index], edge(pred, k))
		}
	}
	g.resolve()
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			phi, ok := instr.(*ssa.Phi)
			if !ok {
				break
			}
			m := &merge{of: phi, block: b}
			for _, e := range phi.Edges {
				m.edges = append(m.edges, e)
			}
			g.phis[phi] = m
			g.merges[b.Index] = append(g.merges[b.Index], m)
		}
	}
	return g
}

// always returns the solution that holds in a function for all arguments.
func (g *graph) always() *solution {
	if g.base == nil {
		g.base = g.solve(nil, 0)
	}
	return g.base
}

// A solution is the result of conditional constant propagation from the entry of a function.
type solution struct {
	g        *graph
	depth    int
	args     []Value // values of the parameters; nil if nothing is known
	values   map[definition]Value
	executes []bool // by edge
	reached  []bool // by block index
	stopped  []bool // by block index: the block contains a call that does not return
	changed  bool
}

// solve propagates from the entry until nothing changes.
func (g *graph) solve(args []Value, depth int) *solution {
	s := &solution{g: g, depth: depth, args: args, values: map[definition]Value{},
		executes: make([]bool, 2*len(g.fn.Blocks)), reached: make([]bool, len(g.fn.Blocks)),
		stopped: make([]bool, len(g.fn.Blocks))}
	s.reached[0] = true
	for s.changed = true; s.changed; {
		s.changed = false
		for _, b := range g.fn.Blocks {
			if s.reached[b.Index] {
				s.execute(b)
			}
		}
	}
	return s
}

// execute evaluates the instructions of a block, and marks the edges by which it is left.
func (s *solution) execute(b *ssa.BasicBlock) {
	s.stopped[b.Index] = false
	for _, m := range s.g.merges[b.Index] {
		s.raise(m.of, s.g.join(s, m))
	}
	for _, instr := range b.Instrs {
		switch instr := instr.(type) {
		case *ssa.Phi:
		case *ssa.If:
			cond := s.value(instr.Cond, b)
			if isImpossible(b.Succs[1]) {
				cond = Bool(true)
			}
			if taken, known := cond.Truth(); known {
				s.leave(b, taken)
			} else if cond.kind != bottom {
				s.leave(b, true)
				s.leave(b, false)
			}
		case *ssa.Jump:
			s.leave(b, true)
		case *ssa.Call:
			o := s.g.call(s, instr)
			if !o.returns {
				s.stopped[b.Index] = true
				return
			}
			s.raise(instr, first(o.results))
		case ssa.Value:
			s.raise(instr, s.g.transfer(s, instr))
		}
	}
}

// isImpossible reports whether the SSA form has added a block for an impossible case, such as a
// blocking select that has chosen none of its cases. The panic in such a block has no position
// in the source.
func isImpossible(b *ssa.BasicBlock) bool {
	last, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Panic)
	return ok && !last.Pos().IsValid()
}

// first returns the first result, or Top if there are no results.
func first(results []Value) Value {
	if len(results) == 0 {
		return Top
	}
	return results[0]
}

// leave marks the edge to the first successor or, if toFirst is false, the edge to the second.
func (s *solution) leave(b *ssa.BasicBlock, toFirst bool) {
	k := 1
	if toFirst {
		k = 0
	}
	if e := edge(b, k); !s.executes[e] {
		s.executes[e], s.reached[b.Succs[k].Index], s.changed = true, true, true
	}
}

func (s *solution) raise(d definition, v Value) {
	old := s.values[d]
	if joined := old.Join(v); !joined.Equal(old) {
		s.values[d], s.changed = joined, true
	}
}

func (s *solution) executed(e int) bool { return s.executes[e] }

func (s *solution) level() int { return s.depth }

func (s *solution) value(d definition, _ *ssa.BasicBlock) Value {
	switch d := d.(type) {
	case Value:
		return d
	case member:
		return Top
	case ssa.Value:
		if v, ok := literal(d); ok {
			return v
		}
		if param, ok := d.(*ssa.Parameter); ok {
			if i := slices.Index(s.g.fn.Params, param); i < len(s.args) {
				return s.args[i]
			}
			return Top
		}
		if _, captured := d.(*ssa.FreeVar); captured {
			return NonNil
		}
	}
	return s.values[d]
}

// outcome joins the results of the executed return instructions.
func (s *solution) outcome() outcome {
	o := outcome{results: make([]Value, s.g.fn.Signature.Results().Len())}
	for ret := range Returns(s.g.fn) {
		b := ret.Block()
		if !s.reached[b.Index] || s.stopped[b.Index] {
			continue
		}
		o.returns = true
		for i, v := range ret.Results {
			o.results[i] = o.results[i].Join(s.value(v, b))
		}
	}
	return o
}
