package lint

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// SharedBackOff reports RL208.
var SharedBackOff = newRule("sharedbackoff", runSharedBackOff, []string{"RL208"}, ssaForm)

const sethvargo = "github.com/sethvargo/go-retry"

func runSharedBackOff(pass *analysis.Pass, r *report) {
	if !slices.ContainsFunc(pass.Pkg.Imports(),
		func(p *types.Package) bool { return p.Path() == sethvargo || isCenkalti(p.Path()) }) {
		return
	}
	s := sharing{fns: pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs, library: pass.Pkg.Name() != "main"}
	for _, fn := range s.fns {
		for _, call := range callsOf(fn) {
			b, resets := backOffOf(call)
			if b == nil {
				continue
			}
			file := handwritten(pass, call.Pos())
			if file == nil {
				continue
			}
			switch {
			case resets && s.atOnce(call, b):
				r.at(callStart(file, call.Pos()), call.Pos(), Library, "RL208",
					"concurrent calls share this backoff, and each resets it: create one for each call")
			case !resets && s.again(call, b):
				r.at(callStart(file, call.Pos()), call.Pos(), Library, "RL208",
					"all calls share this backoff, which is never reset: create one for each call")
			}
		}
	}
}

// Paths of the versions of a library begin so, or are so.
const (
	cenkalti = "github.com/cenkalti/backoff"
	cenk     = "github.com/cenk/backoff"
)

func isCenkalti(path string) bool { return strings.HasPrefix(path, cenkalti) || path == cenk }

func isCenkaltiCall(v ssa.Value, names ...string) bool {
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	fn, _ := flow.StaticCallee(&call.Call)
	return fn != nil && fn.Pkg() != nil && isCenkalti(fn.Pkg().Path()) && slices.Contains(names, fn.Name())
}

// backOffOf returns the backoff that a call of a library waits by, and whether
// the call makes it begin again.
func backOffOf(call *ssa.Call) (b ssa.Value, resets bool) {
	fn, _ := flow.StaticCallee(&call.Call)
	if fn == nil || fn.Pkg() == nil || fn.Signature().Recv() != nil {
		return nil, false
	}
	args := call.Call.Args
	switch path := fn.Pkg().Path(); {
	case path == sethvargo && (fn.Name() == "Do" || fn.Name() == "DoValue"):
		return args[1], false
	case !isCenkalti(path) || !strings.HasPrefix(fn.Name(), "Retry"):
		return nil, false
	case len(args) > 1 && types.IsInterface(args[1].Type()):
		return args[1], true
	case len(args) == 3:
		option(args[2], "WithBackOff", func(v ssa.Value) bool { b = v; return true })
	}
	return b, true
}

// sharing judges who shares a backoff.
type sharing struct {
	fns     []*ssa.Function
	library bool // others import the package, and call it as they like
}

// again reports whether a backoff that nothing resets is used by more than one
// call.
func (s sharing) again(call *ssa.Call, b ssa.Value) bool {
	b = source(b)
	if load, ok := b.(*ssa.UnOp); ok && load.Op == token.MUL {
		return s.isStateful(load) && !isOnce(call)
	}
	if !s.isStateful(b) {
		return false
	}
	if outer, ok := b.(ssa.Instruction); ok && outer.Parent() == call.Parent() {
		if loop := flow.Around(call); loop != nil && !loop.Has(outer.Block()) {
			return true
		}
		return slices.ContainsFunc(callsOf(call.Parent()), func(earlier *ssa.Call) bool {
			other, _ := backOffOf(earlier)
			return other != nil && earlier != call && source(other) == b && flow.Precedes(earlier, call)
		})
	}
	return s.startedAgain(call, b)
}

// atOnce reports whether calls that may go on at the same time use a backoff.
func (s sharing) atOnce(call *ssa.Call, b ssa.Value) bool {
	b = source(b)
	wrapped := b
	for isCenkaltiCall(wrapped, "WithContext", "WithMaxRetries") {
		wrapped = source(wrapped.(*ssa.Call).Call.Args[0])
	}
	load, ok := wrapped.(*ssa.UnOp)
	if !ok {
		return s.isStateful(b) && s.startedAgain(call, b)
	}
	if _, global := load.X.(*ssa.Global); !global {
		return false
	}
	return s.library && s.isStateful(load) && !isOnce(call)
}

// isOnce reports whether a call is made when the program starts, and not again.
func isOnce(call *ssa.Call) bool {
	name := call.Parent().Name()
	return call.Parent().Signature.Recv() == nil &&
		(name == "main" || name == "init" || strings.HasPrefix(name, "init#")) && flow.Around(call) == nil
}

