package durablerun

import (
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Kind describes why a value may differ in the next execution of a run.
type Kind uint8

// The kinds.
const (
	Time     Kind = iota // it is the time, or a duration that is measured
	Random               // it is random
	MapOrder             // it depends on the order of an iteration over a map
)

// A Source is an instruction whose result differs from one execution of a run to the next.
type Source struct {
	Kind     Kind
	At       ssa.Instruction
	Evidence vocab.Evidence
	Within   *flow.Loop // only iterations of this loop differ; nil: the following code differs, too
}

// A trace contains the origins of some values.
type trace struct {
	p       *Package
	isKnown bool               // the values depend only on the leaves
	found   map[ssa.Value]bool // parameters, and variables that function literals capture
	sources []Source
	seen    map[ssa.Value]bool
	depth   int
}

// maxDepth limits how many nested calls of functions in the package are followed for their
// results.
const maxDepth = 3

// trace returns the trace of some values of one function.
func (p *Package) trace(values ...ssa.Value) *trace { return p.traceAt(0, values...) }

func (p *Package) traceAt(depth int, values ...ssa.Value) *trace {
	t := &trace{p: p, isKnown: true, found: map[ssa.Value]bool{}, seen: map[ssa.Value]bool{}, depth: depth}
	t.all(values...)
	return t
}

// leaves returns the parameters and captured variables from which the values are computed.
func (t *trace) leaves() []ssa.Value {
	return slices.SortedFunc(maps.Keys(t.found), func(a, b ssa.Value) int { return int(a.Pos()) - int(b.Pos()) })
}

func (t *trace) all(values ...ssa.Value) {
	for _, v := range values {
		t.of(v)
	}
}

// of adds the origins of a value.
func (t *trace) of(v ssa.Value) {
	if v == nil || t.seen[v] {
		return
	}
	t.seen[v] = true
	switch v := v.(type) {
	case *ssa.Const, *ssa.Function, *ssa.Builtin:
	case *ssa.Parameter:
		t.found[v] = true
	case *ssa.Call:
		t.call(v, 0)
	case *ssa.Extract:
		switch tuple := v.Tuple.(type) {
		case *ssa.Call:
			t.call(tuple, v.Index)
		case *ssa.Next:
			t.isKnown = false // each iteration has another item
		default:
			t.of(tuple)
		}
	case *ssa.Phi:
		t.phi(v)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			t.load(v)
		} else {
			t.of(v.X)
			t.isKnown = t.isKnown && v.Op != token.ARROW
		}
	case *ssa.Alloc:
		t.content(v)
	case *ssa.Slice:
		if list := variadic(v); list != nil {
			for _, store := range flow.Stores(list) {
				t.of(store.Val)
			}
			return
		}
		t.all(v.X, v.Low, v.High, v.Max)
	case *ssa.BinOp, *ssa.Convert, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface, *ssa.Field, *ssa.Index,
		*ssa.TypeAssert, *ssa.SliceToArrayPointer, *ssa.MultiConvert:
		for _, operand := range v.(ssa.Instruction).Operands(nil) {
			t.of(*operand)
		}
	default:
		t.isKnown = false
	}
}

// phi adds the possible values of a variable. During an iteration over a map, a number that
// counts items depends on the order of the map. After the iteration, it is the number of items.
func (t *trace) phi(v *ssa.Phi) {
	t.all(v.Edges...)
	loop := flow.Around(v)
	if loop == nil || loop.Header != v.Block() {
		return
	}
	t.isKnown = false
	counted := slices.ContainsFunc(v.Edges, func(e ssa.Value) bool {
		sum, ok := e.(*ssa.BinOp)
		_, constant := flow.IntOf(sumOf(sum, v))
		return ok && constant
	})
	if next := mapIteration(loop); next != nil && counted {
		t.sources = append(t.sources, Source{MapOrder, next, vocab.Proven, loop})
	}
}

