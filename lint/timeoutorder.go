package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// TimeoutOrder reports RL301.
var TimeoutOrder = &analysis.Analyzer{
	Name:       "timeoutorder",
	Doc:        docOf("timeoutorder", "RL301"),
	URL:        pageOf("RL301"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	FactTypes:  []analysis.Fact{new(contextLimit)},
	ResultType: used,
	Run:        runTimeoutOrder,
}

func runTimeoutOrder(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !imports(pass, "context") {
		return r.used, nil
	}
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	flow := newTimeoutFlow(pass, callersOf(fns))
	flow.exportLimits(fns)
	for _, fn := range fns {
		for _, call := range callsOf(fn) {
			if file := fileOf(pass, call.Pos()); file != nil && isTimed(call) {
				flow.judge(r, file, call)
			}
		}
	}
	return r.used, nil
}

// judge reports a call that derives a context with a timeout from one that ends earlier.
func (f timeoutFlow) judge(r *report, file *ast.File, call *ssa.Call) {
	say := func(format string, args ...any) {
		r.at(callStart(file, call.Pos()), call.Pos(), Proven, "RL301", format, args...)
	}
	parent := call.Call.Args[0]
	if hasEnded(parent, call) {
		if !inTest(f.pass, call.Pos()) && !ast.IsGenerated(file) {
			say("%s has ended here, so this context ends at once: derive it from the parent of %[1]s, or from "+
				"context.WithoutCancel", nameOfContext(parent))
		}
		return
	}
	inner, ok := timeoutOf(call)
	outer, bounded := f.limit(parent, map[ssa.Value]bool{})
	if !ok || !bounded || inner < outer.d {
		return
	}
	line := f.pass.Fset.Position(outer.at).Line
	switch {
	case attempt.IsDeferred(call.Parent()) && inner > outer.d:
		say("inner timeout %v exceeds the outer %v from line %d, which may have ended in this deferred call: derive it "+
			"from the parent of the outer context", inner, outer.d, line)
	case inner == outer.d:
		say("inner timeout %v equals the outer one from line %d, which began earlier and ends it: shorten it, or remove it",
			inner, line)
	default:
		say("inner timeout %v exceeds the outer %v from line %d, which ends it: shorten the inner timeout or raise the "+
			"outer one", inner, outer.d, line)
	}
}

// A limit is a timeout that a context is under, and where it was given.
type limit struct {
	d  time.Duration
	at token.Pos
}

// timeoutFlow follows contexts to where they were derived.
type timeoutFlow struct {
	pass    *analysis.Pass
	callers map[*ssa.Function][]*ssa.CallCommon
	known   map[ssa.Value]knownLimit // what did not depend on a value that was open
	cuts    *int                     // how often a value was met that was open
}

type knownLimit struct {
	limit limit
	ok    bool
}

func newTimeoutFlow(pass *analysis.Pass, callers map[*ssa.Function][]*ssa.CallCommon) timeoutFlow {
	return timeoutFlow{pass, callers, map[ssa.Value]knownLimit{}, new(int)}
}

// limit returns the least timeout that v is known to be under, whichever way
// it came. open are the values under way, against cycles.
func (f timeoutFlow) limit(v ssa.Value, open map[ssa.Value]bool) (limit, bool) {
	if open[v] {
		*f.cuts++
		return limit{}, false
	}
	if k, ok := f.known[v]; ok {
		return k.limit, k.ok
	}
	cuts := *f.cuts
	open[v] = true
	l, ok := f.limitOf(v, open)
	delete(open, v)
	if *f.cuts == cuts {
		f.known[v] = knownLimit{l, ok}
	}
	return l, ok
}

// limitOf is limit of a value that is open.
func (f timeoutFlow) limitOf(v ssa.Value, open map[ssa.Value]bool) (limit, bool) {
	switch v := v.(type) {
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			return f.made(call, v.Index, open)
		}
	case *ssa.Call:
		return f.made(v, 0, open)
	case *ssa.ChangeInterface:
		return f.limit(v.X, open)
	case *ssa.MakeInterface:
		return f.limit(v.X, open)
	case *ssa.Phi:
		return f.greatest(v.Edges, open)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return f.variable(v.X, v, open)
		}
	case *ssa.Parameter:
		return f.parameter(v, open)
	case *ssa.FreeVar:
		if bound := flow.Binding(v); bound != nil {
			return f.limit(bound, open)
		}
	}
	return limit{}, false
}

// greatest returns the weakest of the limits of several values, if all have
// one: that much is true of each.
func (f timeoutFlow) greatest(values []ssa.Value, open map[ssa.Value]bool) (limit, bool) {
	var weakest limit
	for _, v := range values {
		l, ok := f.limit(v, open)
		if !ok {
			return limit{}, false
		}
		if l.d > weakest.d {
			weakest = l
		}
	}
	return weakest, len(values) > 0
}

// made returns the limit of a context that a call returns.
func (f timeoutFlow) made(call *ssa.Call, index int, open map[ssa.Value]bool) (limit, bool) {
	if flow.Known(&call.Call).Is(vocab.Derives) {
		return f.derived(call, open)
	}
	return f.result(call, index, open)
}

