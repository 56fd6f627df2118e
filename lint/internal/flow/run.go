package flow

import (
	"go/types"
	"iter"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Run describes the code that is executed after a call has ended in a certain way, until the
// call is executed again or its loop is left. It assumes that each execution of the call ends
// in the same way.
type Run struct {
	Op    *ssa.Call
	Loop  *Loop
	Again bool // the call may be executed again
	// Bounded reports that the call is not executed forever: after some iterations that ended
	// in this way, the loop is left.
	Bounded bool

	g       *graph
	base    *solution
	values  map[definition]Value    // values that differ from the base
	cut     bits                    // edges of the base that are not executed
	stopped map[*ssa.BasicBlock]int // by block: the index of its first call that does not return
	reached bits                    // by block index; for the block of Op, from its start
	pending []definition
	sources map[definition]definition // see Source
	at      int                       // the index of Op in its block

	// In the first iteration, values that were computed before Op do not necessarily result
	// from a run. For the second solution, of a steady run, this restriction does not apply.
	steady   bool
	rest     bits // by block index: the rest of the first iteration; nil until it is needed
	withheld bool // a value was withheld that the steady run will know
	repeats  bits // by block index: Op may be executed again after the block
}

// An Assumption returns the value of result i, of type t, of a call that has ended in a certain
// way. If field is not nil, it returns the value of this field of the result, or of the struct
// to which the result points.
type Assumption func(i int, field *types.Var, t types.Type) Value

// After returns the run after op, a call in a loop of its function, under an assumption about
// its results. It returns nil if op is never executed.
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

// ReadsAssumed reports whether a value is a field of a result of Op whose value is assumed.
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

// settled returns the run after many executions. Values that are computed before Op then result
// from the preceding iteration.
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

// settle evaluates definitions that depend on changed values, and follows the executed edges,
// until neither changes.
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

// entry returns the value that a loop variable had when the loop was entered, if all executed
// edges keep it.
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

// source returns the only definition that all executed edges pass to d, through merges in the
// loop except in its header. It stores its results in known.
func (r *Run) source(d definition, known map[definition]definition) definition {
	m := r.g.mergeOf(d)
	if m == nil || m.block == r.Loop.Header || !r.Loop.Has(m.block) {
		return d
	}
	if s, ok := known[d]; ok {
		return s
	}
	known[d] = d // for a cycle
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

// Source returns the only value that all executed edges pass to v, if v is a phi in the loop.
func (r *Run) Source(v ssa.Value) ssa.Value {
	if r.sources == nil {
		r.sources = map[definition]definition{}
	}
	return r.source(v, r.sources).(ssa.Value)
}

// lower records that a definition has a value below the known one.
func (r *Run) lower(d definition, v Value) {
	if old := r.lowest(d); old.Equal(v) || old.kind != top && v.kind != bottom {
		return
	}
	r.values[d] = v
	r.pending = append(r.pending, d)
}

// propagate evaluates definitions that depend on lowered values.
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

// evaluate evaluates an instruction, or the merge of a cell.
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

// passes reports whether all calls in a block return. In the block of Op, only the calls after
// Op count.
func (r *Run) passes(b *ssa.BasicBlock) bool {
	stop, stops := r.stopped[b]
	return !stops || b == r.Op.Block() && stop < r.at
}

func (r *Run) level() int { return 0 }

// lowest returns what is known about a definition at the end of the descent.
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

// isEarlier reports whether a definition is computed before Op in the same iteration.
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

// isRest reports whether a block is executed after Op and before the header.
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

// IsReached reports whether a block is executed. For the block of Op, it reports true, because
// the part after Op is executed.
func (r *Run) IsReached(b *ssa.BasicBlock) bool { return r.reached.get(b.Index) || b == r.Op.Block() }

// Takes reports whether the edge from a block to its successor k is executed.
func (r *Run) Takes(b *ssa.BasicBlock, k int) bool { return r.executed(edge(b, k)) }

// Enters reports whether the edge from predecessor i of a block is executed.
func (r *Run) Enters(b *ssa.BasicBlock, i int) bool { return r.executed(r.g.edgesIn[b.Index][i]) }

// Stops reports whether a call in a block does not return.
func (r *Run) Stops(b *ssa.BasicBlock) bool { return !r.passes(b) || r.base.stopped[b.Index] }

// Value returns what is known about a value.
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
