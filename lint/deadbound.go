package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// DeadBound reports RL105.
var DeadBound = &analysis.Analyzer{
	Name: "deadbound",
	Doc: `deadbound: report conditions of retries that can never change

A loop whose only way out asks for an error that nothing in the loop assigns to
goes on for ever, or not at all.

WRONG:

	for err := c.Ping(); err != nil; {
		log.Print(err)
	}

RIGHT:

	for err := c.Ping(); err != nil && attempt < 5; err = c.Ping() {
		log.Print(err)
		attempt++
	}

It is silent about loops with any other way out. An attempt counter that is
never compared is reported with RL101.`,
	URL:        pageOf("RL105"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	ResultType: used,
	Run:        runDeadBound,
}

func runDeadBound(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, cond := range retryloop.Frozen(fn) {
			file := fileOf(pass, cond.Pos())
			if file == nil || ast.IsGenerated(file) {
				continue
			}
			r.at(loopAround(file, cond.Pos()), token.NoPos, "RL105", "nothing in this loop assigns to the error that it waits for: call again in the loop, and count the attempts")
		}
	}
	return r.used, nil
}
