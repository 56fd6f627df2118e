package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
	retry "github.com/retrygen/retrygen/runtime"
)

// retryingFunctions finds how often functions try what they call: by loops of
// their own, by the policies of generated wrappers, and by what they call.
var retryingFunctions = &analysis.Analyzer{
	Name:       "retryingfunctions",
	Doc:        "retryingfunctions: find functions that retry, and how often",
	Requires:   []*analysis.Analyzer{ssaForm, retries, remoteFunctions},
	FactTypes:  []analysis.Fact{new(retrying)},
	ResultType: reflect.TypeFor[*nesting](),
	Run:        runRetryingFunctions,
}

// retrying is a fact about a function: one call of it may try something several
// times.
type retrying struct {
	Attempts int    // at most, all levels multiplied
	Where    string // the place of the innermost level but one
	Wrapper  bool   // it is generated, or written as if: its policy retries
	Depth    int    // how many calls lie between
}

// farthest is how many calls may lie between two levels. What is farther away
// is seldom what the outer level is about.
const farthest = 3

// AFact marks a fact.
func (*retrying) AFact() {}

// String shows the fact to tests.
func (r *retrying) String() string { return fmt.Sprintf("attempts(%d)", r.Attempts) }

// A level is a place that tries something several times.
type level struct {
	call     *ssa.Call // what is tried
	attempts int
	loop     *retryloop.Retry // nil for a policy
}

// nesting is what a package knows of its levels.
type nesting struct {
	pass    *analysis.Pass
	network retryloop.Network
	fns     []*ssa.Function
	levels  map[*ssa.Function][]level
	facts   map[*ssa.Function]*retrying
	open    map[*ssa.Function]bool
}

func runRetryingFunctions(pass *analysis.Pass) (any, error) {
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	n := &nesting{pass, pass.ResultOf[remoteFunctions].(retryloop.Network), fns, map[*ssa.Function][]level{}, map[*ssa.Function]*retrying{}, map[*ssa.Function]bool{}}
	policies := attemptsOf(pass)
	for _, r := range pass.ResultOf[retries].([]retryloop.Retry) {
		if attempts := r.Attempts(); attempts > 1 {
			fn := r.Call.Parent()
			n.levels[fn] = append(n.levels[fn], level{r.Call, attempts, &r})
		}
	}
	for _, fn := range fns {
		if attempts, ok := wrapperOf(fn, policies); ok {
			n.facts[fn] = &retrying{Attempts: max(attempts, 1), Where: n.place(fn), Wrapper: true}
		}
	}
	for _, fn := range fns {
		if f := n.of(fn); f != nil && fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), f)
		}
	}
	return n, nil
}

// of returns the fact about a function, or nil.
func (n *nesting) of(fn *ssa.Function) *retrying {
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
	best := retrying{Attempts: 1}
	for _, l := range n.levels[fn] {
		inner := n.attempts(l.call)
		if inner == 1 && !l.loop.Outward(n.network) {
			continue // what stays inside of the program may be tried often
		}
		if total := l.attempts * inner; total > best.Attempts {
			best = retrying{Attempts: total, Where: n.position(l.call)}
		}
	}
	for _, call := range callsOf(fn) {
		callee := call.Call.StaticCallee()
		if callee == nil {
			continue
		}
		if f := n.of(callee); f != nil && f.Attempts > best.Attempts && f.Depth < farthest {
			best = retrying{Attempts: f.Attempts, Where: f.Where, Depth: f.Depth + 1}
		}
	}
	n.facts[fn] = nil
	if best.Attempts > 1 {
		n.facts[fn] = &best
	}
	return n.facts[fn]
}

// attempts returns how often a call tries something, at most.
func (n *nesting) attempts(call *ssa.Call) int {
	if callee := call.Call.StaticCallee(); callee != nil {
		if f := n.of(callee); f != nil {
			return f.Attempts
		}
	}
	return 1
}

func (n *nesting) place(fn *ssa.Function) string { return short(n.pass.Fset.Position(fn.Pos())) }

func (n *nesting) position(call *ssa.Call) string { return short(n.pass.Fset.Position(call.Pos())) }

// attemptsOf returns the attempts of the policies that the package declares.
func attemptsOf(pass *analysis.Pass) map[types.Object]int {
	found := map[types.Object]int{}
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
					found[pass.TypesInfo.Defs[v.Names[0]]] = cmp.Or(p.MaxAttempts, retry.DefaultMaxAttempts)
				}
			}
		}
	}
	return found
}

// wrapperOf reports whether a function begins a call under a policy, and how
// often that tries, 0 if that is not known.
func wrapperOf(fn *ssa.Function, policies map[types.Object]int) (attempts int, ok bool) {
	for _, call := range callsOf(fn) {
		callee := call.Call.StaticCallee()
		if callee == nil || callee.Object() == nil || callee.Object().Pkg() == nil || callee.Object().Pkg().Path() != runtimePath {
			continue
		}
		if name := callee.Name(); name != "Begin" && name != "BeginWith" {
			continue
		}
		if g, isGlobal := call.Call.Args[0].(*ssa.Global); isGlobal && g.Object() != nil {
			return policies[g.Object()], true
		}
		return 0, true
	}
	return 0, false
}
