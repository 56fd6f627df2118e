package lint

import (
	"go/types"
	"iter"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

func callsOf(fn *ssa.Function) (calls []*ssa.Call) {
	for instr := range flow.Instructions(fn.Blocks) {
		if call, ok := instr.(*ssa.Call); ok {
			calls = append(calls, call)
		}
	}
	return calls
}

// startedBy yields the calls of a function, including those of go and defer statements.
func startedBy(fn *ssa.Function) iter.Seq[ssa.CallInstruction] {
	return func(yield func(ssa.CallInstruction) bool) {
		for instr := range flow.Instructions(fn.Blocks) {
			if call, ok := instr.(ssa.CallInstruction); ok && !yield(call) {
				return
			}
		}
	}
}

// functionsOf returns the functions, methods and function literals of a package.
func functionsOf(pkg *ssa.Package) (fns []*ssa.Function) {
	for _, m := range pkg.Members {
		switch m := m.(type) {
		case *ssa.Function:
			fns = appendWithin(fns, m)
		case *ssa.Type:
			named, ok := types.Unalias(m.Type()).(*types.Named)
			if !ok {
				continue
			}
			for method := range named.Methods() {
				if fn := pkg.Prog.FuncValue(method); fn != nil {
					fns = appendWithin(fns, fn)
				}
			}
		}
	}
	return fns
}

// operation returns the function that is retried, if it is known.
func operation(op ssa.Value) *ssa.Function {
	switch op := op.(type) {
	case *ssa.MakeClosure:
		fn := op.Fn.(*ssa.Function)
		// The SSA form of a method value has only a wrapper that calls the method.
		if method, ok := fn.Object().(*types.Func); ok {
			if bound := fn.Prog.FuncValue(method); bound != nil {
				return bound
			}
		}
		return fn
	case *ssa.Function:
		return op
	case *ssa.Call:
		if literal, ok := madeBy(op).(*ssa.MakeClosure); ok {
			return operation(literal)
		}
	}
	return nil
}
