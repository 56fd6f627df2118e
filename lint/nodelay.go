package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// NoDelay reports RL103.
var NoDelay = newRule("nodelay", runNoDelay, []string{"RL103"}, ssaForm, attempts)

func runNoDelay(pass *analysis.Pass, r *report) {
	found := pass.ResultOf[attempts].(*attempt.Package)
	reported := map[token.Pos]bool{}
	for _, t := range found.Attempts {
		file := handwritten(pass, t.Pos())
		if t.Trapped || file == nil || isGivenTest(t.Fn) {
			continue // RL101 reports what nothing ends
		}
		evidence, atOnce := t.AtOnce()
		if pos := loopStart(file, t.Loop, t.Op); atOnce && !reported[pos] {
			reported[pos] = true
			r.at(pos, token.NoPos, evidence, "RL103", "%s is retried without a wait: wait between attempts, longer each time",
				t.Name())
		}
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range callsOf(fn) {
			file := handwritten(pass, call.Pos())
			if file == nil || isGivenTest(fn) || !isHurriedCall(found, call) {
				continue
			}
			r.at(callStart(file, call.Pos()), token.NoPos, Library, "RL103",
				"%s retries it without a wait: pass a delay that grows", call.Call.StaticCallee().Name())
		}
	}
}

// isHurriedCall reports whether a call of a library retries an operation that leaves the process
// without a wait, but not for ever, which RL201 reports.
func isHurriedCall(found *attempt.Package, call *ssa.Call) bool {
	l := libraryOf(&call.Call)
	args := call.Call.Args
	if l == nil || l.atOnce == nil || !l.atOnce(args) || l.unbounded(args) && !l.hasEnd(args) {
		return false
	}
	op := origin(args[l.op])
	tried := operation(op)
	return tried != nil && found.LeavesProcess(tried) && !givesUp(op) && isOneCall(tried)
}

// hasEnd reports whether a call of a library is given a context that may end.
func (l *library) hasEnd(args []ssa.Value) bool {
	if l.ctx < 0 {
		return l.stops != nil && l.stops(args) != nil
	}
	made, ok := args[l.ctx].(*ssa.Call)
	return !ok || !isRootContext(made)
}

// isOneCall reports whether a function makes one call: what it depends on stays the same.
func isOneCall(fn *ssa.Function) bool { return len(callsOf(fn)) == 1 }

// loopStart returns where the statement of a loop begins, or, if a goto makes the loop, the
// call in it.
func loopStart(file *ast.File, loop *flow.Loop, call *ssa.Call) token.Pos {
	path, _ := astutil.PathEnclosingInterval(file, call.Pos(), call.Pos())
	for _, n := range path {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if encloses(n, loop) && (loop.Outer == nil || !encloses(n, loop.Outer)) {
				return n.Pos()
			}
		}
	}
	return callStart(file, call.Pos())
}

// encloses reports whether all code of a loop is part of a statement.
func encloses(n ast.Node, loop *flow.Loop) bool {
	for instr := range flow.Instructions(loop.List) {
		// Phis and variables have the positions of declarations.
		switch pos := instr.Pos(); instr.(type) {
		case *ssa.Phi, *ssa.Alloc:
		default:
			if pos.IsValid() && (pos < n.Pos() || n.End() < pos) {
				return false
			}
		}
	}
	return true
}
