package lint

import (
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// HotLoop reports daemons that spin while an operation fails (RL115).
var HotLoop = newRule("hotloop", runHotLoop, []string{"RL115"}, ssaForm, attempts)

func runHotLoop(pass *analysis.Pass, r *report) {
	reported := map[token.Pos]bool{}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		file := handwritten(pass, t.Pos())
		if file == nil || isGivenTest(t.Fn) {
			continue
		}
		s := t.Spins()
		if s == nil {
			continue
		}
		pos := callStart(file, t.Pos())
		if reported[pos] {
			continue
		}
		reported[pos] = true
		r.finding(spinDiagnostic(pass, t, s, pos), s.Evidence, "RL115")
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		reportDrains(pass, r, fn)
	}
}

// reportDrains reports select cases and receives that a loop repeats immediately and without
// end.
func reportDrains(pass *analysis.Pass, r *report, fn *ssa.Function) {
	if isGivenTest(fn) {
		return
	}
	found := pass.ResultOf[attempts].(*attempt.Package)
	for _, send := range found.PutsBack(fn) {
		if handwritten(pass, send.Pos()) != nil {
			r.at(send.Pos(), token.NoPos, Proven, "RL115",
				"this puts a failed item back at once, so the loop spins while it fails: wait, or count how often it fails")
		}
	}
	reported := map[token.Pos]bool{} // an outer loop also drains what an inner loop drains
	for _, d := range found.Drains(fn) {
		if handwritten(pass, d.Pos) == nil || reported[d.Pos] {
			continue
		}
		reported[d.Pos] = true
		if d.Context != nil {
			r.at(d.Pos, token.NoPos, d.Evidence, "RL115",
				"after %s has ended this case repeats without end: leave the loop, which break in a select does not",
				nameOfContext(d.Context))
		} else {
			r.at(d.Pos, token.NoPos, d.Evidence, "RL115",
				"after the channel is closed this receive repeats without end: leave the loop if nothing was received")
		}
	}
}

// spinDiagnostic returns the diagnostic for a daemon that repeats an operation immediately
// after a failure.
func spinDiagnostic(pass *analysis.Pass, t *attempt.Attempt, s *attempt.Spin, pos token.Pos) analysis.Diagnostic {
	d := analysis.Diagnostic{Pos: pos, End: t.Pos()}
	switch {
	case s.Persists:
		d.Message = fmt.Sprintf("%s fails at once each time after it has failed for good, "+
			"and this loop repeats it without a wait: leave the loop on such errors", t.Name())
	case s.Skipped != nil:
		d.Message = fmt.Sprintf("a failure of %s skips the wait at line %d, so the loop spins while it fails: "+
			"wait after failures, too", t.Name(), pass.Fset.Position(s.Skipped.Pos()).Line)
		d.Related = []analysis.RelatedInformation{{Pos: s.Skipped.Pos(), Message: "this wait follows only a success"}}
	default:
		d.Message = fmt.Sprintf("%s blocks only while it succeeds, so the loop spins while it fails: "+
			"wait after a failure", t.Name())
	}
	return d
}
