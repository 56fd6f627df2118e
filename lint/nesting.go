package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	retry "github.com/retrygen/retrygen/runtime"
)

// retryingFunctions finds how often functions try what they call: by loops of
// their own, by the policies of generated wrappers, and by what they call.
var retryingFunctions = &analysis.Analyzer{
	Name:       "retryingfunctions",
	Doc:        "retryingfunctions: find functions that retry, and how often",
	Requires:   []*analysis.Analyzer{ssaForm, attempts},
	FactTypes:  []analysis.Fact{new(retrying), new(repeating)},
	ResultType: reflect.TypeFor[*nesting](),
	Run:        runRetryingFunctions,
}

// retrying is a fact about a function: one call of it may try something several
// times.
type retrying struct {
	Attempts int    // at most, all levels multiplied
	Again    int    // the same inside of a wrapper's retry, where only nested policies retry
	Where    string // the place of the innermost level but one
	Wrapper  bool   // it is generated, or written as if: its policy retries
	Depth    int    // how many calls lie between
}

// most is what attempts are counted to: levels that multiply leave any number behind.
const most = 1_000_000_000

func times(a, b int) int { return min(min(a, most)*min(b, most), most) }

// farthest is how many calls may lie between two levels. What is farther away
// is seldom what the outer level is about.
const farthest = 3

// AFact marks a fact.
func (*retrying) AFact() {}

// String shows the fact to tests.
func (r *retrying) String() string { return fmt.Sprintf("attempts(%d)", r.Attempts) }

// repeating is a fact about a function: it tries one of its parameters several times.
type repeating struct {
	Op       int // the index of the parameter
	Attempts int // at most; besides the value of a parameter, if that limits them
	Limit    int // the index of that parameter, or -1
}

// AFact marks a fact.
func (*repeating) AFact() {}

// String shows the fact to tests.
func (r *repeating) String() string {
	if r.Limit < 0 {
		return fmt.Sprintf("repeats(%d, %d times)", r.Op, r.Attempts)
	}
	return fmt.Sprintf("repeats(%d, parameter %d%+d times)", r.Op, r.Limit, r.Attempts)
}

// A level is a place that tries something several times, or calls what does.
type level struct {
	call     *ssa.Call // what is tried
	attempts int
	loops    []*attempt.Attempt // that try it, inner loops first; none for a call
}

// outermost returns the loop around all others.
func (l level) outermost() *attempt.Attempt { return l.loops[len(l.loops)-1] }

// isSelective reports whether a loop asks which error it is: exhaustion of an inner level may
// end it.
func (l level) isSelective() bool {
	return slices.ContainsFunc(l.loops, func(t *attempt.Attempt) bool { return t.IsSelective() })
}

// A counted is a call of a library that tries an operation several times.
type counted struct {
	op       *ssa.Function
	attempts int
}

// A wrapper is a function that calls others under a policy.
type wrapper struct {
	attempts int
	nested   bool
}

// nesting is what a package knows of its levels. Several analyzers ask it at the same time.
type nesting struct {
	pass    *analysis.Pass
	found   *attempt.Package
	helpers map[*ssa.Function]*repeating
	fns     []*ssa.Function
	levels  map[*ssa.Function][]level
	counted map[*ssa.Call]counted
	wraps   map[*ssa.Function]wrapper

	mu      sync.Mutex // guards what is found on the way
	facts   map[*ssa.Function]*retrying
	origins map[*ssa.Function]level // what a fact comes from
	open    map[*ssa.Function]bool
}

// of returns the fact about a function, or nil.
func (n *nesting) of(fn *ssa.Function) *retrying {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.find(fn)
}

// attempts returns how often a call tries something.
func (n *nesting) attempts(call *ssa.Call) retrying {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count(call)
}

// origin returns what the fact about a function comes from.
func (n *nesting) origin(fn *ssa.Function) (l level, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, known = n.origins[fn]
	return l, known
}

