package flow

import (
	"go/types"
	"iter"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Run is what is executed after a call has ended in some way, until it is executed again or
// its loop is left, if it has ended in that way each time.
type Run struct {
	Op    *ssa.Call
	Loop  *Loop
	Again bool // the call may be executed again
	// Bounded reports that the call is not executed for ever: the first iterations that ended
	// so have changed what ends the loop.
	Bounded bool

	g       *graph
	base    *solution
	values  map[definition]Value    // those that differ from the base
	cut     bits                    // edges of the base that are not executed
	stopped map[*ssa.BasicBlock]int // the index of the first call of a block that does not return
	reached bits                    // by block index; of the block of Op, from its start
	pending []definition
	sources map[definition]definition // see Source
	at      int                       // the index of Op in its block

	// In the first iteration, what was computed before Op is not known to be the result of a
	// run. The second solution, of a steady run, has that restriction no more.
	steady   bool
	rest     bits // by block index: the rest of the first iteration; nil until asked for
	withheld bool // something that the steady run will know was withheld
	repeats  bits // by block index: Op may be executed again after it
}

// An Assumption gives the result i, of type t, of a call that ended in some way, or, if that is
// not nil, a field of the result, or of what it points to.
type Assumption func(i int, field *types.Var, t types.Type) Value

// After returns the run after op, a call in a loop of its function, whose results are assumed.
// It reports nil if op is never executed.
func (p *Program) After(loop *Loop, op *ssa.Call, assume Assumption) *Run {
	g := p.graph(op.Parent())
	r := &Run{Op: op, Loop: loop, g: g, base: g.always(), values: map[definition]Value{},
		cut: newBits(2 * len(g.fn.Blocks)), stopped: map[*ssa.BasicBlock]int{}, reached: slices.Clone(loop.has),
		at: indexIn(op.Block(), op)}
	if !r.base.reached[op.Block().Index] {
		return nil
	}
	if _, tuple := op.Type().(*types.Tuple); tuple {
		for _, ref := range *op.Referrers() {
			if x, ok := ref.(*ssa.Extract); ok {
				r.assume(x, x.Index, assume)
			}
		}
	} else {
		r.assume(op, 0, assume)
	}
	r.settle()
	if r.Again && r.withheld {
		if s := r.settled(); s.Again {
			r = s
		} else {
			r.Bounded = true
		}
	}
	r.findRepeats()
	return r
}

func (r *Run) assume(result ssa.Value, i int, assume Assumption) {
	r.lower(result, assume(i, nil, result.Type()))
	for _, m := range r.g.members[result] {
		r.lower(m, assume(i, m.field, m.field.Type()))
	}
}

// Branches yields the branches of the loop that the run reaches, in the order of the function.
func (r *Run) Branches() iter.Seq[*ssa.If] {
	return func(yield func(*ssa.If) bool) {
		for _, b := range r.Loop.List {
			if branch := Branch(b); branch != nil && r.IsReached(b) && !yield(branch) {
				return
			}
		}
	}
}

// ReadsAssumed reports whether a value is a field of a result of Op that is assumed.
func (r *Run) ReadsAssumed(v ssa.Value) bool {
	var d definition
	switch v := v.(type) {
	case *ssa.Field:
		d, _ = memberOf(v)
	case *ssa.UnOp:
		d = r.g.loads[v]
	}
	m, ok := d.(member)
	return ok && r.values[m].IsKnown()
}

// settled returns the run after many executions: what was computed before Op is what the
// iteration before has left.
func (r *Run) settled() *Run {
	s := *r
	s.values, s.cut, s.stopped = maps.Clone(r.values), slices.Clone(r.cut), maps.Clone(r.stopped)
	s.steady = true
	for d := range s.values {
		s.pending = append(s.pending, d)
	}
	s.settle()
	return &s
}

// settle evaluates what depends on changed values, and walks the executed edges, until neither
// changes.
func (r *Run) settle() {
	for {
		r.propagate()
		r.walk()
		for _, b := range r.Loop.List {
			if len(r.g.merges[b.Index]) > 0 && r.reached.get(b.Index) && r.isPartial(b) {
				r.meet(b)
			}
		}
		if len(r.pending) == 0 {
			return
		}
	}
}

// isPartial reports whether a block is entered by fewer edges than in the base.
func (r *Run) isPartial(b *ssa.BasicBlock) bool {
	return slices.ContainsFunc(r.g.edgesIn[b.Index], func(e int) bool { return r.base.executes[e] && !r.executed(e) })
}

// meet evaluates the merges of a block.
func (r *Run) meet(b *ssa.BasicBlock) {
	for _, m := range r.g.merges[b.Index] {
		if v, kept := r.entry(m); kept {
			r.lower(m.of, v)
		} else {
			r.lower(m.of, r.g.join(r, m))
		}
	}
}

// entry returns what a variable of the loop was when the loop was entered, if all executed
// edges leave it unchanged.
func (r *Run) entry(m *merge) (v Value, kept bool) {
	if m.block != r.Loop.Header {
		return Bottom, false
	}
	sources := map[definition]definition{}
	for i, e := range r.g.edgesIn[m.block.Index] {
		switch {
		case !r.Loop.Has(m.block.Preds[i]):
			if r.base.executes[e] {
				v = v.Join(r.base.value(m.edges[i], m.block.Preds[i]))
			}
		case r.executed(e) && r.source(m.edges[i], sources) != m.of:
			return Bottom, false
		}
	}
	return v, true
}

// source returns the definition that all executed edges bring, through merges of the loop
// except in its header. What it finds is kept in known.
func (r *Run) source(d definition, known map[definition]definition) definition {
	m := r.g.mergeOf(d)
	if m == nil || m.block == r.Loop.Header || !r.Loop.Has(m.block) {
		return d
	}
	if s, ok := known[d]; ok {
		return s
	}
	known[d] = d // in a cycle
	var one definition
	for i, e := range r.g.edgesIn[m.block.Index] {
		if !r.executed(e) {
			continue
		}
		switch s := r.source(m.edges[i], known); {
		case s == d, s == one:
		case one != nil:
			return d
		default:
			one = s
		}
	}
	if one != nil {
		known[d] = one
	}
	return known[d]
}

// Source returns the value that all executed edges bring to v, if it is a phi of the loop.
func (r *Run) Source(v ssa.Value) ssa.Value {
	if r.sources == nil {
		r.sources = map[definition]definition{}
	}
	return r.source(v, r.sources).(ssa.Value)
}

// lower records that a definition has a value below what is known of it.
func (r *Run) lower(d definition, v Value) {
	if old := r.lowest(d); old.Equal(v) || old.kind != top && v.kind != bottom {
		return
	}
	r.values[d] = v
	r.pending = append(r.pending, d)
}

// propagate evaluates what depends on lowered values.
func (r *Run) propagate() {
	for len(r.pending) > 0 {
		d := r.pending[len(r.pending)-1]
		r.pending = r.pending[:len(r.pending)-1]
		for _, reader := range r.g.readers[d] {
			r.evaluate(reader)
		}
		v, ok := d.(ssa.Value)
		if !ok {
			continue
		}
		for _, ref := range Refs(v) {
			switch ref := ref.(type) {
			case *ssa.If:
				r.branch(ref)
			case ssa.Value:
				r.evaluate(ref)
			}
		}
	}
}

func (r *Run) branch(i *ssa.If) {
	if taken, known := r.value(i.Cond, i.Block()).Truth(); known {
		k := 0
		if taken {
			k = 1
		}
		r.cut.set(edge(i.Block(), k))
	}
}

// evaluate evaluates an instruction, or a cell where paths meet.
func (r *Run) evaluate(d definition) {
	switch d := d.(type) {
	case *merge:
		if r.Loop.Has(d.block) {
			r.lower(d, r.g.join(r, d))
		}
	case *ssa.Call:
		if d != r.Op && r.Loop.Has(d.Block()) {
			r.evaluateCall(d)
		}
	case ssa.Value:
		if x, ok := d.(*ssa.Extract); ok && x.Tuple == ssa.Value(r.Op) {
			return
		}
		if r.Loop.Contains(d) {
			r.lower(d, r.g.transfer(r, d))
		}
	}
}

func (r *Run) evaluateCall(call *ssa.Call) {
	o := r.g.call(r, call)
	if !o.returns {
		b := call.Block()
		at := indexIn(b, call)
		if first, stops := r.stopped[b]; !stops || at < first {
			r.stopped[b] = at
		}
		return
	}
	if _, tuple := call.Type().(*types.Tuple); !tuple {
		r.lower(call, first(o.results))
		return
	}
	for _, ref := range *call.Referrers() {
		if x, ok := ref.(*ssa.Extract); ok && x.Index < len(o.results) {
			r.lower(x, o.results[x.Index])
		}
	}
}

// walk finds the blocks that are executed.
func (r *Run) walk() {
	r.reached = newBits(len(r.g.fn.Blocks))
	r.Again = false
	start := r.Op.Block()
	work := append(r.g.work[:0], start.Index)
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if len(r.stopped) > 0 && !r.passes(r.g.fn.Blocks[b]) {
			continue
		}
		for e := 2 * b; e < 2*b+2; e++ {
			s := r.g.target[e]
			if s < 0 || !r.base.executes[e] || r.cut.get(e) || !r.Loop.has.get(s) || r.reached.get(s) {
				continue
			}
			r.reached.set(s)
			if s == start.Index {
				stop, stops := r.stopped[start]
				r.Again = !stops || stop > r.at
				continue
			}
			work = append(work, s)
		}
	}
	r.g.work = work
}

