package lint

import (
	"fmt"
	"go/constant"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/policies"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// retryingFunctions finds how often functions attempt their operations: in their own loops, by
// the policies of generated wrappers, and in the functions that they call.
var retryingFunctions = &analysis.Analyzer{
	Name:       "retryingfunctions",
	Doc:        "retryingfunctions: find functions that retry, and how often",
	Requires:   []*analysis.Analyzer{ssaForm, retrierCalls},
	FactTypes:  []analysis.Fact{new(retrying)},
	ResultType: reflect.TypeFor[*nesting](),
	Run:        runRetryingFunctions,
}

// retrying is a fact about a function: one call of it may attempt an operation several times.
type retrying struct {
	Attempts int    // the maximum, with all levels multiplied
	Again    int    // the maximum inside a wrapper's retry, where only nested policies retry
	Where    string // the position of the second to last level
	Wrapper  bool   // the function is generated, or written like a generated wrapper: its policy retries
	Depth    int    // how many calls are between the function and the operation
	Hidden   bool   // the function does not report that all attempts failed
}

// most is where the counting of attempts stops, because the product of several levels can
// exceed any integer type.
const most = 1_000_000_000

func times(a, b int) int { return min(min(a, most)*min(b, most), most) }

// farthest is the maximum number of calls between two levels. The outer level is rarely about
// an operation that is farther away.
const farthest = 3

// AFact marks retrying as a fact.
func (*retrying) AFact() {}

// String formats the fact for tests.
func (r *retrying) String() string { return fmt.Sprintf("attempts(%d)", r.Attempts) }

// A level is a call that is attempted several times, or that attempts several times a function
// that it is given.
type level struct {
	call   *ssa.Call
	loops  []*attempt.Attempt // the loops that repeat the call, innermost first
	around int                // how often the loops execute the call, at most
	op     *ssa.Function      // the function that a library or a helper retries, or nil
	within int                // how often the library or helper calls op, at most
}

// outermost returns the outermost loop of the level.
func (l *level) outermost() *attempt.Attempt { return l.loops[len(l.loops)-1] }

// isSelective reports whether a loop inspects the errors. An error that reports the exhaustion
// of an inner level may then end it.
func (l *level) isSelective() bool {
	return slices.ContainsFunc(l.loops, func(t *attempt.Attempt) bool { return t.IsSelective() })
}

// A wrapper is a function that calls others under a policy.
type wrapper struct {
	attempts int
	nested   bool
}

// nesting holds the levels of a package. It does not change after it is complete.
type nesting struct {
	pass    *analysis.Pass
	found   *attempt.Package
	fns     []*ssa.Function
	levels  map[*ssa.Call]*level
	wraps   map[*ssa.Function]wrapper
	tries   map[*ssa.Call]retrying      // the effect of calls that attempt something several times, or that call wrappers
	facts   map[*ssa.Function]*retrying // nil: the function attempts nothing several times, or its analysis is in progress
	origins map[*ssa.Function]*ssa.Call // the call from which the fact of a function comes
	clients []client                    // the attempts of clients, as generated code declares them
}

func runRetryingFunctions(pass *analysis.Pass) (any, error) {
	all := pass.ResultOf[retrierCalls].(*retriers)
	n := &nesting{
		pass: pass, found: all.found, fns: pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs, levels: map[*ssa.Call]*level{},
		wraps: map[*ssa.Function]wrapper{}, tries: map[*ssa.Call]retrying{}, facts: map[*ssa.Function]*retrying{},
		origins: map[*ssa.Function]*ssa.Call{}, clients: clientsOf(pass.Pkg),
	}
	for _, t := range n.found.Attempts {
		if limit := t.Limit(); t.IsRetry() && t.Ends&(attempt.Leaves|attempt.Joint) != 0 && limit > 1 {
			l := n.level(t.Op)
			l.around, l.loops = times(l.around, limit), append(l.loops, t)
		}
	}
	for _, r := range all.calls {
		if call, ok := r.call.(*ssa.Call); ok && r.fn != nil && r.most() > 1 {
			l := n.level(call)
			l.op, l.within = r.fn, r.most()
		}
	}
	for _, fn := range n.fns {
		if w, ok := n.wrapperOf(fn); ok {
			n.wraps[fn] = w
		}
	}
	for _, fn := range n.fns {
		if f := n.find(fn); f != nil && fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), f)
		}
	}
	return n, nil
}

// level returns the level of a call. All loops around one call form one level, and their
// attempts multiply.
func (n *nesting) level(call *ssa.Call) *level {
	if n.levels[call] == nil {
		n.levels[call] = &level{call: call, around: 1, within: 1}
	}
	return n.levels[call]
}

// find returns the fact about a function, or nil.
func (n *nesting) find(fn *ssa.Function) *retrying {
	if f, known := n.facts[fn]; known {
		return f
	}
	if len(fn.Blocks) == 0 {
		f := new(retrying)
		if fn.Object() == nil || !n.pass.ImportObjectFact(fn.Object(), f) {
			return n.ofClient(fn)
		}
		return f
	}
	n.facts[fn] = nil // for recursive calls
	w, wraps := n.wraps[fn]
	best := once
	for _, call := range callsOf(fn) {
		f := n.count(call)
		if f.Attempts > 1 || f.Wrapper {
			n.tries[call] = f
		}
		switch l := n.levels[call]; {
		case wraps && !inCycle(call.Block()): // the call of a fallback
			continue
		case wraps:
		case l != nil && l.around > 1:
			if f.Attempts == 1 && l.loops[0].StaysInside() {
				continue // operations inside the process may be attempted often
			}
			around := l.around
			if f.Hidden {
				around = 1 // this loop never sees that the attempts failed
			}
			f = retrying{Attempts: times(around, f.Attempts), Again: times(around, f.Again),
				Where: fileAndLine(n.pass, call.Pos())}
		case f.Depth == farthest:
			continue
		default:
			f.Depth, f.Wrapper = f.Depth+1, false
		}
		if f.Attempts > best.Attempts {
			f.Hidden = f.Hidden || !n.found.FailsWith(call)
			best, n.origins[fn] = f, call
		}
	}
	if wraps {
		best = w.around(best, fileAndLine(n.pass, fn.Pos()))
	}
	if best.Attempts > 1 || wraps {
		n.facts[fn] = &best
	}
	return n.facts[fn]
}

