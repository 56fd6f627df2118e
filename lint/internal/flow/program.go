// Package flow determines which instructions are executed after a call has failed or succeeded.
//
// # The lattice
//
// A [Value] describes what is known about a value at run time: nothing (Top), that it is nil,
// that it is not nil, that it is a particular constant, or that it is not computed at all
// (Bottom). Memory that has a name, a [Cell], is first converted into SSA form. For each load,
// the definitions that reach it are then known. After a call, nothing is known about cells to
// which other code can write.
//
// # The two solvers
//
// Both solvers evaluate instructions with the same transfer functions. A phi joins the values
// from the executed edges. A branch on a known value takes one edge. The call of a small
// function is evaluated with the known values of its arguments.
//
// The first solver is conditional constant propagation from the entry of a function, upwards
// from Bottom (Wegman and Zadeck). It runs once per function, and computes what always holds.
//
// The second solver, [Program.After], begins with this result, assumes the results of one call,
// and descends. It evaluates only what depends on the assumption, removes edges that are no
// longer executed, and repeats this until nothing changes. The cost of a run is therefore
// proportional to the changes that the assumption causes, plus one walk over the blocks of the
// loop. All operations of a loop share the first result. A run does not execute the entry of
// the loop, so that each pass of the descent describes the state after one more execution that
// ended in the same way. The loop variables then have the values that they get from the back
// edges.
package flow

import (
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Limits of the evaluation of called functions.
const (
	maxCalleeBlocks = 40
	maxCalleeDepth  = 3
)

// A Callee contains what the solver needs to know about a call, in addition to the body of the
// called function.
type Callee struct {
	Exits bool // the call never returns
	Nil   bool // its only result is nil
}

// A Program holds what the solver knows about the functions of one package. It must not be used
// concurrently.
type Program struct {
	// Callee returns what the summary of a call's function contains. It may be nil.
	Callee func(*ssa.CallCommon) Callee

	graphs map[*ssa.Function]*graph
	evals  map[string]outcome
}

// NewProgram returns a Program that uses callee for information about calls. If callee is nil,
// it only uses package vocab.
func NewProgram(callee func(*ssa.CallCommon) Callee) *Program {
	return &Program{Callee: callee, graphs: map[*ssa.Function]*graph{}, evals: map[string]outcome{}}
}

// known returns what is known about a call.
func (p *Program) known(call *ssa.CallCommon) (c Callee) {
	if p.Callee != nil {
		c = p.Callee(call)
	}
	known := Known(call)
	c.Exits = c.Exits || known.Is(vocab.Exits) && known.Evidence >= vocab.Library
	return c
}

// keeps reports whether a call writes to no memory that its caller can read. It does not use
// summaries, because they are computed from definitions that depend on keeps.
func keeps(call *ssa.CallCommon) bool {
	_, builtin := call.Value.(*ssa.Builtin)
	return builtin || Known(call).Is(vocab.Pure|vocab.Logs|vocab.Clock|vocab.Waits)
}

// StaticCallee returns the function or method that a call names, and its body if the body is
// available. For an interface method, it returns only the method. For a function value, it
// returns nil for both.
func StaticCallee(call *ssa.CallCommon) (*types.Func, *ssa.Function) {
	if call.IsInvoke() {
		return call.Method, nil
	}
	fn := Generic(call.StaticCallee())
	if fn == nil {
		return nil, nil
	}
	obj, _ := fn.Object().(*types.Func)
	if len(fn.Blocks) == 0 {
		return obj, nil
	}
	return obj, fn
}

// Arguments returns the arguments of a call, without the receiver.
func Arguments(call *ssa.CallCommon) []ssa.Value {
	if !call.IsInvoke() && call.Signature().Recv() != nil {
		return call.Args[1:]
	}
	return call.Args
}

// Known returns what package vocab contains about the function that a call names. For function
// values, it contains nothing.
func Known(call *ssa.CallCommon) vocab.Known {
	if obj, _ := StaticCallee(call); obj != nil {
		return vocab.Of(obj)
	}
	return vocab.Known{Duration: -1}
}

// Generic returns the generic function of which fn is an instance, or otherwise fn. fn may be
// nil.
func Generic(fn *ssa.Function) *ssa.Function {
	if fn != nil && fn.Origin() != nil {
		return fn.Origin()
	}
	return fn
}

// Always returns what is known about a value of a function for all arguments.
func (p *Program) Always(fn *ssa.Function, v ssa.Value) Value {
	return p.graph(fn).always().value(v, nil)
}

// IsError reports whether t is the type error.
func IsError(t types.Type) bool { return types.Identical(t, errorType) }

// ReturnsError reports whether the last result of a function is an error.
func ReturnsError(sig *types.Signature) bool {
	n := sig.Results().Len()
	return n > 0 && IsError(sig.Results().At(n-1).Type())
}

// IsErrorLike reports whether values of type t implement error.
func IsErrorLike(t types.Type) bool {
	return types.Implements(t, errorType.Underlying().(*types.Interface))
}

var errorType = types.Universe.Lookup("error").Type()

// An outcome contains the results of a function for some arguments.
type outcome struct {
	results []Value
	returns bool
}

// evaluate returns the outcome of a function for the given arguments.
func (p *Program) evaluate(fn *ssa.Function, args []Value, depth int) outcome {
	var key strings.Builder
	key.WriteString(fn.String())
	for _, arg := range args {
		key.WriteByte(' ')
		key.WriteString(arg.String())
	}
	key.WriteByte(' ')
	key.WriteString(strconv.Itoa(depth))
	unknown := outcome{make([]Value, fn.Signature.Results().Len()), true}
	for i := range unknown.results {
		unknown.results[i] = Top
	}
	if o, ok := p.evals[key.String()]; ok {
		return o
	}
	p.evals[key.String()] = unknown // for recursive calls
	o := p.graph(fn).solve(args, depth).outcome()
	p.evals[key.String()] = o
	return o
}
