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

// shortestDelay is the shortest wait that is worth ending early.
const shortestDelay = 250 * time.Millisecond

// retrierCalls finds the calls that retry a function: of libraries, which a table describes, and
// of helpers, which facts describe.
var retrierCalls = &analysis.Analyzer{
	Name:       "retriercalls",
	Doc:        "retriercalls: find calls of libraries and helpers that retry what they are given",
	Requires:   []*analysis.Analyzer{ssaForm, attempts, effects},
	FactTypes:  []analysis.Fact{new(helper)},
	ResultType: reflect.TypeFor[*retriers](),
	Run:        runRetrierCalls,
}

// A helper is a fact about a function that retries one of its parameters. Indexes are -1 if there
// is no such parameter.
type helper struct {
	Op      int             // the index of the parameter that is retried
	Until   attempt.Success // what that returns if it has succeeded
	Endless bool            // nothing but that, or the end of the context, ends the retries
	Context int             // the index of the context with which the retries end
	Twin    string          // the function of its package that it gives a context which never ends
	Wait    time.Duration   // without a context: how long it waits at most, besides Delay
	Delay   int             // the index of the duration that says how long it waits

	Attempts int // how often it tries at most; besides the value of a parameter, if that limits it
	Limit    int // the index of that parameter
}

// AFact marks a fact.
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

// retriers are the calls of a package that retry a function.
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
	// A helper may call helpers that come later.
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

// helperOf returns how the function of an attempt retries one of its parameters, or nil.
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

// orNil returns the helper, or nil if nothing is to be known of it.
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

// helper returns what is known of a function that may be nil: one of this package, or one that it
// imports. Of a method value, which has no receiver any more, it knows nothing.
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

// isGivenRoot reports whether a context is made where it is given, and derived from none.
func isGivenRoot(ctx ssa.Value) bool {
	made, ok := ctx.(*ssa.Call)
	return ok && isRootContext(made)
}

// handedOn returns what fn is if a call in it retries a parameter of it, or nil.
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

// parameterCalled returns the parameter that a function value is, or that a function literal
// calls, or nil. It reports also whether that is all that the literal does.
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

// takesContext reports whether a function has a context by which its caller may end it, one of
// another type, or what has one, as a literal may capture one.
func takesContext(fn *ssa.Function) bool {
	return fn.Parent() != nil || slices.ContainsFunc(fn.Params, func(p *ssa.Parameter) bool {
		methods := types.NewMethodSet(p.Type())
		return methods.Lookup(nil, "Done") != nil && methods.Lookup(nil, "Err") != nil ||
			methods.Lookup(nil, "Context") != nil
	})
}

// isOfModule reports whether a function is of the module of the package: its signature can be
// changed.
func isOfModule(pass *analysis.Pass, fn *ssa.Function) bool {
	pkg := flow.Generic(fn).Object().Pkg()
	if pkg == pass.Pkg {
		return true
	}
	return pass.Module != nil && pass.Module.Path != "" && strings.HasPrefix(pkg.Path()+"/", pass.Module.Path+"/")
}

// isUnlimited reports whether a call retries a function that is known until that succeeds, and
// neither a context, nor that function itself, nor another that it is given ends it.
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

// isMadeOfOther reports whether a call makes an operation of another function, which may end it.
func isMadeOfOther(op ssa.Value) bool {
	made, ok := op.(*ssa.Call)
	return ok && slices.ContainsFunc(made.Call.Args, func(arg ssa.Value) bool {
		_, isFunction := arg.Type().Underlying().(*types.Signature)
		return isFunction
	})
}

// isAsked reports whether a function that a call is given besides the one that it retries asks a
// context whether to go on.
func (a *retriers) isAsked(r *retrier) bool {
	return slices.ContainsFunc(r.call.Common().Args, func(arg ssa.Value) bool {
		v := origin(arg)
		fn := operation(v)
		return v != r.op() && fn != nil && a.found.Operation(fn).Asks
	})
}

// continuesAfter returns the context of the caller that a call goes on after, or nil. What a
// function literal is for, and when it runs, is not known unless it uses the context.
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
		return nil // to change a signature for this is not worth it
	case o.Context != nil:
		return o.Context
	case !o.Done && a.effects.EndsRetries(r.fn):
		return nil // others may tell the operation that the context has ended, as by closing a server
	}
	live := a.found.ScopeContext(within)
	if p, ok := live.(*ssa.Parameter); !ok || p.Parent() != within {
		return nil
	}
	return live
}
