package lint

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// DeafWait reports RL102.
var DeafWait = &analysis.Analyzer{
	Name: "deafwait",
	Doc: `deafwait: report waits between attempts that ignore a context

A loop that tries or asks again, and sleeps in between, keeps its caller waiting
after the caller has cancelled.

WRONG:

	for ctx.Err() == nil {
		if err := c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}

RIGHT:

	for {
		if err := c.Ping(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}

It is silent about waits of 100ms and less, in tests, behind the end of the context,
in loops over different things, and about contexts that nobody can end.`,
	URL:        pageOf("RL102"),
	Requires:   []*analysis.Analyzer{buildssa.Analyzer, directiveIndex},
	ResultType: used,
	Run:        runDeafWait,
}

func runDeafWait(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !imports(pass, "time") {
		return r.used, nil
	}
	for _, fn := range pass.ResultOf[buildssa.Analyzer].(*buildssa.SSA).SrcFuncs {
		for _, wait := range retryloop.DeafWaits(fn) {
			pos := wait.Instr.Pos()
			file := fileOf(pass, pos)
			if file == nil || ast.IsGenerated(file) || inTest(pass, pos) {
				continue
			}
			if _, call := wait.Instr.(*ssa.Call); call {
				pos = callStart(file, pos)
			}
			r.at(pos, wait.Instr.Pos(), "RL102", "this wait goes on after %s has ended: wait in a select with its Done channel", nameOfContext(wait.Context))
		}
	}
	return r.used, nil
}

// nameOfContext returns what the code calls a context.
func nameOfContext(v ssa.Value) string {
	if p, ok := v.(*ssa.Parameter); ok {
		return p.Name()
	}
	return "the context"
}
