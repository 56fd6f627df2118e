package attempt

import (
	"go/token"
	"maps"
	"sync"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Enders is a set: who may end a context while its function runs.
type Enders uint8

// The enders. None of them may end context.Background().
const (
	Caller Enders = 1 << iota // it is, or is derived from, a parameter, which others may give something else tomorrow
	Others                    // code outside of the function, as far as it is known today
	Itself                    // a timeout, or the function
	Return                    // its function, when it returns: not while that runs
	Unseen                    // it is not known where it comes from
)

// A Lifetime is what is known of when a context ends. Of a value that is one of several contexts
// it is the join of theirs, so that it is true of each.
type Lifetime struct {
	Ends  Enders
	Limit time.Duration // it ends at most this long after it was derived; 0: that is not known
	By    *ssa.Call     // that gives it this limit: it derives the context, or runs a function with it
	made  bool          // false only of values in a cycle before these are known
}

// NeverEnds reports whether a context cannot end while its function runs.
func (p *Package) NeverEnds(ctx ssa.Value) bool { return p.Lifetime(ctx).Ends&^Return == 0 }

// IsLive reports whether somebody else may end a context: it is known where it comes from.
func (p *Package) IsLive(ctx ssa.Value) bool { return p.Lifetime(ctx).Ends&(Caller|Others) != 0 }

// EndEvidence returns how well it is known that a context which may end ever does: Named if all
// callers of its function give it one that never ends.
func (p *Package) EndEvidence(ctx ssa.Value) vocab.Evidence {
	if p.Lifetime(ctx).Ends&^Return == Caller {
		return vocab.Named
	}
	return vocab.Proven
}

// Lifetime returns when a context ends.
func (p *Package) Lifetime(ctx ssa.Value) Lifetime {
	known := &p.lifetimes
	known.mu.Lock()
	defer known.mu.Unlock()
	if l, ok := known.solved[ctx]; ok {
		return l
	}
	w := &walk{p: p, guess: map[ssa.Value]Lifetime{}}
	for again := true; again; again = w.changed {
		w.visited, w.changed = map[ssa.Value]bool{}, false
		w.lifetime(ctx)
	}
	maps.Copy(known.solved, w.guess)
	return known.solved[ctx]
}

// lifetimes are the lifetimes of all contexts that were asked for, and of what they come from.
type lifetimes struct {
	mu      sync.Mutex
	solved  map[ssa.Value]Lifetime
	callers flow.Callers // nil until a parameter is asked for
}

// A walk follows a context to where it comes from, repeatedly until no guess changes: the least
// solution, since a context in a cycle is one of those that come into it.
type walk struct {
	p       *Package
	guess   map[ssa.Value]Lifetime
	visited map[ssa.Value]bool
	changed bool
}

// lifetime returns the guess for a context, which it makes once in each iteration.
func (w *walk) lifetime(ctx ssa.Value) Lifetime {
	if l, ok := w.p.lifetimes.solved[ctx]; ok {
		return l
	}
	if w.visited[ctx] {
		return w.guess[ctx]
	}
	w.visited[ctx] = true
	l := w.of(ctx)
	w.changed = w.changed || l != w.guess[ctx]
	w.guess[ctx] = l
	return l
}

// unseen is the lifetime of a context if nothing is known about it.
var unseen = Lifetime{Ends: Unseen, made: true}

// join returns what is true of two contexts.
func (l Lifetime) join(m Lifetime) Lifetime {
	switch {
	case !l.made:
		return m
	case !m.made:
		return l
	}
	// Of equal limits the first, so that the order does not matter.
	if l.Limit != 0 && (m.Limit == 0 || m.Limit > l.Limit || m.Limit == l.Limit && m.By.Pos() < l.By.Pos()) {
		l.Limit, l.By = m.Limit, m.By
	}
	l.Ends |= m.Ends
	return l
}

// all returns what is true of each of several contexts.
func (w *walk) all(values []ssa.Value) (l Lifetime) {
	for _, v := range values {
		l = l.join(w.lifetime(v))
	}
	return l
}

// of is lifetime for a value that is visited.
func (w *walk) of(ctx ssa.Value) Lifetime {
	if of := embedding(ctx); of != nil {
		return w.lifetime(of)
	}
	switch ctx := ctx.(type) {
	case *ssa.Const:
		return Lifetime{made: true} // nil
	case *ssa.Parameter:
		return w.parameter(ctx)
	case *ssa.Phi:
		return w.all(ctx.Edges)
	case *ssa.ChangeInterface:
		return w.lifetime(ctx.X)
	case *ssa.Call:
		return w.call(ctx, 0)
	case *ssa.Extract:
		if call, ok := ctx.Tuple.(*ssa.Call); ok {
			return w.call(call, ctx.Index)
		}
	case *ssa.FreeVar:
		return w.captured(ctx)
	case *ssa.UnOp:
		if ctx.Op == token.MUL {
			return w.loaded(ctx)
		}
	}
	return unseen
}

// parameter returns the lifetime of a parameter: of its arguments, if all calls are known.
func (w *walk) parameter(param *ssa.Parameter) Lifetime {
	l := Lifetime{Ends: Others, made: true}
	known := &w.p.lifetimes
	if known.callers == nil {
		known.callers = flow.CallersOf(w.p.fns)
	}
	if args, ok := known.callers.Arguments(param); ok {
		l = w.all(args)
		for _, call := range known.callers[param.Parent()] {
			if _, starts := call.(*ssa.Go); starts {
				l = l.outlived()
			}
		}
	}
	if under := w.p.Policies.RunUnder(param.Parent()); under != nil && vocab.IsContext(param.Type()) {
		outer := w.lifetime(GivenContext(&under.Call))
		l.Limit, l.By = outer.Limit, outer.By
		l = l.limited(w.p.Policies.Of(&under.Call).AttemptLimit().Duration, under)
	}
	l.Ends = l.Ends&^Return | Caller
	return l
}

// limited returns the lifetime of a context that a call ends after d as well, unless d is 0.
func (l Lifetime) limited(d time.Duration, by *ssa.Call) Lifetime {
	if d > 0 && (l.Limit == 0 || d < l.Limit) {
		l.Limit, l.By = d, by
	}
	return l
}

// outlived returns the lifetime of a context in what may outlive the function that ends it.
func (l Lifetime) outlived() Lifetime {
	if l.Ends&Return != 0 {
		l.Ends |= Others
	}
	return l
}

// loaded returns the lifetime of a context that is read from memory.
func (w *walk) loaded(load *ssa.UnOp) Lifetime {
	switch x := load.X.(type) {
	case *ssa.Alloc:
		return w.variable(x, load)
	case *ssa.FreeVar:
		return w.captured(x)
	case *ssa.Global, *ssa.FieldAddr:
		if values, all := w.p.effects.Assigned(x); all {
			return w.everSet(values)
		}
	}
	return unseen
}

// everSet returns the lifetime of what several functions set: not what is set last.
func (w *walk) everSet(values []ssa.Value) Lifetime {
	l := w.all(values)
	l.Limit, l.By = 0, nil
	return l
}

// variable returns the lifetime of what a local variable holds at an instruction.
func (w *walk) variable(variable *ssa.Alloc, at ssa.Instruction) Lifetime {
	l := w.all(flow.StoredBefore(variable, at))
	if flow.Escapes(variable) {
		return l.join(unseen)
	}
	return l
}

// captured returns the lifetime of a context that a function literal captures, or of what is in
// such a variable. The literal may outlive the function around it.
func (w *walk) captured(x *ssa.FreeVar) Lifetime {
	switch bound := flow.Binding(x).(type) {
	case nil:
		return unseen
	case *ssa.FreeVar:
		return w.captured(bound)
	case *ssa.Alloc:
		return w.variable(bound, flow.Closure(x.Parent())).outlived()
	default:
		return w.lifetime(bound).outlived()
	}
}

// call returns the lifetime of a context that is a result of a call.
func (w *walk) call(call *ssa.Call, result int) Lifetime {
	k, parent := known(&call.Call), GivenContext(&call.Call)
	l := unseen
	if p := w.p.Policies.OfAttempt(call); p != nil {
		return w.lifetime(parent).limited(p.AttemptLimit().Duration, call)
	}
	switch {
	case attaches(&call.Call):
		return Lifetime{Ends: Others, made: true} // of a request, of a stream
	case k.Is(vocab.Roots):
		return Lifetime{made: true}
	case parent != nil:
		l = w.lifetime(parent)
	}
	if parent != nil && k.Is(vocab.Derives) {
		if k.Is(vocab.Limits) {
			l.Ends |= Itself
		}
		for _, ref := range flow.Refs(call) {
			if cancel, ok := ref.(*ssa.Extract); ok && cancel.Index == 1 {
				l.Ends |= callers(cancel, map[ssa.Value]bool{})
			}
		}
		if d, ok := Timeout(call); ok {
			l = l.limited(d, call)
		}
		return l
	}
	l.Limit, l.By = 0, nil
	if callee := call.Call.StaticCallee(); callee != nil && len(callee.Blocks) > 0 {
		var values []ssa.Value
		for ret := range flow.Returns(callee) {
			values = append(values, ret.Results[result])
		}
		l.Limit, l.By = w.all(values).Limit, call
	}
	return l
}

// attaches reports whether a call returns a context that others end: of its receiver.
func attaches(call *ssa.CallCommon) bool {
	sig := call.Signature()
	k := known(call)
	return k.Is(vocab.Attaches) || !k.Is(vocab.Pure) && sig.Params().Len() == 0 && sig.Results().Len() == 1 &&
		(call.IsInvoke() || sig.Recv() != nil) && vocab.IsContext(sig.Results().At(0).Type())
}

// callers returns who may call a function value, or one in a variable. seen are those that it has
// looked at: variables may be set to each other.
func callers(v ssa.Value, seen map[ssa.Value]bool) (who Enders) {
	if seen[v] {
		return 0
	}
	seen[v] = true
	for _, ref := range flow.Refs(v) {
		switch ref := ref.(type) {
		case *ssa.Defer:
			if ref.Call.Value != v {
				who |= Others
			}
			who |= Return
		case *ssa.Call:
			if ref.Call.Value != v {
				who |= Others
			}
			who |= Itself
		case *ssa.UnOp:
			who |= callers(ref, seen)
		case *ssa.Store:
			if variable, ok := ref.Addr.(*ssa.Alloc); ref.Val == v && ok {
				who |= callers(variable, seen)
			} else if ref.Val == v {
				who |= Others
			}
		case *ssa.MakeClosure:
			if _, deferred := start(ref.Fn.(*ssa.Function)).(*ssa.Defer); !deferred {
				who |= Others
			}
			who |= Return
		case *ssa.DebugRef:
		default:
			who |= Others
		}
	}
	return who
}

// IsTimed reports whether a call derives a context with a timeout or a deadline.
func IsTimed(call *ssa.Call) bool { return known(&call.Call).Is(vocab.Limits) }

// Timeout returns the constant timeout that a call gives the context that it derives.
func Timeout(call *ssa.Call) (time.Duration, bool) {
	if !IsTimed(call) {
		return 0, false
	}
	limit := call.Call.Args[1]
	// Have: time.Now().Add(d) itself
	if add, ok := limit.(*ssa.Call); ok && known(&add.Call).Is(vocab.Adds) {
		if now, ok := add.Call.Args[0].(*ssa.Call); ok && known(&now.Call).Is(vocab.Clock) {
			limit = add.Call.Args[1]
		}
	}
	d, ok := flow.IntOf(limit)
	return time.Duration(d), ok && vocab.IsDuration(limit.Type())
}
