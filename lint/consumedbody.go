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

// ConsumedBody reports request bodies that the first attempt consumes (RL205).
var ConsumedBody = newRule("consumedbody", runConsumedBody, []string{"RL205"}, ssaForm, retrierCalls)

func runConsumedBody(pass *analysis.Pass, r *report) {
	if !imports(pass, "net/http") {
		return
	}
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	all := pass.ResultOf[retrierCalls].(*retriers)
	reported := map[token.Pos]bool{}
	check := func(again *flow.Loop, call *ssa.Call) {
		text, at := consumed(again, call, fns)
		if text == "" || reported[at.Pos()] || handwritten(pass, at.Pos()) == nil {
			return
		}
		reported[at.Pos()] = true
		r.at(callStart(fileOf(pass, at.Pos()), at.Pos()), at.Pos(), Library, "RL205", "%s", text)
	}
	for _, t := range all.found.Attempts {
		if t.IsRetry() {
			check(t.Loop, t.Op)
		}
	}
	for _, c := range all.calls {
		if literal, ok := c.op().(*ssa.MakeClosure); ok {
			fn := literal.Fn.(*ssa.Function)
			for _, call := range callsOf(fn) {
				check(flow.Whole(fn), call)
			}
		}
	}
}

// consumed describes a call, in a region that is executed for each attempt, that sends a
// request or body which the first attempt has already read to its end. It also returns the call
// in the region that receives that request or body. The text is "" if there is no such call.
func consumed(again *flow.Loop, call *ssa.Call, fns []*ssa.Function) (text string, at *ssa.Call) {
	within := func(v ssa.Value) bool { return again.Contains(v) && v.Parent() == again.Header.Parent() }
	given := sentBy(call)
	for at = call; given != nil; {
		made := makerOf(given)
		if made == nil || !within(made) {
			break
		}
		at, given = made, sentBy(made)
	}
	if given == nil || within(given) || isTouched(again, given, call, at) {
		return "", nil
	}
	if !vocab.IsType(given.Type(), "net/http", "Request") {
		if !isRead(given, true, fns) {
			return "", nil
		}
		return "each attempt sends the same reader, which the first attempt consumes: create a reader for each attempt, or " +
			"rewind it", at
	}
	made := makerOf(given)
	if made == nil || sentBy(made) == nil || !isRead(sentBy(made), false, fns) {
		return "", nil
	}
	return "each attempt sends the same request, whose body the first attempt consumes: create a request for each " +
		"attempt, or rewind it with GetBody", at
}

// sentBy returns the request or body that a call takes. The call is a function of net/http that
// returns a request or a response, or a method of another package that sends requests in the
// same way. Otherwise sentBy returns nil.
func sentBy(call *ssa.Call) ssa.Value {
	callee, _ := flow.StaticCallee(&call.Call)
	results := call.Call.Signature().Results()
	if callee == nil || callee.Pkg() == nil || results.Len() == 0 {
		return nil
	}
	made := results.At(0).Type()
	sends := vocab.IsType(made, "net/http", "Response") && flow.ReturnsError(call.Call.Signature()) &&
		(callee.Name() == "Do" || callee.Name() == "RoundTrip")
	if callee.Pkg().Path() != "net/http" && !sends ||
		!vocab.IsType(made, "net/http", "Response") && !vocab.IsType(made, "net/http", "Request") {
		return nil
	}
	for _, arg := range call.Call.Args {
		if vocab.IsType(arg.Type(), "net/http", "Request") || vocab.IsType(arg.Type(), "io", "Reader") {
			return source(arg)
		}
	}
	return nil
}

// makerOf returns the call that returned a value, or nil.
func makerOf(v ssa.Value) *ssa.Call {
	call, _ := flow.Source(v, flow.Unpacked).(*ssa.Call)
	return call
}

// source returns the original of a value that was converted, captured, or stored in a variable
// that is assigned only once.
func source(v ssa.Value) ssa.Value {
	return flow.Source(v, flow.Boxed|flow.Renamed|flow.Kept|flow.Captured)
}

// isRead reports whether a body is a reader that is empty after it was sent once. net/http
// keeps its own copy of the content of some types of readers. For these, isRead returns also.
func isRead(v ssa.Value, also bool, fns []*ssa.Function) bool {
	is := func(pkg string, names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return vocab.IsType(v.Type(), pkg, name) })
	}
	switch {
	case is("bytes", "Buffer", "Reader"), is("strings", "Reader"):
		return also
	case is("os", "File"), is("bufio", "Reader"), is("io", "PipeReader"):
		return true
	case !types.IsInterface(v.Type()):
		return false
	}
	switch v := v.(type) {
	case *ssa.Phi:
		return slices.ContainsFunc(v.Edges, func(edge ssa.Value) bool {
			_, again := edge.(*ssa.Phi)
			return !again && isRead(source(edge), also, fns)
		})
	case *ssa.Call:
		return isCallOf(v, "io", "NopCloser", "LimitReader", "TeeReader", "MultiReader") ||
			isCallOf(v, "io/ioutil", "NopCloser")
	case *ssa.Parameter:
		args, known := flow.CallersOf(fns).Arguments(v)
		return !known || slices.ContainsFunc(args, func(arg ssa.Value) bool { return !flow.IsNil(arg) })
	}
	return false
}

// isTouched reports whether anything in a region, other than the given calls that send it, may
// change the body of what is sent.
func isTouched(again *flow.Loop, sent ssa.Value, calls ...*ssa.Call) bool {
	request := vocab.IsType(sent.Type(), "net/http", "Request")
	for instr := range flow.Instructions(again.List) {
		switch instr := instr.(type) {
		case *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType, *ssa.DebugRef, *ssa.BinOp, *ssa.UnOp:
			continue
		case *ssa.FieldAddr:
			if name := flow.FieldOf(instr).Name(); name != "Body" && name != "GetBody" {
				continue
			}
		case *ssa.Call:
			if slices.Contains(calls, instr) || request && flow.Known(&instr.Call).Is(vocab.Pure) {
				continue
			}
		}
		if slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool { return *op != nil && source(*op) == sent }) {
			return true
		}
	}
	return false
}