// passes reports whether all calls of a block return, of the block of Op those after it.
func (r *Run) passes(b *ssa.BasicBlock) bool {
	stop, stops := r.stopped[b]
	return !stops || b == r.Op.Block() && stop < r.at
}

func (r *Run) level() int { return 0 }

// lowest returns what is known of a definition at the end of a descent.
func (r *Run) lowest(d definition) Value {
	if v, ok := r.values[d]; ok {
		return v
	}
	return r.base.value(d, nil)
}

func (r *Run) value(d definition, reader *ssa.BasicBlock) Value {
	v, lowered := r.values[d]
	if !lowered || !r.steady && r.isEarlier(d) && r.isRest(reader) {
		r.withheld = r.withheld || lowered
		return r.base.value(d, reader)
	}
	return v
}

// isEarlier reports whether a definition was computed before Op in the same iteration.
func (r *Run) isEarlier(d definition) bool {
	start := r.Op.Block()
	switch d := d.(type) {
	case *merge:
		return d.block.Dominates(start)
	case ssa.Instruction:
		b := d.Block()
		if b == start {
			return indexIn(b, d) < r.at
		}
		return b.Dominates(start)
	}
	return false
}

// isRest reports whether a block is executed after Op before the header.
func (r *Run) isRest(b *ssa.BasicBlock) bool {
	if r.rest == nil {
		r.rest = newBits(len(r.g.fn.Blocks))
		r.rest.set(r.Op.Block().Index)
		for work := []*ssa.BasicBlock{r.Op.Block()}; len(work) > 0; {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			for _, s := range b.Succs {
				if s != r.Loop.Header && r.Loop.Has(s) && !r.rest.get(s.Index) {
					r.rest.set(s.Index)
					work = append(work, s)
				}
			}
		}
	}
	return r.rest.get(b.Index)
}