func runRetryingFunctions(pass *analysis.Pass) (any, error) {
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	n := &nesting{
		pass: pass, found: pass.ResultOf[attempts].(*attempt.Package), fns: fns, helpers: map[*ssa.Function]*repeating{},
		levels: map[*ssa.Function][]level{}, counted: map[*ssa.Call]counted{}, wraps: map[*ssa.Function]wrapper{},
		facts: map[*ssa.Function]*retrying{}, origins: map[*ssa.Function]level{}, open: map[*ssa.Function]bool{},
	}
	policies := policiesOf(pass)
	for _, t := range n.found.Attempts {
		n.add(t)
	}
	for fn, h := range n.helpers {
		if fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), h)
		}
	}
	for _, fn := range fns {
		if w, ok := wrapperOf(fn, policies); ok {
			n.wraps[fn] = w
		}
		for _, call := range callsOf(fn) {
			if c, ok := n.countedBy(call); ok {
				n.counted[call] = c
			}
		}
	}
	for _, fn := range fns {
		if f := n.of(fn); f != nil && fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), f)
		}
	}
	return n, nil
}

// add adds the level that an attempt is. Loops around one call are one level: their attempts
// multiply.
func (n *nesting) add(t *attempt.Attempt) {
	if !t.IsRetry() || t.Ends&(attempt.Leaves|attempt.Joint) == 0 {
		return
	}
	if p := t.Parameter(); p != nil && n.helpers[t.Fn] == nil {
		if h := repeatingOf(t, p); h != nil {
			n.helpers[t.Fn] = h
		}
	}
	limit := t.Limit()
	if limit < 2 {
		return
	}
	levels := n.levels[t.Fn]
	i := slices.IndexFunc(levels, func(l level) bool { return l.call == t.Op })
	if i < 0 {
		n.levels[t.Fn] = append(levels, level{t.Op, limit, []*attempt.Attempt{t}})
		return
	}
	levels[i].attempts = times(levels[i].attempts, limit)
	levels[i].loops = append(levels[i].loops, t)
}

// repeatingOf returns the fact about a function that tries a parameter, or nil.
func repeatingOf(t *attempt.Attempt, op *ssa.Parameter) *repeating {
	h := &repeating{Op: slices.Index(t.Fn.Params, op), Attempts: t.Limit(), Limit: -1}
	if h.Attempts > 0 {
		return h
	}
	for _, l := range t.Limits() {
		if l.Of != nil {
			h.Limit, h.Attempts = slices.Index(t.Fn.Params, l.Of), l.Beyond
			return h
		}
	}
	return nil
}

// find is of, with the lock held.
func (n *nesting) find(fn *ssa.Function) *retrying {
	if f, known := n.facts[fn]; known {
		return f
	}
	if len(fn.Blocks) == 0 || n.open[fn] {
		f := new(retrying)
		if fn.Object() != nil && n.pass.ImportObjectFact(fn.Object(), f) {
			return f
		}
		return nil
	}
	n.open[fn] = true
	defer delete(n.open, fn)
	if w, ok := n.wraps[fn]; ok {
		inner := once
		for _, call := range tried(fn) {
			if f := n.count(call); f.Attempts > inner.Attempts {
				inner = f
			}
		}
		n.facts[fn] = w.around(inner, n.place(fn))
		return n.facts[fn]
	}
	best := once
	for _, l := range n.levels[fn] {
		inner := n.count(l.call)
		if inner.Attempts == 1 && l.loops[0].StaysInside() {
			continue // what stays inside of the program may be tried often
		}
		if total := times(l.attempts, inner.Attempts); total > best.Attempts {
			best = retrying{Attempts: total, Again: times(l.attempts, inner.Again), Where: n.position(l.call)}
			n.origins[fn] = l
		}
	}
	for _, call := range callsOf(fn) {
		if f := n.count(call); f.Attempts > best.Attempts && f.Depth < farthest {
			best = retrying{Attempts: f.Attempts, Again: f.Again, Where: f.Where, Depth: f.Depth + 1}
			n.origins[fn] = level{call: call, attempts: 1}
		}
	}
	n.facts[fn] = nil
	if best.Attempts > 1 {
		n.facts[fn] = &best
	}
	return n.facts[fn]
}

// once is what a function does of which nothing else is known.
// It is not changed.
var once = retrying{Attempts: 1, Again: 1}

// countedBy returns what a call of a library or of a helper tries, and how often at most. An
// operation that marks errors which end it may mark those that it is about.
func (n *nesting) countedBy(call *ssa.Call) (c counted, ok bool) {
	args := call.Call.Args
	if p := planOf(&call.Call); p != nil {
		c = counted{operation(p.op()), p.most()}
		return c, c.op != nil && c.attempts > 1 && !givesUp(p.op())
	}
	h := helperFact(n.pass, n.helpers, call.Call.StaticCallee())
	if h == nil || h.Op >= len(args) || h.Limit >= len(args) {
		return counted{}, false
	}
	c = counted{operation(origin(args[h.Op])), h.Attempts}
	if h.Limit >= 0 {
		given, isConst := flow.IntOf(args[h.Limit])
		if !isConst {
			return counted{}, false
		}
		c.attempts += int(min(max(given, 0), most))
	}
	return c, c.op != nil && c.attempts > 1
}

