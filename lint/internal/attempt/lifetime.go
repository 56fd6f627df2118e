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

// Enders is a set of those who may end a context while its function runs.
type Enders uint8

// The elements of Enders. None of them may end context.Background().
const (
	Caller Enders = 1 << iota // it is or comes from a parameter; future callers may pass another context
	Others                    // code outside the function, as far as it is known now
	Itself                    // a timeout, or the function itself
	Return                    // its function when it returns, not while it runs
	Unseen                    // the origin of the context is unknown
)

// A Lifetime describes when a context ends. For a value that may be one of several contexts, it
// is the join of their lifetimes, so that it is true for each of them.
type Lifetime struct {
	Ends  Enders
	Limit time.Duration // the maximum time between the derivation of the context and its end; 0: unknown
	By    *ssa.Call     // the call that sets the limit: it derives the context, or runs a function with it
	made  bool          // false only for values in a cycle whose lifetimes are not known yet
}

// NeverEnds reports whether a context cannot end while its function runs.
func (p *Package) NeverEnds(ctx ssa.Value) bool { return p.Lifetime(ctx).Ends&^Return == 0 }

// IsLive reports whether other code may end a context whose origin is known.
func (p *Package) IsLive(ctx ssa.Value) bool { return p.Lifetime(ctx).Ends&(Caller|Others) != 0 }

// EndEvidence returns how certain it is that a context which may end ever does. It is Named if
// all callers of its function pass a context that never ends.
func (p *Package) EndEvidence(ctx ssa.Value) vocab.Evidence {
	if p.Lifetime(ctx).Ends&^Return == Caller {
		return vocab.Named
	}
	return vocab.Proven
}

// Lifetime returns the lifetime of a context.
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

// lifetimes stores the lifetimes of all contexts that were queried, and of the contexts from
// which they come.
type lifetimes struct {
	mu      sync.Mutex
	solved  map[ssa.Value]Lifetime
	callers flow.Callers // nil until a parameter is queried
}

// A walk follows a context to its origins. It repeats this until no guess changes, which yields
// the least solution. That is sufficient, because a context in a cycle always comes from
// outside the cycle.
type walk struct {
	p       *Package
	guess   map[ssa.Value]Lifetime
	visited map[ssa.Value]bool
	changed bool
}

// lifetime returns the guess for a context. In each iteration, it computes the guess once.
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

// unseen is the lifetime of a context about which nothing is known.
var unseen = Lifetime{Ends: Unseen, made: true}

// join returns what is true for both contexts.
func (l Lifetime) join(m Lifetime) Lifetime {
	switch {
	case !l.made:
		return m
	case !m.made:
		return l
	}
	// If the limits are equal, choose the first, so that the order does not matter.
	if l.Limit != 0 && (m.Limit == 0 || m.Limit > l.Limit || m.Limit == l.Limit && m.By.Pos() < l.By.Pos()) {
		l.Limit, l.By = m.Limit, m.By
	}
	l.Ends |= m.Ends
	return l
}

// all returns what is true for each of several contexts.
func (w *walk) all(values []ssa.Value) (l Lifetime) {
	for _, v := range values {
		l = l.join(w.lifetime(v))
	}
	return l
}

// of computes the lifetime of a value that is being visited.
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

// parameter returns the lifetime of a parameter. If all calls are known, it is the join of the
// arguments' lifetimes.
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

// limited returns the lifetime of a context that the call by also ends after d. If d is 0, the
// lifetime is unchanged.
func (l Lifetime) limited(d time.Duration, by *ssa.Call) Lifetime {
	if d > 0 && (l.Limit == 0 || d < l.Limit) {
		l.Limit, l.By = d, by
	}
	return l
}

// outlived returns the lifetime of a context in code that may outlive the function which ends
// the context.
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

// everSet returns the lifetime of a variable that several functions set. It has no limit,
// because the last value is unknown.
func (w *walk) everSet(values []ssa.Value) Lifetime {
	l := w.all(values)
	l.Limit, l.By = 0, nil
	return l
}

// variable returns the lifetime of the context that a local variable holds at an instruction.
func (w *walk) variable(variable *ssa.Alloc, at ssa.Instruction) Lifetime {
	l := w.all(flow.StoredBefore(variable, at))
	if flow.Escapes(variable) {
		return l.join(unseen)
	}
	return l
}

// captured returns the lifetime of a context that a function literal captures, directly or in a
// variable. The literal may outlive the function around it.
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
		return Lifetime{Ends: Others, made: true} // the context of a request or of a stream
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

// attaches reports whether a call returns a context of its receiver, which other code ends.
func attaches(call *ssa.CallCommon) bool {
	sig := call.Signature()
	k := known(call)
	return k.Is(vocab.Attaches) || !k.Is(vocab.Pure) && sig.Params().Len() == 0 && sig.Results().Len() == 1 &&
		(call.IsInvoke() || sig.Recv() != nil) && vocab.IsContext(sig.Results().At(0).Type())
}

// callers returns who may call a function value, which may be in a variable. seen contains the
// values that were already visited, because variables may be assigned to each other.
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

// Timeout returns the constant timeout of the context that a call derives. The second result is
// false if there is none.
func Timeout(call *ssa.Call) (time.Duration, bool) {
	if !IsTimed(call) {
		return 0, false
	}
	limit := call.Call.Args[1]
	// Have: time.Now().Add(d) as the argument
	if add, ok := limit.(*ssa.Call); ok && known(&add.Call).Is(vocab.Adds) {
		if now, ok := add.Call.Args[0].(*ssa.Call); ok && known(&now.Call).Is(vocab.Clock) {
			limit = add.Call.Args[1]
		}
	}
	d, ok := flow.IntOf(limit)
	return time.Duration(d), ok && vocab.IsDuration(limit.Type())
}
