package attempt

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Change describes how an operand changes before the operation is executed again. The change
// of several operands is the largest of their changes.
type Change uint8

// The changes, in the order of the lattice.
const (
	Same    Change = iota // the value is the same, or an equal value that is created again
	Counted               // the value is a number that is counted
	Changed               // any other change is possible
)

// operands computes the changes of operands in one run.
type operands struct {
	t        *Attempt
	run      *flow.Run
	seen     map[ssa.Value]Change
	evidence vocab.Evidence
}

// operands returns how the operands of Op change in a run.
func (t *Attempt) operands(run *flow.Run) (Change, vocab.Evidence) {
	o := &operands{t: t, run: run, seen: map[ssa.Value]Change{}, evidence: vocab.Proven}
	call := &t.Op.Call
	var change Change
	for _, arg := range call.Args {
		if !vocab.IsContext(arg.Type()) { // the timeout of a request is not a part of its content
			change = max(change, o.of(arg))
		}
	}
	if call.IsInvoke() || call.StaticCallee() == nil {
		change = max(change, o.of(call.Value))
	} else if literal, ok := call.Value.(*ssa.MakeClosure); ok {
		change = max(change, o.all(literal.Bindings...))
	}
	if change < Changed && o.isWritten() {
		change = Changed
	}
	return change, o.evidence
}

func (o *operands) all(values ...ssa.Value) (change Change) {
	for _, v := range values {
		if v != nil {
			change = max(change, o.of(v))
		}
	}
	return change
}

// of returns the change of a value.
func (o *operands) of(v ssa.Value) Change {
	if !o.t.Loop.Contains(v) {
		if variable, ok := v.(*ssa.Alloc); ok {
			return o.content(variable)
		}
		return Same
	}
	if change, ok := o.seen[v]; ok {
		return change
	}
	o.seen[v] = Same // in a cycle
	change := o.compute(v)
	o.seen[v] = change
	return change
}

func (o *operands) compute(v ssa.Value) Change {
	switch v := v.(type) {
	case *ssa.Phi:
		return o.phi(v)
	case *ssa.Call:
		return o.call(v)
	case *ssa.Extract:
		return o.of(v.Tuple)
	case *ssa.UnOp:
		switch v.Op {
		case token.ARROW:
			return Changed
		case token.MUL:
			return o.load(v)
		}
		return o.of(v.X)
	case *ssa.IndexAddr:
		return o.element(v.X, v.Index)
	case *ssa.Index:
		return o.element(v.X, v.Index)
	case *ssa.Lookup:
		return o.element(v.X, v.Index)
	case *ssa.Slice:
		if o.all(v.Low, v.High, v.Max) != Same {
			return Changed
		}
		return o.of(v.X)
	case *ssa.FieldAddr:
		return o.of(v.X)
	case *ssa.Alloc:
		return o.content(v)
	case *ssa.MakeClosure:
		return o.all(v.Bindings...)
	case *ssa.Next, *ssa.Range, *ssa.Select:
		return Changed
	case *ssa.MakeMap:
		return o.entries(v)
	case *ssa.MakeSlice, *ssa.MakeChan:
		return Same
	}
	var change Change
	for _, operand := range v.(ssa.Instruction).Operands(nil) {
		change = max(change, o.all(*operand))
	}
	return change
}

// element returns the change of one element of several values.
func (o *operands) element(of, index ssa.Value) Change {
	if o.of(index) >= Counted {
		return Changed
	}
	return o.of(of)
}

// phi returns the change of a variable. In the loop header, it depends on the values from the
// executed back edges.
func (o *operands) phi(v *ssa.Phi) (change Change) {
	header := v.Block() == o.t.Loop.Header
	for i := range v.Edges {
		if !o.run.Enters(v.Block(), i) {
			continue
		}
		e := o.run.Source(v.Edges[i])
		switch sum, ok := e.(*ssa.BinOp); {
		case e == ssa.Value(v):
		case ok && (sum.X == v || sum.Y == v) && isNumber(v.Type()):
			change = max(change, Counted)
		case header:
			return Changed // another value from the second iteration on
		default:
			change = max(change, o.of(e))
		}
	}
	return change
}

// content returns the change of the values that the run stores in a variable, or in parts of
// it.
func (o *operands) content(variable *ssa.Alloc) (change Change) {
	if change, ok := o.seen[variable]; ok && !o.t.Loop.Contains(variable) {
		return change
	}
	o.seen[variable] = Same
	for _, store := range flow.Stores(variable) {
		if !o.t.Loop.Has(store.Block()) || !o.run.IsReached(store.Block()) || flow.IsError(store.Val.Type()) {
			continue // a stored error is not a part of the operation's input
		}
		change = max(change, o.of(store.Val))
		if _, computed := store.Val.(*ssa.BinOp); computed && isNumber(store.Val.Type()) {
			change = max(change, Counted)
		}
	}
	o.seen[variable] = change
	return change
}

