package lint

import (
	"go/types"
	"iter"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// exportFacts exports what is known of the functions of the package.
func exportFacts[F analysis.Fact](pass *analysis.Pass, helpers map[*ssa.Function]F) {
	for fn, fact := range helpers {
		if fn.Object() != nil && fn.Object().Pkg() == pass.Pkg {
			pass.ExportObjectFact(fn.Object(), fact)
		}
	}
}

func callsOf(fn *ssa.Function) (calls []*ssa.Call) {
	for instr := range flow.Instructions(fn.Blocks) {
		if call, ok := instr.(*ssa.Call); ok {
			calls = append(calls, call)
		}
	}
	return calls
}

// startedBy yields what a function calls, also by go and defer statements.
func startedBy(fn *ssa.Function) iter.Seq[ssa.CallInstruction] {
	return func(yield func(ssa.CallInstruction) bool) {
		for instr := range flow.Instructions(fn.Blocks) {
			if call, ok := instr.(ssa.CallInstruction); ok && !yield(call) {
				return
			}
		}
	}
}

// helperFact returns what is known of a function that may be nil: one of this package, which
// helpers has, or one that it imports. Of a method value, which has no receiver any more,
// it knows nothing.
func helperFact[F interface {
	*T
	analysis.Fact
}, T any](pass *analysis.Pass, helpers map[*ssa.Function]F, fn *ssa.Function) F {
	fn = flow.Generic(fn)
	if fn == nil || helpers[fn] != nil {
		return helpers[fn]
	}
	fact := F(new(T))
	if fn.Object() == nil || len(fn.FreeVars) > 0 || !pass.ImportObjectFact(fn.Object(), fact) {
		return nil
	}
	return fact
}

// functionsOf returns the functions, methods and function literals of a package.
func functionsOf(pkg *ssa.Package) (fns []*ssa.Function) {
	var add func(*ssa.Function)
	add = func(fn *ssa.Function) {
		fns = append(fns, fn)
		for _, literal := range fn.AnonFuncs {
			add(literal)
		}
	}
	for _, m := range pkg.Members {
		switch m := m.(type) {
		case *ssa.Function:
			add(m)
		case *ssa.Type:
			named, ok := types.Unalias(m.Type()).(*types.Named)
			if !ok {
				continue
			}
			for method := range named.Methods() {
				if fn := pkg.Prog.FuncValue(method); fn != nil {
					add(fn)
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
		if literal, ok := madeBy(op).(*ssa.MakeClosure); ok {
			return operation(literal)
		}
	}
	return nil
}
