package lint

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

const retryablehttp = "github.com/hashicorp/go-retryablehttp"

// BypassedRetry reports retrying clients that never retry, because only their inner client is
// used (RL204).
var BypassedRetry = newRule("bypassedretry", runBypassedRetry, []string{"RL204"}, ssaForm)

func runBypassedRetry(pass *analysis.Pass, r *report) {
	if !imports(pass, retryablehttp) {
		return
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for instr := range flow.Instructions(fn.Blocks) {
			client, ok := instr.(ssa.Value)
			if !ok || !isRetryingClient(client) || settingsMadeBy(instr) == nil {
				continue
			}
			for _, load := range innerClients(client) {
				if handwritten(pass, load.Pos()) == nil {
					continue
				}
				r.at(load.Pos(), token.NoPos, Library, "RL204",
					"only the HTTPClient of this retrying client is used, which sends each request once: use StandardClient()")
			}
		}
	}
}

// isRetryingClient reports whether v is a retryablehttp.Client or a pointer to one.
func isRetryingClient(v ssa.Value) bool { return vocab.IsType(v.Type(), retryablehttp, "Client") }

// innerClients returns the loads of the inner client of a retrying client that are then used to
// send requests. It returns nil if the retrying client itself is used too.
func innerClients(client ssa.Value) (found []*ssa.UnOp) {
	for _, ref := range *client.Referrers() {
		field, ok := ref.(*ssa.FieldAddr)
		if !ok {
			if _, debug := ref.(*ssa.DebugRef); debug {
				continue
			}
			return nil // it is called, stored or passed on
		}
		if flow.FieldOf(field).Name() != "HTTPClient" {
			continue
		}
		for _, use := range *field.Referrers() {
			load, ok := use.(*ssa.UnOp)
			if !ok {
				continue
			}
			for _, by := range *load.Referrers() {
				switch given, retries := isGivenBy(by); {
				case retries:
					return nil
				case given:
					found = append(found, load)
				}
			}
		}
	}
	return slices.Compact(found)
}

// isGivenBy reports whether an instruction that uses an inner client sends a request with it,
// or passes it to code that may do so. The second result reports whether that code is another
// retrying client.
func isGivenBy(instr ssa.Instruction) (given, retries bool) {
	switch instr := instr.(type) {
	case *ssa.MakeInterface:
		for _, by := range *instr.Referrers() {
			also, again := isGivenBy(by)
			given, retries = given || also, retries || again
		}
		return given, retries
	case *ssa.Return:
		return true, false
	case *ssa.Store:
		field, ok := instr.Addr.(*ssa.FieldAddr)
		return true, ok && isRetryingClient(field.X)
	case *ssa.Call:
		callee, _ := flow.StaticCallee(&instr.Call)
		return callee == nil || callee.Name() != "CloseIdleConnections",
			callee != nil && retriesByItself(callee, instr.Parent().Pkg.Pkg)
	}
	return false, false // it only sets or reads fields of the client
}

// retriesByItself reports whether a function is in another package that creates retrying
// clients itself, as the client of the GitLab API does.
func retriesByItself(fn *types.Func, of *types.Package) bool {
	return fn.Pkg() != nil && fn.Pkg() != of && fn.Pkg().Path() != retryablehttp &&
		slices.ContainsFunc(fn.Pkg().Imports(), func(p *types.Package) bool { return p.Path() == retryablehttp })
}
