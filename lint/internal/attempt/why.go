package attempt

import (
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Why is the set of the things on which a branch depends.
type Why uint32

// The elements of a Why.
const (
	Outcome Why = 1 << iota // whether the operation failed
	Class                   // which error the operation returned
	Answer                  // another result of the operation
	Fixed                   // values that are the same in each iteration
	Setting                 // a parameter, or a field that is set only during construction
	Other                   // whether another operation of the loop failed
	Count                   // memory that an iteration changes
	Clock                   // the time
	Context                 // a context that may end
	Signal                  // a channel, or a function that reports a request to stop
	Flag                    // memory that other functions may change
	Item                    // the next of several items
	Awaited                 // a timer that is created in the loop; it always fires
	Unknown                 // an unknown call
	Person                  // the answer of a person
	Renewed                 // a count, a timer or an object that each iteration resets
	Dead                    // a context that never ends
)

// adversary contains everything that the failure itself decides: a branch on it may take the
// worse edge each time.
const adversary = Outcome | Class | Answer | Fixed | Setting | Awaited | Renewed | Dead

// A judge finds what values depend on. Without a run, it considers a whole function.
//
// Values that depend on each other get the least consistent sets. Each round adds to the
// results of the previous round, until a round adds nothing.
type judge struct {
	p   *Package
	fn  *ssa.Function // set if there is no run
	run *flow.Run

	found map[ssa.Value]Why
	final map[ssa.Value]bool // the entry in found is complete
	round map[ssa.Value]bool // the values that the current round has visited; nil if there is no current round
	grown bool               // the current round has added something
	met   bool               // in the current round, more than one value depends on another
}

// why returns what a value depends on.
func (j *judge) why(v ssa.Value) Why {
	instr, ok := v.(ssa.Instruction)
	if !ok {
		if _, param := v.(*ssa.Parameter); param && j.run != nil {
			return Fixed | Setting
		}
		return Fixed
	}
	if !j.has(instr.Block()) {
		if _, made := v.(*ssa.Alloc); made || flow.IsError(v.Type()) {
			return Fixed
		}
		return Fixed | Setting
	}
	if j.found == nil {
		j.found, j.final = map[ssa.Value]Why{}, map[ssa.Value]bool{}
	}
	if j.round != nil {
		return j.look(v)
	}
	for again := !j.final[v]; again; again = j.grown && j.met {
		j.round, j.grown, j.met = map[ssa.Value]bool{}, false, false
		j.look(v)
	}
	maps.Copy(j.final, j.round)
	j.round = nil
	return j.found[v]
}

// look visits a value once in each round.
func (j *judge) look(v ssa.Value) Why {
	if j.final[v] {
		return j.found[v]
	}
	if j.round[v] {
		j.met = true
		return j.found[v]
	}
	j.round[v] = true
	w := j.found[v] | j.because(v)
	j.grown = j.grown || w != j.found[v]
	j.found[v] = w
	return w
}

// has reports whether a block belongs to the code that is judged.
func (j *judge) has(b *ssa.BasicBlock) bool { return j.run == nil || j.run.Loop.Has(b) }

func (j *judge) isReached(b *ssa.BasicBlock) bool {
	return j.has(b) && (j.run == nil || j.run.IsReached(b))
}

func (j *judge) enters(b *ssa.BasicBlock, i int) bool { return j.run == nil || j.run.Enters(b, i) }

// repeats reports whether the operation may be executed again after a block.
func (j *judge) repeats(b *ssa.BasicBlock) bool { return j.run.Loop.Has(b) && j.run.Repeats(b) }

// op returns the operation, or nil.
func (j *judge) op() *ssa.Call {
	if j.run == nil {
		return nil
	}
	return j.run.Op
}

func (j *judge) all(values ...ssa.Value) (w Why) {
	for _, v := range values {
		if v != nil {
			w |= j.why(v)
		}
	}
	return w
}

func (j *judge) because(v ssa.Value) Why {
	if j.run != nil && j.run.ReadsAssumed(v) {
		if flow.IsError(v.Type()) {
			return Outcome
		}
		return Outcome | Class
	}
	switch v := v.(type) {
	case *ssa.Phi:
		return j.phi(v)
	case *ssa.Extract:
		return j.extract(v)
	case *ssa.BinOp:
		return j.binary(v)
	case *ssa.Call:
		if v == j.op() {
			return Outcome
		}
		return j.call(v)
	case *ssa.UnOp:
		switch v.Op {
		case token.ARROW:
			return j.channel(v.X)
		case token.MUL:
			return j.load(v)
		}
		return j.why(v.X)
	case *ssa.Select:
		return j.choice(v)
	case *ssa.Next, *ssa.Range:
		return Item
	case *ssa.Lookup:
		return j.lookup(v)
	case *ssa.Alloc, *ssa.MakeClosure, *ssa.MakeMap, *ssa.MakeSlice:
		return Fixed
	}
	w := Fixed
	for _, operand := range v.(ssa.Instruction).Operands(nil) {
		w |= j.all(*operand)
	}
	return w
}

func (j *judge) extract(v *ssa.Extract) Why {
	switch tuple := v.Tuple.(type) {
	case *ssa.Select:
		return j.choice(tuple)
	case *ssa.Call:
		switch {
		case tuple == j.op() && flow.IsError(v.Type()):
			return Outcome
		case tuple == j.op():
			return Class | Answer
		case flow.IsError(v.Type()) && isOperation(tuple):
			if known(&tuple.Call).Is(vocab.Makes) && j.all(tuple.Call.Args...)&^(Fixed|Setting|Flag) == 0 {
				return Fixed // the same value as in earlier iterations
			}
			return Other
		}
	}
	return j.why(v.Tuple)
}

func (j *judge) binary(v *ssa.BinOp) Why {
	if x, ok := v.X.(*ssa.Extract); ok && x.Index == 0 {
		if s, ok := x.Tuple.(*ssa.Select); ok {
			return j.choice(s) // all cases are one decision, because any may be first
		}
	}
	w := j.all(v.X, v.Y)
	if v.Op == token.ADD && isConst(v.X) && isConst(v.Y) {
		w |= Renewed
	}
	if w&Outcome != 0 && flow.IsError(v.X.Type()) && !flow.IsNil(v.Y) {
		w |= Class // compared with a particular error
	}
	return w
}

func isConst(v ssa.Value) bool {
	_, ok := v.(*ssa.Const)
	return ok
}

func (j *judge) lookup(v *ssa.Lookup) Why {
	w := j.all(v.X, v.Index)
	if _, isMap := v.X.Type().Underlying().(*types.Map); !isMap {
		return w
	}
	for _, ref := range flow.Refs(v.X) {
		if m, ok := ref.(*ssa.MapUpdate); ok && m.Map == v.X && j.isReached(m.Block()) {
			w |= Count
		}
	}
	if w&(Count|Outcome|Class) == 0 {
		w |= Flag
	}
	return w
}

// phi combines what the values from the executed edges depend on, and what decides between
// these edges.
func (j *judge) phi(v *ssa.Phi) (w Why) {
	b := v.Block()
	switch b.Comment {
	case "rangeindex.loop", "rangeiter.loop", "rangechan.loop":
		if w := j.ranged(v); w&(Answer|Class) != 0 && j.run != nil && b != j.run.Loop.Header {
			return w // a search in the answer
		}
		return Item
	}
	var ways []*ssa.BasicBlock // predecessors from which the run enters the block
	values := map[ssa.Value]bool{}
	for i, e := range v.Edges {
		if !j.enters(b, i) {
			continue
		}
		if j.has(b.Preds[i]) {
			ways = append(ways, b.Preds[i])
			values[e] = true
		}
		if e == ssa.Value(v) {
			continue
		}
		if sum, ok := e.(*ssa.BinOp); ok && (sum.X == v || sum.Y == v) {
			w |= Count
			continue
		}
		w |= j.why(e)
		if i := flow.Branch(b.Preds[i]); i != nil {
			w |= j.why(i.Cond)
		}
	}
	if len(values) > 1 {
		w |= j.between(ways)
	}
	if j.varies(v, w) {
		w |= Count
	}
	return w | Fixed
}

// between returns what the branches depend on that decide between several paths of a run. These
// are the branches after the last block that dominates all of the paths.
func (j *judge) between(ways []*ssa.BasicBlock) (w Why) {
	d := ways[0]
	for d != nil && slices.ContainsFunc(ways, func(b *ssa.BasicBlock) bool { return !d.Dominates(b) }) {
		d = d.Idom()
	}
	if d == nil || !j.has(d) {
		return 0
	}
	behind := flow.Before(append(ways, d), func(b *ssa.BasicBlock, _ int) bool { return b != d })
	for _, b := range d.Parent().Blocks {
		if i := flow.Branch(b); i != nil && behind[b] && j.isReached(b) {
			w |= j.why(i.Cond)
		}
	}
	return w
}

// ranged returns what a list depends on, if a variable ranges over its indexes.
func (j *judge) ranged(index *ssa.Phi) (w Why) {
	for _, e := range index.Edges {
		for _, ref := range flow.Refs(e) {
			cmp, ok := ref.(*ssa.BinOp)
			if !ok || cmp.X != e {
				continue
			}
			if length, ok := cmp.Y.(*ssa.Call); ok && len(length.Call.Args) == 1 {
				w |= j.why(length.Call.Args[0])
			}
		}
	}
	return w
}

// varies reports whether a number or a flag of the loop differs between iterations although
// nothing else decides it.
func (j *judge) varies(v *ssa.Phi, w Why) bool {
	if j.run == nil || v.Block() != j.run.Loop.Header || j.run.Value(v).IsKnown() {
		return false
	}
	return (isNumber(v.Type()) || flow.IsBool(v.Type())) && w&^(Fixed|Outcome|Class) == 0
}

func (j *judge) function() *ssa.Function {
	if j.run != nil {
		return j.run.Op.Parent()
	}
	return j.fn
}
