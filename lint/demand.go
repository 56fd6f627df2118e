package lint

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/policies"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// timeDemands finds how much time the functions of a package need from the contexts that they
// use.
var timeDemands = &analysis.Analyzer{
	Name:       "timedemands",
	Doc:        "timedemands: find how long calls may take, and how long they need",
	Requires:   []*analysis.Analyzer{ssaForm, attempts},
	FactTypes:  []analysis.Fact{new(contextDemand)},
	ResultType: reflect.TypeFor[*demandFinder](),
	Run:        runTimeDemands,
}

// A demand is the time for which a timeout, a retry or a function call may use a context. If
// the context ends earlier, it cuts the operation short.
type demand struct {
	at   *ssa.Call
	loop *attempt.Attempt // the retry, if it is a loop; or nil
	ctx  ssa.Value        // the context; or nil, if under is set
	term                  // the time that is demanded

	under *ssa.Call // the call that runs a function under a policy, or nil
	inner *demand   // the corresponding demand in the called function, if that is in this package; or nil
}

// A term is how long an operation may take, or how long it needs if all attempts fail.
type term struct {
	Length   time.Duration
	Needed   bool     // the time is necessary: with less, the last attempts would not be made
	First    bool     // the time is only that of the first wait
	What     string   // what takes this long, as the subject of a sentence
	Where    string   // the file and line that set it; "" if that is where the demand is
	Policy   bool     // a policy sets it
	Evidence Evidence // of the length
	Depth    int      // how many calls are between the function and the operation
}

// A contextDemand is a fact about a function: for how long it may use its context parameter. A
// term of length 0 means that there is no such demand.
type contextDemand struct {
	Context int  // the index of the parameter
	Takes   term // the longest timeout
	Needs   term // the longest waits
}

// AFact marks contextDemand as a fact.
func (*contextDemand) AFact() {}

// String formats the fact for tests.
func (d *contextDemand) String() string {
	return fmt.Sprintf("takes %v, needs %v of #%d", d.Takes.Length, d.Needs.Length, d.Context)
}

// A demandFinder finds and stores the demands of the functions of a package.
type demandFinder struct {
	pass  *analysis.Pass
	found *attempt.Package
	loops map[*ssa.Function][]*attempt.Attempt
	of    map[*ssa.Function][]*demand
	facts map[*ssa.Function]*contextDemand // nil: the function has no demand, or its analysis is in progress
}

func runTimeDemands(pass *analysis.Pass) (any, error) {
	d := &demandFinder{pass: pass, found: pass.ResultOf[attempts].(*attempt.Package),
		loops: map[*ssa.Function][]*attempt.Attempt{}, of: map[*ssa.Function][]*demand{},
		facts: map[*ssa.Function]*contextDemand{}}
	for _, t := range d.found.Attempts {
		d.loops[t.Fn] = append(d.loops[t.Fn], t)
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		if f := d.fact(fn); f != nil && fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), f)
		}
	}
	return d, nil
}

// fact returns what a function demands of its context, or nil.
func (d *demandFinder) fact(fn *ssa.Function) *contextDemand {
	fn = flow.Generic(fn)
	if f, known := d.facts[fn]; known {
		return f
	}
	if len(fn.Blocks) == 0 {
		f := new(contextDemand)
		if fn.Object() == nil || !d.pass.ImportObjectFact(fn.Object(), f) {
			return nil
		}
		return f
	}
	d.facts[fn] = nil // for recursive calls
	f := &contextDemand{Context: -1}
	d.of[fn] = d.find(fn)
	for _, one := range d.of[fn] {
		i := -1
		if one.ctx != nil {
			i = slices.Index(fn.Params, d.found.GivenTo(one.ctx))
		}
		if i < 0 || f.Context >= 0 && f.Context != i {
			continue
		}
		f.Context = i
		if most := f.term(one.Needed); one.Length > most.Length {
			*most = one.term
			if most.Where == "" {
				most.Where = fileAndLine(d.pass, one.at.Pos())
			}
		}
	}
	if f.Context >= 0 {
		d.facts[fn] = f
	}
	return d.facts[fn]
}

// term returns the term for necessary time, or the one for time that may be taken.
func (d *contextDemand) term(needed bool) *term {
	if needed {
		return &d.Needs
	}
	return &d.Takes
}

// find returns the demands of a function: first those of its loops, then those of its calls in
// the order of the instructions.
func (d *demandFinder) find(fn *ssa.Function) (found []*demand) {
	for _, t := range d.loops[fn] {
		if one := d.ofLoop(t); one != nil {
			found = append(found, one)
		}
	}
	for _, call := range callsOf(fn) {
		found = append(found, d.ofTimeout(call)...)
		found = append(found, d.ofLibrary(call)...)
		found = append(found, d.ofPolicy(call)...)
		found = append(found, d.ofCall(call)...)
	}
	return found
}

