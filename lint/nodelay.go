package lint

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// NoDelay reports RL103.
var NoDelay = &analysis.Analyzer{
	Name:       "nodelay",
	Doc:        docOf("nodelay", "RL103"),
	URL:        pageOf("RL103"),
	Requires:   []*analysis.Analyzer{ssaForm, retries, remoteFunctions, hurriedCalls, directiveIndex},
	ResultType: used,
	Run:        runNoDelay,
}

func runNoDelay(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	network := pass.ResultOf[remoteFunctions].(retryloop.Network)
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		// RL101 says it of what nothing ends.
		if retry.Bound == retryloop.Unbounded || !retry.AtOnce(network) {
			continue
		}
		file := fileOf(pass, retry.Call.Pos())
		if file == nil || ast.IsGenerated(file) || inTest(pass, retry.Call.Pos()) || isGivenTest(retry.Call.Parent()) {
			continue
		}
		r.at(position(file, retry), token.NoPos, Named, "RL103",
			"%s is retried without a wait: wait between attempts, longer each time", retry.Name())
	}
	hurried := pass.ResultOf[hurriedCalls].([]*ssa.Call)
	calls := slices.Clone(hurried)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		calls = append(calls, retryloop.Skips(fn, network)...)
	}
	for _, call := range calls {
		file := fileOf(pass, call.Pos())
		if file == nil || ast.IsGenerated(file) || inTest(pass, call.Pos()) || isGivenTest(call.Parent()) {
			continue
		}
		said := "%s is retried without a wait: wait between attempts, longer each time"
		if slices.Contains(hurried, call) {
			said = "%s retries it without a wait: pass a delay that grows"
		}
		r.at(callStart(file, call.Pos()), token.NoPos, Named, "RL103", said, retryloop.NameOf(call))
	}
	return r.used, nil
}
