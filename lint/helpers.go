package lint

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// endlessRetries finds the calls that retry an operation without a bound: of
// libraries, and of helpers of this module, which it marks with facts.
var endlessRetries = &analysis.Analyzer{
	Name:       "endlessretries",
	Doc:        "endlessretries: find calls that retry for ever, through libraries and helpers",
	Requires:   []*analysis.Analyzer{ssaForm, attempts},
	FactTypes:  []analysis.Fact{new(endlessHelper)},
	ResultType: reflect.TypeFor[[]endless](),
	Run:        runEndlessRetries,
}

// endlessHelper is a fact about a function: it retries one of its parameters
// until that succeeds, or one of its contexts ends.
type endlessHelper struct {
	Op      int              // the index of the parameter that is retried
	Context int              // the index of the context, or -1
	Until   retryloop.Answer // what the parameter is to answer
}

// AFact marks a fact.
func (*endlessHelper) AFact() {}

// String shows the fact to tests.
func (h *endlessHelper) String() string {
	answer := map[retryloop.Answer]string{retryloop.True: ", or true", retryloop.False: ", or false"}[h.Until]
	return fmt.Sprintf("retries(%d, until %d%s)", h.Op, h.Context, answer)
}

// An endless is a call that retries an operation without a bound.
type endless struct {
	fn   *ssa.Function
	call ssa.CallInstruction // also of a go or defer statement
	ctx  ssa.Value           // the context that it is given, if any, which never ends
	able bool                // it could be given another, or the operation has one
}

// name returns the name of what is called.
func (e endless) name() string {
	if e.call.Common().IsInvoke() {
		return e.call.Common().Method.Name()
	}
	return nameOfFunction(e.call.Common().StaticCallee())
}

// pos returns where the arguments of the call begin.
func (e endless) pos() token.Pos { return e.call.Common().Pos() }

func runEndlessRetries(pass *analysis.Pass) (any, error) {
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	helpers := loopHelpers(pass.ResultOf[attempts].(*attempt.Package))
	var found []endless
	// A helper may call helpers that come later.
	for grown := true; grown; {
		grown, found = false, nil
		for _, fn := range fns {
			for call := range startedBy(fn) {
				op, ctx, until, ok := endlessCall(pass, helpers, call)
				switch {
				case !ok || mayEnd(op) || mayAnswer(op, until) || isTicked(op):
				case helpers[fn] != nil:
				case passesOn(fn, op, ctx, until) != nil:
					helpers[fn] = passesOn(fn, op, ctx, until)
					grown = true
				case ctx == nil || retryloop.NeverEnds(ctx):
					if _, given := op.(*ssa.Parameter); !given {
						able := ctx != nil || libraryOf(call.Common()) != nil || hasContext(op)
						found = append(found, endless{fn, call, ctx, able})
					}
				}
			}
		}
	}
	exportFacts(pass, helpers)
	return found, nil
}

// exportFacts exports what is known of the functions of the package.
func exportFacts[F analysis.Fact](pass *analysis.Pass, helpers map[*ssa.Function]F) {
	for fn, fact := range helpers {
		if fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), fact)
		}
	}
}

// loopHelpers returns the functions with a loop that retries one of their parameters without a
// bound.
func loopHelpers(p *attempt.Package) map[*ssa.Function]*endlessHelper {
	helpers := map[*ssa.Function]*endlessHelper{}
	for _, t := range p.Attempts {
		if h := loopHelper(t); h != nil && helpers[t.Fn] == nil {
			helpers[t.Fn] = h
		}
	}
	return helpers
}

// loopHelper returns what a function is if a loop of its own retries one of its parameters
// without a bound, or nil.
func loopHelper(t *attempt.Attempt) *endlessHelper {
	r := t.Retries()
	if r == nil || !r.Endless {
		return nil
	}
	return &endlessHelper{slices.Index(t.Fn.Params, r.Op), slices.Index(t.Fn.Params, r.Context), answerOf(r.Until)}
}

// answerOf returns the answer that a success is.
func answerOf(s attempt.Success) retryloop.Answer {
	switch s {
	case attempt.True:
		return retryloop.True
	case attempt.False:
		return retryloop.False
	}
	return retryloop.NoError
}

func callsOf(fn *ssa.Function) (calls []*ssa.Call) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			if call, ok := instr.(*ssa.Call); ok {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

// startedBy yields what a function calls, also by go and defer statements.
func startedBy(fn *ssa.Function) iter.Seq[ssa.CallInstruction] {
	return func(yield func(ssa.CallInstruction) bool) {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if call, ok := instr.(ssa.CallInstruction); ok && !yield(call) {
					return
				}
			}
		}
	}
}

// endlessCall reports whether a call retries op until ctx ends, or for ever if
// that is nil, and until what answer.
func endlessCall(pass *analysis.Pass, helpers map[*ssa.Function]*endlessHelper,
	call ssa.CallInstruction) (op, ctx ssa.Value, until retryloop.Answer, ok bool) {
	callee := call.Common().StaticCallee()
	if callee == nil {
		op, ctx, ok = failsafeEndless(call.Common())
		return op, ctx, retryloop.NoError, ok
	}
	args := call.Common().Args
	if l := libraryOf(call.Common()); l != nil {
		if !l.unbounded(args) {
			return nil, nil, retryloop.NoError, false
		}
		if fn := operation(origin(args[l.op])); l.final && fn != nil && retryloop.FailsWithContext(fn) {
			return nil, nil, retryloop.NoError, false
		}
		if l.ctx >= 0 {
			ctx = args[l.ctx]
		} else if l.stops != nil {
			ctx = l.stops(args)
		}
		return origin(args[l.op]), ctx, retryloop.NoError, true
	}
	h := helperFact(pass, helpers, callee)
	if h == nil {
		return nil, nil, retryloop.NoError, false
	}
	if h.Context >= 0 {
		ctx = args[h.Context]
	}
	return origin(args[h.Op]), ctx, h.Until, true
}

