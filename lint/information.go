package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// UnboundedPoll reports RL110.
var UnboundedPoll = &analysis.Analyzer{
	Name:       "unboundedpoll",
	Doc:        docOf("unboundedpoll", "RL110"),
	URL:        pageOf("RL110"),
	Requires:   []*analysis.Analyzer{attempts, directiveIndex},
	ResultType: used,
	Run:        runUnboundedPoll,
}

func runUnboundedPoll(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !informs("RL110") {
		return r.used, nil
	}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		if file := handwritten(pass, t.Pos()); t.IsEndlessPoll() && file != nil {
			r.at(callStart(file, t.Pos()), t.Pos(), Named, "RL110",
				"this poll ends only on the expected answer: limit the attempts, or return when a context ends")
		}
	}
	return r.used, nil
}

// EndlessConflict reports RL114.
var EndlessConflict = &analysis.Analyzer{
	Name:       "endlessconflict",
	Doc:        docOf("endlessconflict", "RL114"),
	URL:        pageOf("RL114"),
	Requires:   []*analysis.Analyzer{attempts, directiveIndex},
	ResultType: used,
	Run:        runEndlessConflict,
}

func runEndlessConflict(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !informs("RL114") {
		return r.used, nil
	}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		if file := handwritten(pass, t.Pos()); t.IsConflict() && file != nil {
			r.at(loopStart(file, t.Loop, t.Op), token.NoPos, Library, "RL114",
				"conflicts of %s are retried at once without a limit: limit the attempts, and wait a random time", t.Name())
		}
	}
	return r.used, nil
}

// EndlessDaemon reports RL112.
var EndlessDaemon = &analysis.Analyzer{
	Name:       "endlessdaemon",
	Doc:        docOf("endlessdaemon", "RL112"),
	URL:        pageOf("RL112"),
	Requires:   []*analysis.Analyzer{ssaForm, attempts, directiveIndex},
	ResultType: used,
	Run:        runEndlessDaemon,
}

func runEndlessDaemon(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !informs("RL112") || pass.Pkg.Name() == "main" {
		return r.used, nil
	}
	found := pass.ResultOf[attempts].(*attempt.Package)
	reported := map[*ssa.Function]bool{}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for call := range startedBy(fn) {
			start, ok := call.(*ssa.Go)
			if !ok {
				continue
			}
			daemon, file := start.Call.StaticCallee(), fileOf(pass, start.Pos())
			if daemon == nil || reported[daemon] || file == nil || ast.IsGenerated(file) || inTest(pass, start.Pos()) ||
				!found.NeverStops(daemon) {
				continue
			}
			reported[daemon] = true
			r.at(start.Pos(), token.NoPos, Named, "RL112", "this goroutine never stops: return when a context ends")
		}
	}
	return r.used, nil
}