// startedAgain reports whether a call is made in goroutines that a loop starts,
// with a backoff from before that loop.
func (s sharing) startedAgain(call *ssa.Call, b ssa.Value) bool {
	made, ok := b.(ssa.Instruction)
	if !ok || made.Parent() != call.Parent().Parent() {
		return false
	}
	for instr := range flow.Instructions(made.Parent().Blocks) {
		start, ok := instr.(ssa.CallInstruction)
		if !ok || !isStart(start, call.Parent()) {
			continue
		}
		if loop := flow.Around(start); loop != nil && !loop.Has(made.Block()) {
			return true
		}
	}
	return false
}

// isStart reports whether an instruction starts a goroutine of a function
// literal: by go, or by a method Go of a group.
func isStart(start ssa.CallInstruction, fn *ssa.Function) bool {
	is := func(v ssa.Value) bool {
		c, ok := v.(*ssa.MakeClosure)
		return ok && c.Fn == fn
	}
	if _, ok := start.(*ssa.Go); ok {
		return is(start.Common().Value)
	}
	callee := start.Common().StaticCallee()
	return callee != nil && callee.Name() == "Go" && slices.ContainsFunc(start.Common().Args, is)
}

// isStateful reports whether a value is a backoff that counts, as far as its
// makers are seen.
func (s sharing) isStateful(v ssa.Value) bool { return s.isStatefulBut(v, map[ssa.Value]bool{}) }

func (s sharing) isStatefulBut(v ssa.Value, open map[ssa.Value]bool) bool {
	v = source(v)
	if open[v] {
		return true // what it is made of besides decides
	}
	open[v] = true
	switch v := v.(type) {
	case *ssa.UnOp:
		return v.Op == token.MUL && s.isVariableStateful(v.X, open)
	case *ssa.Alloc:
		named, ok := types.Unalias(v.Type().(*types.Pointer).Elem()).(*types.Named)
		return ok && named.Obj().Name() == "ExponentialBackOff" && named.Obj().Pkg() != nil &&
			isCenkalti(named.Obj().Pkg().Path())
	case *ssa.Call:
		counts, wrapped := madeBackOff(v)
		return counts || wrapped != nil && s.isStatefulBut(wrapped, open)
	}
	return false
}

// isVariableStateful reports whether all that is stored in a variable or field counts.
func (s sharing) isVariableStateful(addr ssa.Value, open map[ssa.Value]bool) bool {
	stored := s.storedIn(addr)
	return len(stored) > 0 && !slices.ContainsFunc(stored, func(v ssa.Value) bool {
		if again, ok := source(v).(*ssa.UnOp); ok && again.Op == token.MUL {
			return true // handed on: who knows from where
		}
		return !s.isStatefulBut(v, open)
	})
}

// madeBackOff reports whether a call makes a backoff that counts, or returns the one that it
// wraps, which may.
func madeBackOff(call *ssa.Call) (counts bool, wrapped ssa.Value) {
	fn, _ := flow.StaticCallee(&call.Call)
	if fn == nil || fn.Pkg() == nil {
		return false, nil
	}
	args := call.Call.Args
	switch path := fn.Pkg().Path(); {
	case path == sethvargo:
		switch fn.Name() {
		case "WithMaxRetries", "WithMaxDuration", "NewExponential", "NewFibonacci":
			return true, nil
		case "WithJitter", "WithJitterPercent", "WithFullJitter", "WithCappedDuration":
			return false, args[len(args)-1]
		}
	case isCenkalti(path):
		switch fn.Name() {
		case "WithMaxRetries", "NewExponentialBackOff":
			return true, nil
		case "WithContext":
			return false, args[0]
		}
	}
	return false, nil
}

// storedIn returns what the package stores in a variable of its own, or in a
// field of one of its types.
func (s sharing) storedIn(addr ssa.Value) (stored []ssa.Value) {
	var same func(ssa.Value) bool
	switch addr := addr.(type) {
	case *ssa.Global:
		same = func(v ssa.Value) bool { return v == addr }
	case *ssa.FieldAddr:
		same = func(v ssa.Value) bool {
			f, ok := v.(*ssa.FieldAddr)
			return ok && f.Field == addr.Field && types.Identical(f.X.Type(), addr.X.Type())
		}
	default:
		return nil
	}
	for _, fn := range s.fns {
		for instr := range flow.Instructions(fn.Blocks) {
			if store, ok := instr.(*ssa.Store); ok && same(store.Addr) {
				stored = append(stored, store.Val)
			}
		}
	}
	return stored
}
