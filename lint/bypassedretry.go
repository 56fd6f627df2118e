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

// BypassedRetry reports RL204.
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

// isRetryingClient reports whether v is a client, or points to one.
func isRetryingClient(v ssa.Value) bool { return vocab.IsType(v.Type(), retryablehttp, "Client") }

// innerClients returns where the inner client of a retrying client is taken to
// be used, if the retrying client itself never is.
func innerClients(client ssa.Value) (found []*ssa.UnOp) {
	for _, ref := range *client.Referrers() {
		field, ok := ref.(*ssa.FieldAddr)
		if !ok {
			if _, debug := ref.(*ssa.DebugRef); debug {
				continue
			}
			return nil // it is called, kept or given away
		}
		if flow.FieldOf(field).Name() != "HTTPClient" {
			continue
		}
		for _, use := range *field.Referrers() {
			if load, ok := use.(*ssa.UnOp); ok {
				switch handedOut(load, map[ssa.Value]bool{}) {
				case toRetry:
					return nil
				case toOthers:
					found = append(found, load)
				}
			}
		}
	}
	return found
}

// Where an inner client goes.
const (
	nowhere  = iota // its fields are set or read
	toOthers        // it sends, or is given to what may
	toRetry         // into another retrying client
)

func handedOut(v ssa.Value, seen map[ssa.Value]bool) (where int) {
	if seen[v] {
		return nowhere
	}
	seen[v] = true
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.Phi, *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType:
			where = max(where, handedOut(ref.(ssa.Value), seen))
		case *ssa.Return:
			where = max(where, toOthers)
		case *ssa.Store:
			if field, ok := ref.Addr.(*ssa.FieldAddr); ok && isRetryingClient(field.X) {
				return toRetry
			}
			where = max(where, toOthers)
		case *ssa.Call:
			switch fn := ref.Call.StaticCallee(); {
			case fn != nil && retriesByItself(fn.Object(), ref.Parent().Pkg.Pkg):
				return toRetry
			case fn == nil || fn.Name() != "CloseIdleConnections":
				where = max(where, toOthers)
			}
		}
	}
	return where
}

// retriesByItself reports whether a function is of another package that makes retrying
// clients, as those of GitLab's API are.
func retriesByItself(fn types.Object, of *types.Package) bool {
	return fn != nil && fn.Pkg() != nil && fn.Pkg() != of && fn.Pkg().Path() != retryablehttp &&
		slices.ContainsFunc(fn.Pkg().Imports(), func(p *types.Package) bool { return p.Path() == retryablehttp })
}
