package lint

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// shortestDelay is the shortest wait that is reported if the end of a context cannot interrupt
// it.
const shortestDelay = 250 * time.Millisecond

// retrierCalls finds the calls that retry a function. A table describes those of libraries, and
// facts describe those of helpers.
var retrierCalls = &analysis.Analyzer{
	Name:       "retriercalls",
	Doc:        "retriercalls: find calls of libraries and helpers that retry what they are given",
	Requires:   []*analysis.Analyzer{ssaForm, attempts, effects},
	FactTypes:  []analysis.Fact{new(helper)},
	ResultType: reflect.TypeFor[*retriers](),
	Run:        runRetrierCalls,
}

// A helper is a fact about a function that retries one of its parameters. An index is -1 if
// there is no such parameter.
type helper struct {
	Op      int             // the index of the parameter that is retried
	Until   attempt.Success // the result of the operation that counts as success
	Endless bool            // only success, or the end of the context, ends the retries
	Context int             // the index of the context that ends the retries
	Twin    string          // the function in its package that it calls with a context which never ends
	Wait    time.Duration   // the maximum wait, if the helper takes no context and has no Delay
	Delay   int             // the index of the duration for which it waits

	Attempts int // the maximum number of attempts; with Limit, the number in addition to that parameter
	Limit    int // the index of the parameter that limits the attempts
}

// AFact marks helper as a fact.
func (*helper) AFact() {}

// String formats the fact for tests.
func (h *helper) String() string {
	text := fmt.Sprintf("retries #%d until %s", h.Op, [...]string{"it succeeds", "true", "false"}[h.Until])
	if h.Endless {
		text += ", endless"
	}
	switch {
	case h.Context >= 0:
		return fmt.Sprintf("%s, ends with #%d", text, h.Context)
	case h.Twin != "":
		return text + ", has " + h.Twin
	case h.Delay >= 0:
		return fmt.Sprintf("%s, waits for #%d", text, h.Delay)
	case h.Wait > 0:
		return text + ", waits"
	}
	return text
}

// A retrier is a call that retries a function.
type retrier struct {
	*plan
	call ssa.CallInstruction
	fn   *ssa.Function // the function that is retried, if it is known
}

// retriers holds the calls of a package that retry a function.
type retriers struct {
	calls   []*retrier // in the order of the functions
	pass    *analysis.Pass
	found   *attempt.Package
	effects *effect.Package
	helpers map[*ssa.Function]*helper
}

func runRetrierCalls(pass *analysis.Pass) (any, error) {
	a := &retriers{pass: pass, found: pass.ResultOf[attempts].(*attempt.Package),
		effects: pass.ResultOf[effects].(*effect.Package), helpers: map[*ssa.Function]*helper{}}
	for _, t := range a.found.Attempts {
		if h := helperOf(t); h != nil && (a.helpers[t.Fn] == nil || h.Endless && !a.helpers[t.Fn].Endless) {
			a.helpers[t.Fn] = h
		}
	}
	// A helper may call helpers that are found only later.
	for grown := true; grown; {
		grown, a.calls = false, nil
		for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
			for call := range startedBy(fn) {
				r := a.retrier(call)
				if r == nil {
					continue
				}
				a.calls = append(a.calls, r)
				if a.helpers[fn] == nil {
					h := a.handedOn(fn, r)
					if h != nil {
						a.helpers[fn], grown = h, true
					}
				}
			}
		}
	}
	for fn, h := range a.helpers {
		if fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), h)
		}
	}
	return a, nil
}

// helperOf returns how the function that contains an attempt retries one of its parameters, or
// nil.
func helperOf(t *attempt.Attempt) *helper {
	r := t.Retries()
	if r == nil {
		return nil
	}
	h := &helper{Op: slices.Index(t.Fn.Params, r.Op), Until: r.Until, Endless: r.Endless,
		Context: slices.Index(t.Fn.Params, r.Context), Delay: -1, Attempts: t.Limit(), Limit: -1}
	for _, l := range t.Limits() {
		if l.Of != nil && h.Attempts == 0 && h.Limit < 0 {
			h.Limit, h.Attempts = slices.Index(t.Fn.Params, l.Of), l.Beyond
		}
	}
	if r.Context == nil && !takesContext(t.Fn) {
		h.Delay = slices.Index(t.Fn.Params, r.Delay)
		if h.Delay < 0 {
			h.Wait = r.Wait
		}
	}
	return h.orNil()
}

// orNil returns the helper, or nil if callers would learn nothing from it.
func (h *helper) orNil() *helper {
	if h.Endless || h.Context >= 0 || h.Twin != "" || h.Delay >= 0 || h.Wait >= shortestDelay || h.Attempts > 1 ||
		h.Limit >= 0 {
		return h
	}
	return nil
}

// retrier returns how a call retries a function, or nil.
func (a *retriers) retrier(call ssa.CallInstruction) *retrier {
	p := planOf(call.Common())
	if p == nil {
		h := a.helper(call.Common().StaticCallee())
		if h == nil {
			return nil
		}
		p = planOfHelper(call.Common(), h)
	}
	return &retrier{p, call, operation(p.op())}
}

// helper returns the helper that a function of this package or of an imported one is, or nil.
// fn may be nil. It returns nil for a method value of another package, because its parameters
// do not include the receiver.
func (a *retriers) helper(fn *ssa.Function) *helper {
	fn = flow.Generic(fn)
	if fn == nil || a.helpers[fn] != nil {
		return a.helpers[fn]
	}
	h := new(helper)
	if fn.Object() == nil || len(fn.FreeVars) > 0 || !a.pass.ImportObjectFact(fn.Object(), h) {
		return nil
	}
	return h
}