// entries returns the change of the entries that the run stores in a map.
func (o *operands) entries(m *ssa.MakeMap) (change Change) {
	for _, ref := range *m.Referrers() {
		if update, ok := ref.(*ssa.MapUpdate); ok && o.run.IsReached(update.Block()) {
			change = max(change, o.all(update.Key, update.Value))
		}
	}
	return change
}

func (o *operands) load(v *ssa.UnOp) Change {
	if variable, ok := v.X.(*ssa.Alloc); ok {
		return o.content(variable)
	}
	change := o.of(v.X)
	if c, ok := flow.CellAt(v.X); ok {
		for _, store := range o.t.pkg.index(o.t.Fn).stores[c] {
			if o.t.Loop.Has(store.Block()) && o.run.IsReached(store.Block()) && store.Block() != o.t.Op.Block() {
				change = max(change, Counted, o.of(store.Val))
			}
		}
	}
	return change
}

// call returns the change of the result of a call.
func (o *operands) call(call *ssa.Call) Change {
	common := call.Common()
	args := o.all(common.Args...)
	if common.IsInvoke() {
		args = max(args, o.of(common.Value))
	}
	if _, builtin := common.Value.(*ssa.Builtin); builtin {
		return args
	}
	k := known(common)
	_, fn := flow.StaticCallee(common)
	switch {
	case call == o.t.Op, k.Is(vocab.Random | vocab.Receives), fn != nil && o.isNew(fn):
		return Changed
	case k.Is(vocab.Makes | vocab.Pure | vocab.Clock):
		if k.Is(vocab.Makes) && args == Same {
			o.evidence = min(o.evidence, max(k.Evidence, vocab.Library))
		}
		return args
	case args >= Counted, fn == nil && o.isDrawn(o.t.pkg.summaryOf(common)):
		return Changed
	case fn != nil:
	case !common.IsInvoke() && common.StaticCallee() == nil:
		return Changed // a function value
	case effect.IsGetter(common):
		o.evidence = min(o.evidence, vocab.Library)
	default:
		o.evidence = vocab.Named
	}
	return Same
}

// isNew reports whether a function returns a different value each time.
func (o *operands) isNew(fn *ssa.Function) bool {
	s := o.t.pkg.summary(fn)
	return s.Is(vocab.Random) || s.State&(Clock|Count) != 0 && !s.Is(vocab.Remote)
}

// isDrawn reports whether a function of another package returns a random value. A function that
// leaves the process may use random values for other purposes.
func (o *operands) isDrawn(s *Summary) bool { return s.Is(vocab.Random) && !s.Is(vocab.Remote) }

// isWritten reports whether the run writes to memory that an operand points to.
func (o *operands) isWritten() bool {
	objects := map[ssa.Value]bool{}
	for _, arg := range o.t.Op.Call.Args {
		addObject(objects, arg)
	}
	if o.t.Op.Call.IsInvoke() {
		addObject(objects, o.t.Op.Call.Value)
	}
	if len(objects) == 0 {
		return false
	}
	for _, w := range o.t.pkg.index(o.t.Fn).writes {
		b := w.Block()
		if o.t.Loop.Has(b) && o.run.IsReached(b) && b != o.t.Op.Block() && o.changes(w, objects) {
			return true
		}
	}
	return false
}

// changes reports whether an instruction writes to one of the given objects in a way that may
// change the operation.
func (o *operands) changes(instr ssa.Instruction, objects map[ssa.Value]bool) bool {
	switch w := instr.(type) {
	case *ssa.Store:
		if _, variable := w.Addr.(*ssa.Alloc); variable || !objects[objectOf(w.Addr)] || flow.IsError(w.Val.Type()) {
			return false
		}
		if !isNumber(w.Val.Type()) && !flow.IsBool(w.Val.Type()) {
			return true
		}
		// A count matters only if the operation reads it.
		_, field := w.Addr.(*ssa.FieldAddr)
		return field && isNumber(w.Val.Type()) && o.t.pkg.effects.IsRead(w.Addr, o.t.Op)
	case *ssa.MapUpdate:
		return objects[objectOf(w.Map)]
	case *ssa.Call:
		return objects[objectOf(w.Call.Args[0])] // copy
	}
	return false
}

// addObject adds the object that the callee can access through an argument, if there is one.
func addObject(objects map[ssa.Value]bool, v ssa.Value) {
	if load, ok := v.(*ssa.UnOp); ok && load.Op == token.MUL {
		if element, ok := load.X.(*ssa.IndexAddr); ok {
			objects[objectOf(element.X)] = true
		}
	}
	switch v.Type().Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice:
		objects[objectOf(v)] = true
	}
}

// objectOf returns the value that identifies the object which contains an address.
func objectOf(v ssa.Value) ssa.Value { return flow.Variable(flow.Source(v, flow.Addressed|flow.Boxed)) }

func isNumber(t types.Type) bool { return flow.IsBasic(t, types.IsNumeric) }
