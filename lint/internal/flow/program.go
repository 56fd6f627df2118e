// Package flow determines which instructions are executed after a call has failed or
// succeeded.
//
// # The lattice
//
// A [Value] is what is known of a value at run time: nothing is known (Top), it is nil, it is
// not nil, it is a constant, or it is not computed at all (Bottom). Memory that has a name, a
// [Cell], is put into SSA form first: where it is loaded, the definitions that reach the load
// are known, and a call ends what is known of cells that others can write to.
//
// # The two solvers
//
// Both evaluate instructions by the same transfer functions. A phi joins the edges that are
// executed, a branch on a known value takes one edge, a call of a small function is evaluated
// with what is known of its arguments.
//
// The first solver is conditional constant propagation from the entry of a function, upwards
// from Bottom (Wegman and Zadeck). It runs once per function, and gives what always holds.
//
// The second, [Program.After], starts from that result with the results of one call assumed,
// and descends: it evaluates only what depends on the assumption, removes edges that are no
// longer executed, and repeats that until nothing changes. A run is therefore as expensive
// as what the assumption changes, plus one walk over the blocks of the loop; all operations
// of a loop share the first result. The entry of the loop is not executed in a run, so that
// each pass of the descent describes the state after one more execution that ended in the
// same way: variables of the loop have the values that its back edges bring.
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

// A Callee is what the solver has to know of a call besides the body of what it calls.
type Callee struct {
	Exits bool // it never returns
	Nil   bool // its only result is nil
}

// A Program holds what the solver knows of the functions of one package. It must not be used
// concurrently.
type Program struct {
	// Callee reports what is known of a call from its summary. It may be nil.
	Callee func(*ssa.CallCommon) Callee

	graphs map[*ssa.Function]*graph
	evals  map[string]outcome
}

// NewProgram returns a Program that asks callee what is known of calls, or, if that is nil,
// only knows package vocab.
func NewProgram(callee func(*ssa.CallCommon) Callee) *Program {
	return &Program{Callee: callee, graphs: map[*ssa.Function]*graph{}, evals: map[string]outcome{}}
}

// known returns what is known of a call.
func (p *Program) known(call *ssa.CallCommon) (c Callee) {
	if p.Callee != nil {
		c = p.Callee(call)
	}
	known := Known(call)
	c.Exits = c.Exits || known.Is(vocab.Exits) && known.Evidence >= vocab.Library
	return c
}

// keeps reports whether a call writes to nothing that its caller can read. It asks for no
// summary: those are computed with the help of the definitions that this is part of.
func keeps(call *ssa.CallCommon) bool {
	_, builtin := call.Value.(*ssa.Builtin)
	return builtin || Known(call).Is(vocab.Pure|vocab.Logs|vocab.Clock|vocab.Waits)
}

// StaticCallee returns the function or method that a call names, and its body, if it has one
// here. Of an interface method there is only the method. Both are nil for function values.
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

// Known returns what package vocab knows of what a call names. Of function values it knows
// nothing.
func Known(call *ssa.CallCommon) vocab.Known {
	if obj, _ := StaticCallee(call); obj != nil {
		return vocab.Of(obj)
	}
	return vocab.Known{Duration: -1}
}

// Generic returns the generic function that fn is an instance of, or fn, which may be nil.
func Generic(fn *ssa.Function) *ssa.Function {
	if fn != nil && fn.Origin() != nil {
		return fn.Origin()
	}
	return fn
}

// Always returns what a value of a function is known to be whatever the function is given.
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

// IsErrorLike reports whether values of type t are errors.
func IsErrorLike(t types.Type) bool {
	return types.Implements(t, errorType.Underlying().(*types.Interface))
}

var errorType = types.Universe.Lookup("error").Type()

// An outcome is what a function returns for some arguments.
type outcome struct {
	results []Value
	returns bool
}

// evaluate returns what a function returns if its arguments are as given.
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
	p.evals[key.String()] = unknown // in a recursion
	o := p.graph(fn).solve(args, depth).outcome()
	p.evals[key.String()] = o
	return o
}
