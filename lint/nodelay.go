package lint

import (
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// NoDelay reports remote calls that are retried without a wait (RL103).
var NoDelay = newRule("nodelay", runNoDelay, []string{"RL103"}, ssaForm, attempts)

func runNoDelay(pass *analysis.Pass, r *report) {
	found := pass.ResultOf[attempts].(*attempt.Package)
	reported := map[token.Pos]bool{}
	for _, t := range found.Attempts {
		file := handwritten(pass, t.Pos())
		if t.Traps() || file == nil || isGivenTest(t.Fn) {
			continue // RL101 reports retries that never end
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

// isHurriedCall reports whether a library call retries an operation outside the process without
// a wait. It ignores retries without a limit, which RL201 reports.
func isHurriedCall(found *attempt.Package, call *ssa.Call) bool {
	p := planOf(&call.Call)
	if p == nil || !p.isAtOnce() || p.isEndless() && (p.ctx == nil || isGivenRoot(p.ctx)) {
		return false
	}
	tried := operation(p.op())
	return tried != nil && found.LeavesProcess(tried) && !givesUp(p.op()) && isOneCall(tried)
}

// isOneCall reports whether a function makes exactly one call, so that each attempt does the
// same.
func isOneCall(fn *ssa.Function) bool { return len(callsOf(fn)) == 1 }