// A client is a library whose calls make several attempts on their own.
type client struct {
	name     string
	attempts int
	path     string // the path of its package; packages under it belong to the client, too
}

// clientsOf returns the clients that the generated code of a package declares: see
// emit.AttemptsConst.
func clientsOf(pkg *types.Package) (list []client) {
	c, ok := pkg.Scope().Lookup("retryClients").(*types.Const)
	if !ok || c.Val().Kind() != constant.String {
		return nil
	}
	for line := range strings.Lines(constant.StringVal(c.Val())) {
		var one client
		if _, err := fmt.Sscan(line, &one.name, &one.attempts, &one.path); err == nil {
			list = append(list, one)
		}
	}
	return list
}

// ofClient returns the fact about a function of a client, or nil. A function without a context
// or an error makes no remote call.
func (n *nesting) ofClient(fn *ssa.Function) *retrying {
	pkg := fn.Object()
	if pkg == nil || pkg.Pkg() == nil || !isCall(fn.Signature) {
		return nil
	}
	for _, c := range n.clients {
		if below, ok := strings.CutPrefix(pkg.Pkg().Path(), c.path); ok && (below == "" || below[0] == '/') {
			return &retrying{Attempts: c.attempts, Again: c.attempts, Where: "client " + c.name}
		}
	}
	return nil
}

// isCall reports whether a function with the given signature may call a server: it takes a
// context and returns an error.
func isCall(sig *types.Signature) bool {
	results := sig.Results()
	if results.Len() == 0 || results.At(results.Len()-1).Type() != types.Universe.Lookup("error").Type() {
		return false
	}
	for p := range sig.Params().Variables() {
		if vocab.IsContext(p.Type()) {
			return true
		}
	}
	return false
}

// once is the fact about a function of which nothing else is known.
var once = retrying{Attempts: 1, Again: 1}

// count returns how often a call attempts an operation, without the loops around the call.
func (n *nesting) count(call *ssa.Call) retrying {
	if l := n.levels[call]; l != nil && l.op != nil {
		inner := n.inside(l)
		if inner == nil {
			return once
		}
		return retrying{Attempts: times(l.within, inner.Attempts), Again: times(l.within, inner.Again),
			Where: fileAndLine(n.pass, call.Pos()), Depth: inner.Depth}
	}
	if callee := call.Call.StaticCallee(); callee != nil && !isSwitched(call, callee) {
		if f := n.find(callee); f != nil {
			return *f
		}
	}
	return once
}

// inside returns the fact about the operation of a level. It returns nil if the operation is
// known to stay inside the process, because such an operation may be attempted often.
func (n *nesting) inside(l *level) *retrying {
	if f := n.find(l.op); f != nil {
		return f
	}
	if n.found.StaysInside(l.op) {
		return nil
	}
	return &once
}

// isSwitched reports whether a call passes a constant bool for a parameter that a loop of the
// callee checks on each iteration. Such a parameter may switch the retries off.
func isSwitched(call *ssa.Call, callee *ssa.Function) bool {
	for i, arg := range call.Call.Args {
		c, ok := arg.(*ssa.Const)
		if !ok || c.Value == nil || c.Value.Kind() != constant.Bool || i >= len(callee.Params) {
			continue
		}
		if slices.ContainsFunc(*callee.Params[i].Referrers(), func(ref ssa.Instruction) bool {
			_, asks := ref.(*ssa.If)
			return asks && inCycle(ref.Block())
		}) {
			return true
		}
	}
	return false
}

// around returns the fact about a wrapper at the position where, which retries an operation
// with the fact inner. The retries mark their context, so that wrappers inside them make only
// one attempt, unless their policies are nested.
func (w wrapper) around(inner retrying, where string) retrying {
	f := retrying{Attempts: min(inner.Attempts+times(w.attempts-1, inner.Again), most), Again: inner.Again, Where: where,
		Wrapper: true}
	if w.nested {
		f.Again = times(f.Again, w.attempts)
	}
	return f
}

// inCycle reports whether a block can be reached from itself.
func inCycle(b *ssa.BasicBlock) bool { return flow.Reachable(b, flow.EveryEdge)[b] }

// wrapperOf reports whether a function begins a call under a policy, and returns the attempts
// of the policy. If they are unknown or unlimited, it returns 1.
func (n *nesting) wrapperOf(fn *ssa.Function) (w wrapper, ok bool) {
	for _, call := range callsOf(fn) {
		if !policies.Begins(&call.Call) {
			continue
		}
		policy := n.found.Policies.Of(&call.Call)
		if policy == nil {
			return wrapper{attempts: 1}, true
		}
		return wrapper{policy.Attempts(), policy.Nested}, true
	}
	return wrapper{}, false
}