// isGivenRoot reports whether a context argument is created in the call, and is not derived
// from another context.
func isGivenRoot(ctx ssa.Value) bool {
	made, ok := ctx.(*ssa.Call)
	return ok && isRootContext(made)
}

// handedOn returns the helper that fn is if a call in it retries one of its parameters, or nil.
func (a *retriers) handedOn(fn *ssa.Function, r *retrier) *helper {
	p, alone := parameterCalled(r.op())
	op := slices.Index(fn.Params, p)
	if op < 0 {
		return nil
	}
	h := &helper{Op: op, Until: r.until(), Endless: alone && r.isEndless(), Context: -1, Delay: -1, Limit: -1}
	if r.ctx != nil && !a.found.NeverEnds(r.ctx) {
		given, _ := r.ctx.(*ssa.Parameter)
		if h.Context = slices.Index(fn.Params, given); h.Context < 0 {
			return nil
		}
		return h
	}
	switch callee := flow.Generic(r.call.Common().StaticCallee()); {
	case takesContext(fn) || !r.isAble():
	case r.helper != nil && r.helper.Context >= 0 && callee.Pkg == fn.Pkg && callee.Signature.Recv() == nil &&
		callee.Parent() == nil:
		h.Twin = callee.Name()
	case r.helper != nil && r.helper.Delay >= 0 && r.isBrief():
		d, _ := r.call.Common().Args[r.helper.Delay].(*ssa.Parameter)
		h.Delay = slices.Index(fn.Params, d)
	case !r.isBrief():
		h.Wait = r.wait()
	}
	return h.orNil()
}

// parameterCalled returns the parameter that an operation is, or that the operation calls if it
// is a function literal. It also reports whether the literal does nothing else.
func parameterCalled(op ssa.Value) (p *ssa.Parameter, alone bool) {
	literal, ok := op.(*ssa.MakeClosure)
	if !ok {
		p, _ = op.(*ssa.Parameter)
		return p, true
	}
	calls := callsOf(literal.Fn.(*ssa.Function))
	for _, call := range calls {
		if given := attempt.CapturedParameter(call.Call.Value); given != nil {
			return given, len(calls) == 1 && len(call.Parent().Blocks) == 1
		}
	}
	return nil, false
}

// takesContext reports whether a caller may end a function by a context: the function has a
// parameter that is a context or contains one. It is also true for function literals, which may
// capture one.
func takesContext(fn *ssa.Function) bool {
	return fn.Parent() != nil || slices.ContainsFunc(fn.Params, func(p *ssa.Parameter) bool {
		methods := types.NewMethodSet(p.Type())
		return methods.Lookup(nil, "Done") != nil && methods.Lookup(nil, "Err") != nil ||
			methods.Lookup(nil, "Context") != nil
	})
}

// isOfModule reports whether a function belongs to the module of the package, so that its
// signature can be changed.
func isOfModule(pass *analysis.Pass, fn *ssa.Function) bool {
	pkg := flow.Generic(fn).Object().Pkg()
	if pkg == pass.Pkg {
		return true
	}
	return pass.Module != nil && pass.Module.Path != "" && strings.HasPrefix(pkg.Path()+"/", pass.Module.Path+"/")
}

// isUnlimited reports whether a call retries a known function until it succeeds, and nothing
// else can end the retries: neither a context, nor the operation itself, nor another function
// that is an argument.
func (a *retriers) isUnlimited(r *retrier) bool {
	if !r.isEndless() || r.ctx != nil && !a.found.NeverEnds(r.ctx) || a.isAsked(r) {
		return false
	}
	if r.fn == nil || a.effects.EndsRetries(r.fn) || isMadeOfOther(r.op()) {
		return false
	}
	switch o := a.found.Operation(r.fn); {
	case o.Asks:
		return false
	case r.until() != attempt.NoError:
		return a.found.IsTrappedBy(r.fn, r.until())
	default:
		return !r.ErrorEnds || !o.Ends && (o.Done || !o.Again)
	}
}

// isMadeOfOther reports whether an operation is the result of a call that takes another
// function, which may end the retries.
func isMadeOfOther(op ssa.Value) bool {
	made, ok := op.(*ssa.Call)
	return ok && slices.ContainsFunc(made.Call.Args, func(arg ssa.Value) bool {
		_, isFunction := arg.Type().Underlying().(*types.Signature)
		return isFunction
	})
}

// isAsked reports whether another function among the arguments, such as a retry condition,
// checks a context.
func (a *retriers) isAsked(r *retrier) bool {
	return slices.ContainsFunc(r.call.Common().Args, func(arg ssa.Value) bool {
		v := origin(arg)
		fn := operation(v)
		return v != r.op() && fn != nil && a.found.Operation(fn).Asks
	})
}

// continuesAfter returns the caller's context after whose end a call continues, or nil. A
// function literal counts only if its operation uses the context, because it is otherwise
// unknown when the literal runs.
func (a *retriers) continuesAfter(r *retrier) ssa.Value {
	if r.fn == nil || !r.isAble() || r.isBrief() || a.isAsked(r) {
		return nil
	}
	o := a.found.Operation(r.fn)
	within := r.call.Parent()
	switch {
	case o.Asks, o.Detached, o.Done && !o.Again, attempt.IsDeferred(within), a.found.IsAfterEnd(r.call):
		return nil
	case r.isDeaf() && (o.Context == nil || attempt.IsGoroutine(within)):
		return nil // this is not worth the change of a signature
	case o.Context != nil:
		return o.Context
	case !o.Done && a.effects.EndsRetries(r.fn):
		return nil // the end of the context may reach the operation in another way, such as by closing a server
	}
	live := a.found.ScopeContext(within)
	if p, ok := live.(*ssa.Parameter); !ok || p.Parent() != within {
		return nil
	}
	return live
}