// helperFact returns what is known of a function that may be nil: one of this package, which
// helpers has, or one that it imports. Of a method value, which has no receiver any more,
// it knows nothing.
func helperFact[F interface {
	*T
	analysis.Fact
}, T any](pass *analysis.Pass, helpers map[*ssa.Function]F, fn *ssa.Function) F {
	fn = retryloop.Generic(fn)
	if fn == nil || helpers[fn] != nil {
		return helpers[fn]
	}
	fact := F(new(T))
	if fn.Object() == nil || len(fn.FreeVars) > 0 || !pass.ImportObjectFact(fn.Object(), fact) {
		return nil
	}
	return fact
}

// passesOn returns what fn is if what it retries is a parameter of its own.
func passesOn(fn *ssa.Function, op, ctx ssa.Value, until retryloop.Answer) *endlessHelper {
	i := slices.IndexFunc(fn.Params, func(p *ssa.Parameter) bool { return p == op })
	if i < 0 {
		return nil
	}
	if ctx == nil || retryloop.NeverEnds(ctx) {
		return &endlessHelper{i, -1, until}
	}
	if k := slices.IndexFunc(fn.Params, func(p *ssa.Parameter) bool { return p == ctx }); k >= 0 {
		return &endlessHelper{i, k, until}
	}
	return nil
}

// mayEnd reports whether an operation may end its retry by itself: it counts,
// or asks a context, a channel or a clock.
func mayEnd(op ssa.Value) bool { return mayEndWithin(op, 4) }

// mayAnswer reports whether an operation may give the bool that its retry is for otherwise
// than by a success.
func mayAnswer(op ssa.Value, until retryloop.Answer) bool {
	if _, given := op.(*ssa.Parameter); given || until == retryloop.NoError {
		return false
	}
	fn := operation(op)
	return fn == nil || !retryloop.Fails(fn, until)
}

// isTicked reports whether an operation is a condition that never holds and never fails: what
// polls it is used as a ticker.
func isTicked(op ssa.Value) bool {
	fn := operation(op)
	if fn == nil || fn.Signature.Results().Len() != 2 || len(fn.Blocks) == 0 {
		return false
	}
	return !slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		return ok && b != fn.Recover && !(isFalse(ret.Results[0]) && isNilConst(ret.Results[1]))
	})
}

func isFalse(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.Kind() == constant.Bool && !constant.BoolVal(c.Value)
}

// mayEndWithin looks through depth functions that wrap an operation.
func mayEndWithin(op ssa.Value, depth int) bool {
	switch op := op.(type) {
	case *ssa.Parameter:
		return false
	case *ssa.Call:
		return depth == 0 || mayEndWrapped(op, depth-1)
	}
	fn := operation(op)
	return fn == nil || retryloop.MayEnd(fn)
}

// mayEndWrapped is mayEnd of what a function of the package makes of operations.
func mayEndWrapped(made *ssa.Call, depth int) bool {
	callee := made.Call.StaticCallee()
	if callee == nil || len(callee.Blocks) == 0 {
		return true
	}
	for _, b := range callee.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if ok && (len(ret.Results) != 1 || mayEndWithin(origin(ret.Results[0]), depth)) {
			return true
		}
	}
	return slices.ContainsFunc(made.Call.Args, func(arg ssa.Value) bool {
		_, isFunction := arg.Type().Underlying().(*types.Signature)
		return isFunction && mayEndWithin(origin(arg), depth)
	})
}

// operation returns the function that is retried, if it is known.
func operation(op ssa.Value) *ssa.Function {
	switch op := op.(type) {
	case *ssa.MakeClosure:
		fn := op.Fn.(*ssa.Function)
		// Of a method with its receiver there is only a call.
		if method, ok := fn.Object().(*types.Func); ok {
			if bound := fn.Prog.FuncValue(method); bound != nil {
				return bound
			}
		}
		return fn
	case *ssa.Function:
		return op
	case *ssa.Call:
		return operationOf(op.Call.StaticCallee())
	}
	return nil
}

// operationOf returns the literal that a function returns, if that is all it does.
func operationOf(maker *ssa.Function) *ssa.Function {
	if maker == nil || len(maker.Blocks) != 1 {
		return nil
	}
	ret, ok := maker.Blocks[0].Instrs[len(maker.Blocks[0].Instrs)-1].(*ssa.Return)
	if !ok || len(ret.Results) != 1 {
		return nil
	}
	literal, ok := origin(ret.Results[0]).(*ssa.MakeClosure)
	if !ok {
		return nil
	}
	return operation(literal)
}

// hasContext reports whether an operation hands a context to what it calls.
func hasContext(op ssa.Value) bool {
	fn := operation(op)
	return fn != nil && slices.ContainsFunc(callsOf(fn), func(call *ssa.Call) bool {
		return retryloop.GivenContext(call) != nil
	})
}