// derived returns the limit of a context that a call derives from another.
func (f timeoutFlow) derived(call *ssa.Call, open map[ssa.Value]bool) (limit, bool) {
	outer, bounded := f.limit(call.Call.Args[0], open)
	if d, ok := timeoutOf(call); ok && (!bounded || d < outer.d) {
		return limit{d, call.Pos()}, true
	}
	return outer, bounded
}

// variable returns the limit of a context that closures share, or whose
// variable is assigned to more than once: every assignment that use may see
// must have one.
func (f timeoutFlow) variable(addr ssa.Value, use ssa.Instruction, open map[ssa.Value]bool) (limit, bool) {
	for {
		v, ok := addr.(*ssa.FreeVar)
		if !ok {
			break
		}
		closure := flow.Closure(v.Parent())
		if closure == nil {
			return limit{}, false
		}
		addr, use = flow.Binding(v), closure
	}
	alloc, ok := addr.(*ssa.Alloc)
	if !ok || flow.Escapes(alloc) {
		return limit{}, false
	}
	stores := flow.Stores(alloc)
	var seen []ssa.Value
	for _, s := range stores {
		overwritten := slices.ContainsFunc(stores, func(later *ssa.Store) bool {
			return later != s && before(s, later) && before(later, use)
		})
		if !overwritten {
			seen = append(seen, s.Val)
		}
	}
	return f.greatest(seen, open)
}

// before reports whether every way to b goes through a.
func before(a, b ssa.Instruction) bool {
	if a.Block() != b.Block() {
		return a.Block().Dominates(b.Block())
	}
	return slices.Index(a.Block().Instrs, a) <= slices.Index(b.Block().Instrs, b)
}

// parameter returns the limit that every call gives a parameter.
func (f timeoutFlow) parameter(p *ssa.Parameter, open map[ssa.Value]bool) (limit, bool) {
	calls, known := f.callers[p.Parent()]
	if !known {
		return limit{}, false
	}
	index := slices.Index(p.Parent().Params, p)
	var args []ssa.Value
	for _, c := range calls {
		args = append(args, c.Args[index])
	}
	return f.greatest(args, open)
}

// callersOf returns the calls of every function all of whose calls are known:
// it is not exported, and only called.
func callersOf(fns []*ssa.Function) map[*ssa.Function][]*ssa.CallCommon {
	callers := map[*ssa.Function][]*ssa.CallCommon{}
	escaped := map[*ssa.Function]bool{}
	for _, fn := range fns {
		for instr := range flow.Instructions(fn.Blocks) {
			var callee *ssa.Function
			if call, ok := instr.(ssa.CallInstruction); ok {
				if callee = call.Common().StaticCallee(); callee != nil {
					callers[callee] = append(callers[callee], call.Common())
				}
			}
			for i, op := range instr.Operands(nil) {
				if used, ok := (*op).(*ssa.Function); ok && !(i == 0 && used == callee) {
					escaped[used] = true
				}
			}
			// A closure that is called where it stands is only called.
			if c, ok := instr.(*ssa.MakeClosure); ok && !onlyCalled(c) {
				escaped[c.Fn.(*ssa.Function)] = true
			} else if ok {
				delete(escaped, c.Fn.(*ssa.Function))
			}
		}
	}
	for fn := range callers {
		exported := fn.Object() != nil && (fn.Object().Exported() || fn.Signature.Recv() != nil)
		if escaped[fn] || exported || fn.Origin() != nil {
			delete(callers, fn)
		}
	}
	return callers
}

func onlyCalled(c *ssa.MakeClosure) bool {
	for _, ref := range *c.Referrers() {
		if call, ok := ref.(ssa.CallInstruction); !ok || call.Common().Value != c {
			return false
		}
	}
	return true
}

// isRootContext reports whether a call makes a context that is derived from none.
func isRootContext(call *ssa.Call) bool {
	return flow.Known(&call.Call).Is(vocab.Roots) && len(call.Call.Args) == 0
}

// isTimed reports whether a call derives a context with a timeout or a deadline.
func isTimed(call *ssa.Call) bool { return flow.Known(&call.Call).Is(vocab.Limits) }

// timeoutOf returns the constant timeout that a call gives its context.
func timeoutOf(call *ssa.Call) (time.Duration, bool) {
	if !isTimed(call) {
		return 0, false
	}
	if vocab.IsDuration(call.Call.Args[1].Type()) {
		return durationOf(call.Call.Args[1])
	}
	// time.Now().Add(d), as it stands
	if add, ok := call.Call.Args[1].(*ssa.Call); ok && flow.Known(&add.Call).Is(vocab.Adds) {
		if now, ok := add.Call.Args[0].(*ssa.Call); ok && flow.Known(&now.Call).Is(vocab.Clock) {
			return durationOf(add.Call.Args[1])
		}
	}
	return 0, false
}

func durationOf(v ssa.Value) (time.Duration, bool) {
	d, ok := flow.IntOf(v)
	return time.Duration(d), ok && flow.IsBasic(v.Type(), types.IsInteger)
}