// sumOf returns the other summand of a sum with v, or nil.
func sumOf(sum *ssa.BinOp, v ssa.Value) ssa.Value {
	switch {
	case sum == nil || sum.Op != token.ADD:
		return nil
	case sum.X == v:
		return sum.Y
	case sum.Y == v:
		return sum.X
	}
	return nil
}

// mapIteration returns the instruction in a loop header that takes the next item of a map, or
// nil.
func mapIteration(loop *flow.Loop) *ssa.Next {
	for _, instr := range loop.Header.Instrs {
		if next, ok := instr.(*ssa.Next); ok && !next.IsString {
			return next
		}
	}
	return nil
}

// load adds the origins of a value that is read from memory.
func (t *trace) load(v *ssa.UnOp) {
	cell, ok := flow.CellAt(v.X)
	variable := flow.Declared(cell.Base)
	switch {
	case !ok || variable == nil:
		t.isKnown = false
	case variable.Parent() != v.Parent():
		t.captured(variable)
	case v.X == ssa.Value(variable):
		t.content(variable)
	default:
		t.isKnown = false
		for _, store := range flow.Stores(variable) {
			if to, ok := flow.CellAt(store.Addr); ok && to == cell {
				t.of(store.Val)
			}
		}
	}
}

// captured adds a variable of an enclosing function.
func (t *trace) captured(variable *ssa.Alloc) {
	only := flow.OnlyStored(variable)
	switch {
	case only == nil:
		t.isKnown = false
		t.found[variable] = true
	case t.isSource(only):
		t.of(only)
	default:
		t.found[only] = true
	}
}

// variadic returns the array with the variadic arguments of a call, if a slice is made of it,
// or nil.
func variadic(v *ssa.Slice) *ssa.Alloc {
	list, ok := v.X.(*ssa.Alloc)
	if !ok || len(flow.Refs(v)) != 1 {
		return nil
	}
	for _, ref := range flow.Refs(list) {
		if element, ok := ref.(*ssa.IndexAddr); ref != ssa.Instruction(v) && (!ok || flow.UseOf(element) != flow.Assigned) {
			return nil
		}
	}
	return list
}

// isSource reports whether a value of an enclosing function differs in each execution.
func (t *trace) isSource(v ssa.Value) bool { return len(t.p.traceAt(maxDepth, v).sources) > 0 }

// sourcesAt returns the sources that affect the values in a block.
func (t *trace) sourcesAt(b *ssa.BasicBlock) (found []Source) {
	for _, s := range t.sources {
		if s.Within == nil || s.Within.Header.Parent() == b.Parent() && s.Within.Has(b) {
			found = append(found, s)
		}
	}
	return found
}

// content adds the origins of the values that are stored in a local variable or in parts of it.
func (t *trace) content(variable *ssa.Alloc) {
	for _, store := range flow.Stores(variable) {
		t.of(store.Val)
	}
	t.isKnown = t.isKnown && !flow.Escapes(variable)
}

// call adds the origins of a call's result. The result of a step is recorded, so it does not
// differ.
func (t *trace) call(call *ssa.Call, result int) {
	obj, _ := flow.StaticCallee(&call.Call)
	builtin, _ := call.Call.Value.(*ssa.Builtin)
	if obj != nil && vocab.DurableOf(obj) == nil && t.source(call, obj) {
		return
	}
	if len(t.p.stepsOf(call)) > 0 {
		t.isKnown = false
		return
	}
	switch {
	case builtin != nil && (builtin.Name() == "len" || builtin.Name() == "cap"), obj != nil && vocab.IgnoresOrder(obj):
		t.unordered(call.Call.Args...)
	case builtin != nil:
		t.all(call.Call.Args...)
		t.appended(call, builtin)
	case obj != nil && vocab.Of(obj).Is(vocab.Pure) && vocab.Of(obj).Evidence >= vocab.Library:
		t.all(call.Call.Args...)
		if call.Call.IsInvoke() {
			t.of(call.Call.Value)
		}
	case !t.results(call, result):
		t.isKnown = false
	}
}