// ofLoop returns the demand of a retry in a loop, or nil.
func (d *demandFinder) ofLoop(t *attempt.Attempt) *demand {
	n, ctx := t.Limit(), t.GivenContext()
	if n < 2 || ctx == nil || !t.IsRetry() || t.Change != attempt.Same {
		return nil
	}
	waits, each := t.Pauses(n), time.Duration(0)
	if made := timeoutIn(t.Loop, ctx); made != nil {
		// Have: ctx, cancel := context.WithTimeout(outer, each), in the loop
		each, _ = attempt.Timeout(made)
		ctx = made.Call.Args[0]
	}
	if outer := d.found.Lifetime(ctx); outer.Limit > 0 && each >= outer.Limit {
		return nil // the timeout itself is reported
	}
	what := "the waits between"
	switch {
	case each > 0 && waits > 0:
		what = "the timeouts and waits of"
	case each > 0:
		what = "the timeouts of"
	}
	return &demand{at: t.Op, loop: t, ctx: ctx, term: term{Length: time.Duration(n)*each + waits, Needed: true,
		What: fmt.Sprintf("%s %d attempts of %s", what, n, t.Name()), Evidence: t.Evidence}}
}

// timeoutIn returns the call in the loop that gives each attempt a context with a constant
// timeout, or nil.
func timeoutIn(loop *flow.Loop, ctx ssa.Value) *ssa.Call {
	call, ok := flow.Source(ctx, flow.Unpacked).(*ssa.Call)
	if !ok || !loop.Has(call.Block()) {
		return nil
	}
	if _, ok := attempt.Timeout(call); !ok {
		return nil
	}
	return call
}

// ofTimeout returns the demand of a call that derives a context with a timeout.
func (d *demandFinder) ofTimeout(call *ssa.Call) []*demand {
	length, ok := attempt.Timeout(call)
	if !ok {
		return nil
	}
	return []*demand{{at: call, ctx: call.Call.Args[0], term: term{Length: length, What: "timeout", Evidence: Proven}}}
}

// ofLibrary returns the time that a retry library needs for its first wait.
func (d *demandFinder) ofLibrary(call *ssa.Call) []*demand {
	p := planOf(&call.Call)
	if p == nil || p.ctx == nil || p.firstDelay() == 0 {
		return nil
	}
	return []*demand{{at: call, ctx: p.ctx, term: term{Length: p.firstDelay(), Needed: true,
		What: "the first wait of these retries", First: true, Evidence: Library}}}
}

// ofPolicy returns the demands of a call under a policy. It ignores durable steps, because the
// next execution of the run continues a step whose context ended.
func (d *demandFinder) ofPolicy(call *ssa.Call) (found []*demand) {
	policy := d.found.Policies.Of(&call.Call)
	if policy == nil || policies.IsDurable(&call.Call) {
		return nil
	}
	ctx := contextOf(call)
	if ctx == nil {
		return nil
	}
	limit := policy.CallLimit()
	if limit.Duration == 0 {
		limit = policy.AttemptLimit()
	}
	if limit.Duration > 0 {
		found = append(found, &demand{at: call, ctx: ctx, term: term{Length: limit.Duration,
			What: fmt.Sprintf("%s of policy %s", limit.Setting, policy.Name), Policy: true, Evidence: Proven}})
	}
	if waits := policy.LeastWaits(); waits > 0 {
		found = append(found, &demand{at: call, ctx: ctx, term: term{Length: waits, Needed: true, Policy: true,
			Evidence: Proven, What: fmt.Sprintf("the waits between %d attempts of policy %s", policy.Attempts(), policy.Name)}})
	}
	return found
}

// contextOf returns the context of a call under a policy: an argument of the call, or a
// parameter of the function that makes the call. It may be nil.
func contextOf(call *ssa.Call) ssa.Value {
	if ctx := attempt.GivenContext(&call.Call); ctx != nil {
		return ctx
	}
	for _, p := range call.Parent().Params {
		if vocab.IsContext(p.Type()) {
			return p
		}
	}
	return nil
}

// ofCall returns the demands of a function that is called directly, or that a call runs under a
// policy.
func (d *demandFinder) ofCall(call *ssa.Call) (found []*demand) {
	callee, ctx, under := call.Call.StaticCallee(), ssa.Value(nil), (*ssa.Call)(nil)
	if d.found.Policies.Of(&call.Call) != nil && len(call.Call.Args) > 0 {
		callee, under = operation(origin(call.Call.Args[len(call.Call.Args)-1])), call
	}
	if callee == nil || isSwitched(call, callee) {
		return nil
	}
	f := d.fact(callee)
	switch {
	case f == nil || under != nil && callee.Parent() != nil: // a function literal is checked where it is defined
		return nil
	case under == nil:
		ctx = call.Call.Args[f.Context]
	}
	for _, t := range []term{f.Needs, f.Takes} {
		if t.Length == 0 || t.Depth == farthest {
			continue
		}
		t.Depth++
		found = append(found, &demand{at: call, ctx: ctx, under: under, term: t, inner: d.greatest(callee, t)})
	}
	return found
}

// greatest returns the demand from which a term of a function's fact was taken, or nil.
func (d *demandFinder) greatest(fn *ssa.Function, t term) *demand {
	for _, one := range d.of[flow.Generic(fn)] {
		if one.Needed == t.Needed && one.Length == t.Length && one.What == t.What {
			return one
		}
	}
	return nil
}

// lifetime returns the lifetime of the context that a demand uses.
func (d *demandFinder) lifetime(one *demand) attempt.Lifetime {
	if one.under == nil {
		return d.found.Lifetime(one.ctx)
	}
	limit := d.found.Policies.Of(&one.under.Call).AttemptLimit().Duration
	return attempt.Lifetime{Limit: limit, By: one.under}
}