func (r *Run) executed(e int) bool {
	b := r.g.fn.Blocks[e/2]
	return r.base.executes[e] && !r.cut.get(e) && r.IsReached(b) && r.passes(b)
}

// IsReached reports whether a block, or the rest of it after Op, is executed.
func (r *Run) IsReached(b *ssa.BasicBlock) bool { return r.reached.get(b.Index) || b == r.Op.Block() }

// Takes reports whether the edge from a block to its successor k is executed.
func (r *Run) Takes(b *ssa.BasicBlock, k int) bool { return r.executed(edge(b, k)) }

// Enters reports whether the edge from predecessor i of a block is executed.
func (r *Run) Enters(b *ssa.BasicBlock, i int) bool { return r.executed(r.g.edgesIn[b.Index][i]) }

// Stops reports whether a call in a block does not return.
func (r *Run) Stops(b *ssa.BasicBlock) bool { return !r.passes(b) || r.base.stopped[b.Index] }

// Value returns what is known of a value.
func (r *Run) Value(v ssa.Value) Value { return r.lowest(v) }

// Repeats reports whether Op may be executed again after a block.
func (r *Run) Repeats(b *ssa.BasicBlock) bool { return r.repeats.get(b.Index) }

// IsPassed reports whether a block is executed between any two executions of Op.
func (r *Run) IsPassed(b *ssa.BasicBlock) bool {
	start := r.Op.Block()
	return r.Again && (b == start || !Reachable(start, func(from *ssa.BasicBlock, k int) bool {
		return from.Succs[k] != b && r.Loop.Has(from.Succs[k]) && r.Takes(from, k)
	})[start])
}

func (r *Run) findRepeats() {
	r.repeats = newBits(len(r.g.fn.Blocks))
	if !r.Again {
		return
	}
	r.repeats.set(r.Op.Block().Index)
	work := append(r.g.work[:0], r.Op.Block().Index)
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		for _, e := range r.g.edgesIn[s] {
			if p := e / 2; !r.repeats.get(p) && r.executed(e) {
				r.repeats.set(p)
				work = append(work, p)
			}
		}
	}
	r.g.work = work
}