// source adds a call whose result differs each time, and reports whether the call is one.
func (t *trace) source(call *ssa.Call, obj *types.Func) bool {
	kind := Time
	switch {
	case vocab.IsNow(obj):
	case vocab.IsDrawn(obj):
		kind = Random
	case vocab.IsMapOrder(obj) && !isSorted(call):
		kind = MapOrder
	default:
		return false
	}
	t.isKnown = false
	t.sources = append(t.sources, Source{kind, call, vocab.Of(obj).Evidence, nil})
	return true
}

// unordered adds the origins of some values, without their order.
func (t *trace) unordered(values ...ssa.Value) {
	n, seen := len(t.sources), maps.Clone(t.seen)
	t.all(values...)
	added := slices.DeleteFunc(t.sources[n:], func(s Source) bool { return s.Kind == MapOrder })
	t.sources, t.seen = t.sources[:n+len(added)], seen // another use of the values may depend on their order
}

// appended adds the source of a list that an iteration over a map fills.
func (t *trace) appended(call *ssa.Call, builtin *ssa.Builtin) {
	loop := flow.Around(call)
	if builtin.Name() != "append" || loop == nil {
		return
	}
	t.isKnown = false
	if next := mapIteration(loop); next != nil && isCarried(call, loop, map[ssa.Value]bool{}) && !isSorted(call) {
		t.sources = append(t.sources, Source{MapOrder, next, vocab.Proven, nil})
	}
}

// isCarried reports whether a list contains elements that earlier iterations of a loop have
// appended.
func isCarried(list ssa.Value, loop *flow.Loop, seen map[ssa.Value]bool) bool {
	if seen[list] {
		return false
	}
	seen[list] = true
	carried := func(v ssa.Value) bool { return isCarried(v, loop, seen) }
	switch v := list.(type) {
	case *ssa.Phi:
		return v.Block() == loop.Header || slices.ContainsFunc(v.Edges, carried)
	case *ssa.Call:
		builtin, ok := v.Call.Value.(*ssa.Builtin)
		return ok && builtin.Name() == "append" && carried(v.Call.Args[0])
	case *ssa.UnOp:
		return v.Op == token.MUL && !loop.Contains(flow.Source(v.X, flow.Addressed))
	}
	return false
}

// isSorted reports whether a list that contains a value, or that is derived from it, is sorted.
func isSorted(v ssa.Value) bool {
	seen := map[ssa.Value]bool{}
	var sorted func(v ssa.Value) bool
	sorted = func(v ssa.Value) bool {
		if seen[v] {
			return false
		}
		seen[v] = true
		return slices.ContainsFunc(flow.Refs(v), func(ref ssa.Instruction) bool {
			if call, ok := ref.(*ssa.Call); ok {
				obj, _ := flow.StaticCallee(&call.Call)
				if obj != nil && vocab.IsSort(obj) {
					return true
				}
			}
			if store, ok := ref.(*ssa.Store); ok && store.Val == v {
				variable, ok := store.Addr.(*ssa.Alloc)
				return ok && sorted(variable)
			}
			made, ok := ref.(ssa.Value)
			return ok && sorted(made)
		})
	}
	return sorted(v)
}

// results adds the origins of the results of a function of the package, and reports whether
// they are known.
func (t *trace) results(call *ssa.Call, result int) bool {
	fn := effect.Callee(&call.Call)
	if fn == nil || t.depth >= maxDepth || len(fn.Blocks) == 0 || len(fn.Params) != len(call.Call.Args) {
		return false
	}
	for ret := range flow.Returns(fn) {
		within := t.p.traceAt(t.depth+1, ret.Results[result])
		t.isKnown = t.isKnown && within.isKnown
		t.sources = append(t.sources, within.sourcesAt(ret.Block())...)
		for _, leaf := range within.leaves() {
			if i := slices.IndexFunc(fn.Params, func(p *ssa.Parameter) bool { return p == leaf }); i >= 0 {
				t.of(call.Call.Args[i])
			} else {
				t.found[leaf] = true
			}
		}
	}
	// If the function has branches, its choice between several results may depend on more.
	t.isKnown = t.isKnown && len(fn.Blocks) == 1
	return true
}
