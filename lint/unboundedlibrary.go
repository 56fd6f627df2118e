package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// UnboundedLibrary reports RL201 and RL202.
var UnboundedLibrary = &analysis.Analyzer{
	Name:       "unboundedlibrary",
	Doc:        docOf("unboundedlibrary", "RL201", "RL202"),
	URL:        pageOf("RL201"),
	Requires:   []*analysis.Analyzer{ssaForm, endlessRetries, cancellableCalls, directiveIndex},
	ResultType: used,
	Run:        runUnboundedLibrary,
}

func runUnboundedLibrary(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	known := map[ssa.CallInstruction]bool{}
	for _, e := range pass.ResultOf[endlessRetries].([]endless) {
		known[e.call] = true
		file := fileOf(pass, e.pos())
		if file == nil || ast.IsGenerated(file) {
			continue
		}
		limit := "a limit"
		if l := libraryOf(e.call.Common()); l != nil {
			limit += " (" + l.limit + ")"
		}
		text, codes := "pass "+limit, []string{"RL201"}
		var fixes []analysis.SuggestedFix
		// One that it is given already, for another reason, does not help.
		if ctx := retryloop.LiveContext(e.call); ctx != nil && e.able && !slices.Contains(e.call.Common().Args, ctx) {
			text, codes = fmt.Sprintf("pass %s, or %s", nameOfContext(ctx), limit), append(codes, "RL202")
			fixes = contextFix(pass, file, e, ctx)
		}
		if call, ok := e.call.(*ssa.Call); ok && retryloop.Spins(call) {
			text, codes = text+"; the outer loop restarts it without a wait", append(codes, "RL103")
		}
		pos := callStart(file, e.pos())
		r.finding(analysis.Diagnostic{
			Pos: pos, End: e.pos(),
			Message:        fmt.Sprintf("%s retries until it succeeds, without a limit: %s", e.name(), text),
			SuggestedFixes: fixes,
		}, Library, codes...)
	}
	helpers := pass.ResultOf[cancellableCalls].(map[*ssa.Call]*library)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range callsOf(fn) {
			if !known[call] {
				r.goesOn(call, cmp.Or(libraryOf(&call.Call), helpers[call]))
			}
		}
	}
	r.deafHelpers(helpers)
	return r.used, nil
}

// goesOn reports a call, perhaps of a library or helper that retries, which goes on after a
// context has ended that it could be given.
func (r *report) goesOn(call *ssa.Call, l *library) {
	file := fileOf(r.pass, call.Pos())
	if file == nil || ast.IsGenerated(file) || inTest(r.pass, call.Pos()) {
		return
	}
	say := func(live ssa.Value, advice string, fixes []analysis.SuggestedFix) {
		r.finding(analysis.Diagnostic{
			Pos: callStart(file, call.Pos()), End: call.Pos(),
			Message: fmt.Sprintf("%s continues after %s has ended: %s", retryloop.NameOf(call), nameOfContext(live),
				advice),
			SuggestedFixes: fixes,
		}, Library, "RL202")
	}
	if sendsWithoutContext(call) {
		if live, ok := retryloop.LiveContext(call).(*ssa.Parameter); ok && live.Parent() == call.Parent() {
			say(live, "pass its request that context", nil)
		}
		return
	}
	if l == nil || !l.lacksContext(call.Call.Args) {
		return
	}
	if l.deaf && l.instead == "" {
		return // deafHelpers tells of all calls at once
	}
	if l.deaf {
		if live := l.isDeafTo(call); live != nil {
			say(live, "call "+l.instead+" instead", nil)
		}
		return
	}
	live := contextFor(call, operation(origin(call.Call.Args[l.op])))
	if live == nil {
		return
	}
	advice := "pass it that context"
	if twin := l.twinIn(call.Call.StaticCallee().Object().Pkg()); twin != "" {
		advice = "call " + twin + " instead"
	}
	e := endless{fn: call.Parent(), call: call}
	if l.ctx >= 0 {
		e.ctx = call.Call.Args[l.ctx]
	}
	say(live, advice, contextFix(r.pass, file, e, live))
}

// asksToStop reports whether an argument is a function that asks whether to stop.
func asksToStop(arg ssa.Value) bool {
	fn := operation(arg)
	return fn != nil && retryloop.AsksToStop(fn)
}

