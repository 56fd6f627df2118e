package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// UnboundedRetry reports RL101.
var UnboundedRetry = &analysis.Analyzer{
	Name:       "unboundedretry",
	Doc:        docOf("unboundedretry", "RL101", "RL104"),
	URL:        pageOf("RL101"),
	Requires:   []*analysis.Analyzer{retries, remoteFunctions, directiveIndex},
	ResultType: used,
	Run:        runUnboundedRetry,
}

func runUnboundedRetry(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	said := map[token.Pos]bool{}
	// What a request is made by is seldom what fails.
	found := slices.Clone(pass.ResultOf[retries].([]retryloop.Retry))
	slices.SortStableFunc(found, func(a, b retryloop.Retry) int { return rank(a) - rank(b) })
	for _, retry := range found {
		if !goesOnForEver(retry) {
			continue
		}
		file := fileOf(pass, retry.Call.Pos())
		if file == nil || ast.IsGenerated(file) {
			continue
		}
		pos := position(file, retry)
		if said[pos] {
			continue // two calls of one loop
		}
		said[pos] = true
		why, codes := judgement(pass.Fset, file, retry, pass.ResultOf[remoteFunctions].(retryloop.Network))
		r.finding(analysis.Diagnostic{
			Pos:     pos,
			Message: fmt.Sprintf("retry of %s never stops: %s; limit the attempts or check ctx.Err()", retry.Name(), why),
		}, r.unboundedEvidence(pos), codes...)
	}
	return r.used, nil
}

// unboundedEvidence returns the evidence of a retry that never stops. Tests, which the go
// command stops, and programs, which their user stops, may retry as long as they run.
func (r *report) unboundedEvidence(pos token.Pos) Evidence {
	if inTest(r.pass, pos) || r.pass.Pkg.Name() == "main" {
		return Named
	}
	return Proven
}

// rank puts retries of calls that only make a request behind the others.
func rank(retry retryloop.Retry) int {
	if retry.MakesRequest() {
		return 1
	}
	return 0
}

// goesOnForEver reports whether RL101 speaks of a retry: nothing ends it, and what is tried is
// no parameter, of which the callers know, and no library that never gives up, of which
// RL201 speaks.
func goesOnForEver(retry retryloop.Retry) bool {
	l := libraryOf(&retry.Call.Call)
	return retry.Bound == retryloop.Unbounded && retry.Through() == nil && !(l != nil && l.unbounded(retry.Call.Call.Args))
}

// judgement says why nothing ends a retry, and which rules that breaks.
func judgement(fset *token.FileSet, file *ast.File, retry retryloop.Retry,
	network retryloop.Network) (why string, codes []string) {
	why, codes = "the loop ends only on success or on a different error", []string{"RL101"}
	if retry.AtOnce(network) {
		why, codes = why+", and it retries without a wait", append(codes, "RL103")
	}
	if retry.IgnoresItsContext() {
		why, codes = why+", and it retries the end of its context", append(codes, "RL104")
	}
	switch retry.Dead {
	case retryloop.DeadContext:
		why = "the context that it checks never ends"
	case retryloop.RebuiltClock:
		why, codes = "its time limit is reset on each iteration", append(codes, "RL106")
	}
	if cmp := restarted(file, retry); cmp != nil {
		why, codes = fmt.Sprintf("the counter that is compared at line %d is reset on each iteration",
			fset.Position(cmp.Pos()).Line), append(codes, "RL106")
	}
	if c := retry.DeadCounter; c != nil {
		why = whyDead(fset, c)
		if !c.Compared || c.Away {
			codes = append(codes, "RL105")
		}
	}
	return why, codes
}

// whyDead says what is wrong with a counter that ends nothing.
func whyDead(fset *token.FileSet, c *retryloop.Counter) string {
	if c.Away {
		return fmt.Sprintf("%q moves away from the limit that it is compared with at line %d", c.Name,
			fset.Position(c.Pos).Line)
	}
	why := fmt.Sprintf("%q is counted", c.Name)
	if c.Pos.IsValid() {
		why = fmt.Sprintf("%q is incremented at line %d", c.Name, fset.Position(c.Pos).Line)
	}
	switch {
	case c.Passed:
		return why + " but some failures skip the comparison"
	case c.Compared:
		return why + " but no exit depends on it"
	}
	return why + " but never compared"
}

// position returns where the loop begins: at its for, or, where a goto makes
// it, at the call.
func position(file *ast.File, retry retryloop.Retry) token.Pos {
	pos := retry.Call.Pos()
	if retry.IsFor {
		inner := 0
		if retry.OfItems {
			inner = 1
		}
		if loop := loopAround(file, pos, inner); loop != pos {
			return loop
		}
	}
	return callStart(file, pos)
}

// loopAround returns where the innermost loop around pos begins, or the one around so many
// of them, within one function; else pos.
func loopAround(file *ast.File, pos token.Pos, inner int) token.Pos {
	path, _ := astutil.PathEnclosingInterval(file, pos, pos)
	for _, n := range path {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if inner == 0 {
				return n.Pos()
			}
			inner--
		case *ast.FuncLit, *ast.FuncDecl:
			return pos
		}
	}
	return pos
}
