package lint

import (
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// HotLoop reports RL115.
var HotLoop = newRule("hotloop", runHotLoop, []string{"RL115"}, attempts)

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
}

// spinDiagnostic returns the diagnostic of a daemon that repeats an operation at once after a failure.
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