// contextFor returns the context that a call which retries op is to end with, or nil. What a
// function literal is for, and when it runs, is not known, unless op is given the context. So
// is that of a context which is no parameter.
func contextFor(call *ssa.Call, op *ssa.Function) ssa.Value {
	live := retryloop.LiveContext(call)
	given, isParameter := live.(*ssa.Parameter)
	switch {
	case retryloop.GivesItsOwn(op):
		return nil
	case live == nil:
		return retryloop.RequestGiven(op)
	case isParameter && given.Parent() == call.Parent() || retryloop.Gives(op, live):
		return live
	}
	return nil
}

// lacksContext reports whether a call that could be given a context has none that ends, and
// the operation does not see to it.
func (l *library) lacksContext(args []ssa.Value) bool {
	op := operation(origin(args[l.op]))
	// A helper may be told which errors it is to retry.
	endsByError := l.final ||
		l.deaf && !slices.ContainsFunc(args[l.op+1:], func(arg ssa.Value) bool { return !isNilConst(arg) })
	return op != nil && !retryloop.AsksToStop(op) && !(endsByError && retryloop.AsksOnce(op)) && l.hasNoContext(args)
}

// hasNoContext reports whether a call that could be given a context, and waits for long
// enough, has none that ends.
func (l *library) hasNoContext(args []ssa.Value) bool {
	switch {
	case l.brief != nil && l.brief(args):
		return false
	case l.deaf || len(l.twins) > 0:
		return true
	case l.ctx >= 0:
		given, ok := args[l.ctx].(*ssa.Call)
		return ok && isRootContext(given)
	case l.stops == nil || l.stops(args) != nil:
		return false
	case isCenkalti(l.paths[0]):
		return cenkaltiSeen(args[1])
	}
	options, all := appended(avastOptions(args), map[ssa.Value]bool{})
	return all && !slices.ContainsFunc(options, func(v ssa.Value) bool {
		return isOption(v, "Context", nil)
	})
}

// givesUp reports whether an operation marks errors that end its retries: the
// end of a context may be one. An error that the program names is another.
func givesUp(op ssa.Value) bool {
	fn := operation(op)
	return fn != nil && slices.ContainsFunc(callsOf(fn), func(call *ssa.Call) bool {
		callee := call.Call.StaticCallee()
		return callee != nil && (callee.Name() == "Permanent" || callee.Name() == "Unrecoverable") &&
			!slices.ContainsFunc(call.Call.Args, isNamedError)
	})
}

// isMadeError reports whether a call makes an error of a text, and of nothing that is an
// error itself.
func isMadeError(call *ssa.Call) bool {
	fn := call.Call.StaticCallee()
	if fn == nil || fn.Name() != "New" && fn.Name() != "Errorf" || !retryloop.IsError(call.Type()) {
		return false
	}
	for _, arg := range call.Call.Args {
		for _, v := range append(elements(arg), arg) {
			if made, ok := v.(*ssa.MakeInterface); ok {
				v = made.X
			}
			if retryloop.IsError(v.Type()) || isChangedError(v) {
				return false
			}
		}
	}
	return true
}

func isChangedError(v ssa.Value) bool {
	changed, ok := v.(*ssa.ChangeInterface)
	return ok && retryloop.IsError(changed.X.Type())
}

// isNamedError reports whether v is an error that is a variable of a package, or wraps
// one, or is made of a text.
func isNamedError(v ssa.Value) bool {
	if wrap, ok := v.(*ssa.Call); ok && len(wrap.Call.Args) > 0 {
		if isMadeError(wrap) {
			return true
		}
		v = wrap.Call.Args[0]
	}
	load, ok := v.(*ssa.UnOp)
	if !ok || !retryloop.IsError(load.Type()) {
		return false
	}
	_, global := load.X.(*ssa.Global)
	return global
}

// cenkaltiSeen reports whether a BackOff is made where it is used.
func cenkaltiSeen(b ssa.Value) bool {
	b = origin(b)
	for isCenkaltiCall(b, "WithMaxRetries") {
		b = origin(b.(*ssa.Call).Call.Args[0])
	}
	return isCenkaltiCall(b, "NewConstantBackOff", "NewExponentialBackOff")
}
