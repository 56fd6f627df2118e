package lint

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/policies"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// ForeignMark reports errors that are marked for a library other than the one that retries the
// operation (RL514).
var ForeignMark = newRule("foreignmark", runForeignMark, []string{"RL514"}, ssaForm, retrierCalls, boundFunctions)

func runForeignMark(pass *analysis.Pass, r *report) {
	if !slices.ContainsFunc(pass.Pkg.Imports(), func(p *types.Package) bool { return vocab.IsMarking(p.Path()) }) {
		return
	}
	m := &markedErrors{pass, r, map[*ssa.Call]bool{}}
	bound := pass.ResultOf[boundFunctions].(wrappers)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		if declared, ok := fn.Object().(*types.Func); ok && bound.own.of(declared) != nil {
			m.judge(fn, retriedBy{path: runtimePath, pkg: "retry", policyOf: declared.Name()})
		}
		for _, call := range callsOf(fn) {
			if op := policies.Retried(&call.Call); op != nil {
				callee, _ := flow.StaticCallee(&call.Call)
				m.judge(operation(origin(op)), retriedBy{path: runtimePath, pkg: "retry", function: callee.Name()})
			}
		}
	}
	for _, c := range pass.ResultOf[retrierCalls].(*retriers).calls {
		if callee, _ := flow.StaticCallee(c.call.Common()); c.helper == nil && callee != nil {
			m.judge(c.fn, retriedBy{path: callee.Pkg().Path(), pkg: callee.Pkg().Name(), function: callee.Name()})
		}
	}
}

// markedErrors reports marks on the errors that operations return.
type markedErrors struct {
	pass   *analysis.Pass
	report *report
	done   map[*ssa.Call]bool // the marks that are already reported
}

// retriedBy describes what retries an operation: a function of a library, or the policy of a
// generated wrapper.
type retriedBy struct {
	path, pkg string // of the library
	function  string // of the library, or ""
	policyOf  string // the bound function, if there is no function of the library
}

// names returns what retries, and the mark of the library for errors of some meaning, which is ""
// if there is none. If the library has the name of the package other, one of the two has its path.
func (by retriedBy) names(other string, means vocab.Meaning) (retrier, mark string) {
	var of string
	if by.pkg == other {
		of = " of " + by.path
	}
	if mark = vocab.MarkIn(by.path, means); mark != "" {
		mark = by.pkg + "." + mark
	}
	switch {
	case by.function != "":
		return by.pkg + "." + by.function + of, mark
	case mark != "":
		mark += of
	}
	return "the policy of " + by.policyOf, mark
}

// judge reports marks on the errors of an operation if the library that retries the operation
// does not recognize them.
func (m *markedErrors) judge(op *ssa.Function, by retriedBy) {
	if op == nil || vocab.MarkIn(by.path, vocab.NotAgain) == "" {
		return // this library does not retry unmarked errors, or something else decides
	}
	for _, call := range marksReturned(op) {
		callee, _ := flow.StaticCallee(&call.Call)
		mark, of := vocab.MarkOf(callee), callee.Pkg()
		file := handwritten(m.pass, call.Pos())
		if of.Path() == by.path || file == nil || m.done[call] || m.recognizes(of.Path(), mark.Known) {
			continue
		}
		m.done[call] = true
		effect, advice, own := "may retry this error", ": use ", vocab.NotAgain
		switch mark.Means {
		case vocab.Later:
			effect, own = "may retry this error at another time", vocab.Later
		case vocab.Again:
			effect, advice = "may also retry errors without it", ": mark those with "
		}
		retrier, instead := by.names(of.Name(), own)
		if instead == "" {
			advice = ""
		}
		m.report.at(callStart(file, call.Pos()), call.Pos(), Library, "RL514", "%s does not know %s.%s of %s, and %s%s",
			retrier, of.Name(), callee.Name(), of.Path(), effect, advice+instead)
	}
}

// recognizes reports whether the analyzed package uses one of the names by which a mark is
// recognized. It may then handle marked errors as intended.
func (m *markedErrors) recognizes(path string, known []string) bool {
	for _, used := range m.pass.TypesInfo.Uses {
		if used.Pkg() != nil && used.Pkg().Path() == path && slices.Contains(known, used.Name()) {
			return true
		}
	}
	return false
}

// marksReturned returns the calls that mark the errors which a function returns. It follows
// calls of other functions whose errors are returned without being inspected.
func marksReturned(fn *ssa.Function) (marks []*ssa.Call) {
	seen := map[ssa.Value]bool{}
	var add func(fn *ssa.Function)
	var trace func(v ssa.Value)
	trace = func(v ssa.Value) {
		v = flow.Source(v, flow.Boxed|flow.Renamed)
		if seen[v] {
			return
		}
		seen[v] = true
		switch v := v.(type) {
		case *ssa.Phi:
			for _, edge := range v.Edges {
				trace(edge)
			}
		case *ssa.UnOp: // a named result, in a function with a defer statement
			for _, store := range flow.Stores(v.X) {
				trace(store.Val)
			}
		case *ssa.Extract:
			if call, ok := v.Tuple.(*ssa.Call); ok && isPassedOnUnseen(v) {
				add(call.Call.StaticCallee())
			}
		case *ssa.Call:
			callee, static := flow.StaticCallee(&v.Call)
			switch {
			case callee != nil && vocab.MarkOf(callee) != nil:
				marks = append(marks, v)
			case isPassedOnUnseen(v):
				add(static)
			}
		}
	}
	visited := map[*ssa.Function]bool{}
	add = func(fn *ssa.Function) {
		if fn == nil || visited[fn] || !flow.ReturnsError(fn.Signature) {
			return
		}
		visited[fn] = true
		for ret := range flow.Returns(fn) {
			trace(ret.Results[len(ret.Results)-1])
		}
	}
	add(fn)
	return marks
}

// isPassedOnUnseen reports whether an error is only returned or compared with nil.
func isPassedOnUnseen(err ssa.Value) bool {
	return !slices.ContainsFunc(*err.Referrers(), func(use ssa.Instruction) bool {
		switch use := use.(type) {
		case *ssa.Return, *ssa.Phi, *ssa.DebugRef:
			return false
		case *ssa.BinOp:
			return !flow.IsNil(use.X) && !flow.IsNil(use.Y)
		}
		return true
	})
}
