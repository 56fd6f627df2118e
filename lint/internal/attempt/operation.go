package attempt

import (
	"sync"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// An Operation describes a function that other code retries.
type Operation struct {
	// Context is a context of a function around the operation, which may end and which the
	// operation passes to a call, or nil. A parameter that has a context, such as a request,
	// counts as a context.
	Context  ssa.Value
	Detached bool // it passes a context to a call that does not end with its callers
	Asks     bool // it checks whether a context has ended
	Ends     bool // it may return the error of a call that failed because a context has ended
	Again    bool // it may return false and no error
	Done     bool // it may return true or an error
}

// operations stores the Operation of each function that was queried. The mutex also protects
// the solver, which has no other users after a Package is complete.
type operations struct {
	sync.Mutex
	of map[*ssa.Function]*Operation
}

// Operation returns the description of a function as an operation. The function may be a
// synthetic one.
func (p *Package) Operation(fn *ssa.Function) *Operation {
	p.operations.Lock()
	defer p.operations.Unlock()
	if o := p.operations.of[fn]; o != nil {
		return o
	}
	o := &Operation{}
	if len(fn.Blocks) > 0 {
		p.findContext(o, fn)
		p.findAnswers(o, fn)
	}
	if p.operations.of == nil {
		p.operations.of = map[*ssa.Function]*Operation{}
	}
	p.operations.of[fn] = o
	return o
}

// findContext finds the contexts that a function checks or passes to calls. It ignores the
// contexts that the caller passes to the function, because the caller is responsible for these.
func (p *Package) findContext(o *Operation, fn *ssa.Function) {
	for _, use := range p.index(fn).contexts {
		call, ok := use.call.(*ssa.Call)
		switch {
		case use.asks:
			o.Asks = true
			continue
		case !ok || use.ctx == nil:
			continue
		case known(&call.Call).Is(vocab.Roots):
			o.Detached = true
			continue
		case makesContext(call):
			continue
		}
		if own, ok := Root(use.ctx).(*ssa.Parameter); ok && own.Parent() == fn {
			continue
		}
		if ctx := p.outerContext(use.ctx); ctx != nil {
			o.Context = ctx
			o.Ends = o.Ends || p.mayReturnError(call)
		} else {
			o.Detached = true
		}
	}
}

// makesContext reports whether the first result of a call is a context.
func makesContext(call *ssa.Call) bool {
	results := call.Call.Signature().Results()
	return results.Len() > 0 && vocab.IsContext(results.At(0).Type())
}

// outerContext returns the context, of the functions around a function literal, from which a
// context in the literal was derived. It returns nil if other code cannot end that context.
func (p *Package) outerContext(given ssa.Value) ssa.Value {
	ctx := Root(given)
	if call, ok := ctx.(*ssa.Call); ok && attaches(&call.Call) && len(call.Call.Args) == 1 {
		for _, of := range captured(call.Call.Args[0]) {
			if request, ok := of.(*ssa.Parameter); ok && carriesContext(request.Type()) {
				return request
			}
		}
		return nil
	}
	for _, v := range captured(ctx) {
		if p.IsLive(v) {
			return Root(v)
		}
	}
	return nil
}

// captured returns the possible values of a variable that a function literal captures, if the
// given value is read from one: all values that are stored in it. Otherwise it returns the
// value itself.
func captured(v ssa.Value) []ssa.Value {
	variable := v
	if load, ok := v.(*ssa.UnOp); ok {
		variable = load.X
	}
	free, ok := variable.(*ssa.FreeVar)
	if !ok {
		return []ssa.Value{v}
	}
	switch bound := flow.Binding(free).(type) {
	case *ssa.Alloc:
		return valuesOf(flow.Stores(bound))
	case *ssa.FreeVar:
		return captured(bound)
	case nil:
		return nil
	default:
		return []ssa.Value{bound}
	}
}

// valuesOf returns the values of some stores.
func valuesOf(stores []*ssa.Store) (values []ssa.Value) {
	for _, store := range stores {
		values = append(values, store.Val)
	}
	return values
}

// findAnswers finds what a function may return, if its results are a bool, which answers a
// condition, and an error.
func (p *Package) findAnswers(o *Operation, fn *ssa.Function) {
	results := fn.Signature.Results()
	if results.Len() != 2 || !flow.IsBool(results.At(0).Type()) || !flow.IsError(results.At(1).Type()) {
		return
	}
	for ret := range flow.Returns(fn) {
		answer, err := p.flow.Always(fn, ret.Results[0]), p.flow.Always(fn, ret.Results[1])
		o.Done = o.Done || !answer.Equal(flow.Bool(false)) || !err.Equal(flow.Nil)
		o.Again = o.Again || !answer.Equal(flow.Bool(true)) && !err.Equal(flow.NonNil) &&
			!flow.IsFailure(ret.Results[1], ret.Block())
	}
}

// FailsWith reports whether a function may return an error, or a result other than an error,
// after a call in it has failed.
func (p *Package) FailsWith(call *ssa.Call) bool {
	p.operations.Lock()
	defer p.operations.Unlock()
	sig := call.Parent().Signature
	return !flow.ReturnsError(call.Call.Signature()) || !flow.ReturnsError(sig) || sig.Results().Len() > 1 ||
		p.mayReturnError(call)
}

// mayReturnError reports whether a function may return an error after a call in it has failed.
func (p *Package) mayReturnError(call *ssa.Call) bool {
	if !flow.ReturnsError(call.Call.Signature()) {
		return false
	}
	fn := call.Parent()
	run := p.flow.After(flow.Whole(fn), call, ofError(call.Call.Signature().Results().Len()).failed)
	if run == nil {
		return false
	}
	for ret := range flow.Returns(fn) {
		n := len(ret.Results) - 1
		if run.IsReached(ret.Block()) && n >= 0 && flow.IsError(ret.Results[n].Type()) &&
			!run.Value(ret.Results[n]).Equal(flow.Nil) {
			return true
		}
	}
	return false
}

// IsTrappedBy reports whether a function that is called until it returns true, or until it
// returns false, contains a call whose failure always makes it return the opposite and no
// error, although a success of the call does not.
func (p *Package) IsTrappedBy(fn *ssa.Function, until Success) bool {
	p.operations.Lock()
	defer p.operations.Unlock()
	failure := flow.Bool(until == False)
	for instr := range flow.Instructions(fn.Blocks) {
		call, ok := instr.(*ssa.Call)
		if !ok || known(&call.Call).Is(vocab.Pure|vocab.Receives|vocab.Asks|vocab.Random) {
			continue
		}
		e := ofError(call.Call.Signature().Results().Len())
		if flow.ReturnsError(call.Call.Signature()) && p.returns(call, e.failed, failure) &&
			!p.returns(call, e.passed, failure) {
			return true
		}
	}
	return false
}