// count is attempts, with the lock held.
func (n *nesting) count(call *ssa.Call) retrying {
	if c, ok := n.counted[call]; ok {
		inner := n.find(c.op)
		if inner == nil && n.found.StaysInside(c.op) {
			return once // what stays inside of the program may be tried often
		}
		inner = cmp.Or(inner, &once)
		return retrying{Attempts: times(c.attempts, inner.Attempts), Again: times(c.attempts, inner.Again),
			Where: n.position(call), Depth: inner.Depth}
	}
	if callee := call.Call.StaticCallee(); callee != nil && !isSwitched(call, callee) {
		if f := n.find(callee); f != nil {
			return *f
		}
	}
	return once
}

// isSwitched reports whether a call settles by a constant bool what a loop of the callee asks
// in each round, as whether it is to try again.
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

// around returns the fact about a wrapper at where, of what makes the attempts
// of inner. Its retries mark their context, so that wrappers inside of them try
// once only, unless their policies are nested.
func (w wrapper) around(inner retrying, where string) *retrying {
	f := &retrying{Attempts: min(inner.Attempts+times(w.attempts-1, inner.Again), most), Again: inner.Again, Where: where,
		Wrapper: true}
	if w.nested {
		f.Again = times(f.Again, w.attempts)
	}
	return f
}

// tried returns the calls that a wrapper makes again: those in a cycle, which a
// fallback is not.
func tried(fn *ssa.Function) (calls []*ssa.Call) {
	for _, call := range callsOf(fn) {
		if callee := call.Call.StaticCallee(); callee != nil && inCycle(call.Block()) {
			calls = append(calls, call)
		}
	}
	return calls
}

// inCycle reports whether a block may follow itself.
func inCycle(b *ssa.BasicBlock) bool { return flow.Reachable(b, flow.EveryEdge)[b] }

func (n *nesting) place(fn *ssa.Function) string { return short(n.pass.Fset.Position(fn.Pos())) }

func (n *nesting) position(call *ssa.Call) string { return short(n.pass.Fset.Position(call.Pos())) }

// policiesOf returns the policies that the package declares, as wrappers have
// them.
func policiesOf(pass *analysis.Pass) map[types.Object]wrapper {
	found := map[types.Object]wrapper{}
	if !imports(pass, runtimePath) {
		return found
	}
	for _, file := range pass.Files {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || len(v.Names) != 1 || len(v.Values) != 1 {
					continue
				}
				lit, ok := v.Values[0].(*ast.CompositeLit)
				if !ok || !isPolicy(pass.TypesInfo.TypeOf(lit)) {
					continue
				}
				if p, _, ok := readPolicy(pass, lit); ok {
					found[pass.TypesInfo.Defs[v.Names[0]]] = wrapper{countedAttempts(p), p.Nested}
				}
			}
		}
	}
	return found
}

// countedAttempts returns the number of attempts of a policy, or 1 if it is
// unlimited: then no number can be multiplied.
func countedAttempts(p *retry.Policy) int {
	if p.MaxAttempts == retry.Unlimited {
		return 1
	}
	return max(p.Schedule.Effective().MaxAttempts, 1)
}

// wrapperOf reports whether a function begins a call under a policy, and how
// often that tries: once if that is not known, or not limited.
func wrapperOf(fn *ssa.Function, policies map[types.Object]wrapper) (w wrapper, ok bool) {
	for _, call := range callsOf(fn) {
		callee := call.Call.StaticCallee()
		if callee == nil || callee.Object() == nil || callee.Object().Pkg() == nil ||
			callee.Object().Pkg().Path() != runtimePath {
			continue
		}
		switch callee.Name() {
		case "Begin", "BeginWith", "BeginAdmitted":
		default:
			continue
		}
		if g, isGlobal := call.Call.Args[0].(*ssa.Global); isGlobal && g.Object() != nil {
			if w, known := policies[g.Object()]; known {
				return w, true
			}
		}
		return wrapper{attempts: 1}, true
	}
	return wrapper{}, false
}
