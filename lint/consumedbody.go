package lint

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// ConsumedBody reports RL205.
var ConsumedBody = newRule("consumedbody", runConsumedBody, []string{"RL205"}, ssaForm)

func runConsumedBody(pass *analysis.Pass, r *report) {
	if !imports(pass, "net/http") {
		return
	}
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	retried := retriedClosures(fns)
	var callers flow.Callers
	for _, fn := range fns {
		for _, call := range callsOf(fn) {
			body, request := sentBy(call)
			if body == nil && request == nil {
				continue
			}
			again := region{flow.Around(call)}
			if again.Loop == nil && retried[fn] {
				again.Loop = flow.Whole(fn)
			}
			file := handwritten(pass, call.Pos())
			if again.Loop == nil || file == nil {
				continue
			}
			if callers == nil {
				callers = flow.CallersOf(pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs) // few packages come here
			}
			pos := callStart(file, call.Pos())
			switch {
			case request != nil && again.consumesRequest(call, request, callers):
				r.at(pos, call.Pos(), Library, "RL205",
					"each attempt sends the same request, whose body the first attempt consumes: create a request for each "+
						"attempt, or rewind it with GetBody")
			case body != nil && again.consumes(call, body, callers):
				r.at(pos, call.Pos(), Library, "RL205",
					"each attempt sends the same reader, which the first attempt consumes: create a reader for each attempt, or "+
						"rewind it")
			}
		}
	}
}

// retriedClosures returns the function literals that retry libraries call.
func retriedClosures(fns []*ssa.Function) map[*ssa.Function]bool {
	retried := map[*ssa.Function]bool{}
	for _, fn := range fns {
		for _, call := range callsOf(fn) {
			if p := planOf(&call.Call); p != nil {
				if op, ok := p.op().(*ssa.MakeClosure); ok {
					retried[op.Fn.(*ssa.Function)] = true
				}
			}
		}
	}
	return retried
}

// sentBy returns the body that a call puts into a request, or the request that
// it sends.
func sentBy(call *ssa.Call) (body, request ssa.Value) {
	common := call.Common()
	if fn := common.StaticCallee(); fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil &&
		fn.Object().Pkg().Path() == "net/http" {
		switch n := len(common.Args); fn.Name() {
		case "NewRequest", "NewRequestWithContext", "Post":
			return common.Args[n-1], nil
		case "Do", "RoundTrip":
			return nil, common.Args[n-1]
		}
		return nil, nil
	}
	// What sends for net/http in its manner.
	results := common.Signature().Results()
	name := ""
	if common.IsInvoke() {
		name = common.Method.Name()
	} else if fn := common.StaticCallee(); fn != nil && fn.Signature.Recv() != nil {
		name = fn.Name()
	}
	if (name == "Do" || name == "RoundTrip") && len(common.Args) > 0 && results.Len() == 2 &&
		isPointerToNamed(results.At(0).Type(), "net/http", "Response") {
		if last := common.Args[len(common.Args)-1]; isPointerToNamed(last.Type(), "net/http", "Request") {
			return nil, last
		}
	}
	return nil, nil
}

func isPointerToNamed(t types.Type, path, name string) bool {
	p, ok := t.(*types.Pointer)
	return ok && isNamedType(p.Elem(), path, name)
}

// A region is code that runs again for each attempt: a loop, or all of a
// function.
type region struct{ *flow.Loop }

// holds reports whether a value, which may be of another function, is computed in the region.
func (g region) holds(v ssa.Value) bool {
	return g.Contains(v) && v.Parent() == g.Header.Parent()
}

// consumesRequest reports whether a call in the region sends a request that was
// made before, of a body that net/http cannot rewind.
func (g region) consumesRequest(call *ssa.Call, request ssa.Value, callers flow.Callers) bool {
	for {
		with, ok := source(request).(*ssa.Call)
		if !ok || !isCallOf(with, "net/http", "WithContext", "Clone") || !g.holds(with) {
			break
		}
		request = with.Call.Args[0] // another request of the same body
	}
	made, ok := source(request).(*ssa.Extract)
	if !ok || g.holds(made) {
		return false
	}
	maker, ok := made.Tuple.(*ssa.Call)
	if !ok || !isCallOf(maker, "net/http", "NewRequest", "NewRequestWithContext") {
		return false
	}
	body, _ := sentBy(maker)
	return isRead(source(body), false, callers) && !g.uses(made, call)
}

// consumes reports whether a call in the region sends what a reader that was
// made before still holds.
func (g region) consumes(call *ssa.Call, body ssa.Value, callers flow.Callers) bool {
	reader := source(body)
	return !g.holds(reader) && isRead(reader, true, callers) && !g.uses(reader, call)
}

// source returns what a value was before it was converted, kept in a variable
// that is assigned to once, or captured.
func source(v ssa.Value) ssa.Value {
	return flow.Source(v, flow.Boxed|flow.Renamed|flow.Kept|flow.Captured)
}

// isRead reports whether a body is a reader that is empty after it was sent
// once. Of some types net/http makes copies of what is left, for itself.
func isRead(v ssa.Value, also bool, callers flow.Callers) bool {
	t := v.Type()
	if isPointerToNamed(t, "bytes", "Buffer") || isPointerToNamed(t, "bytes", "Reader") ||
		isPointerToNamed(t, "strings", "Reader") {
		return also
	}
	if isPointerToNamed(t, "os", "File") || isPointerToNamed(t, "bufio", "Reader") ||
		isPointerToNamed(t, "io", "PipeReader") {
		return true
	}
	if !types.IsInterface(t) {
		return false
	}
	switch v := v.(type) {
	case *ssa.Phi:
		return slices.ContainsFunc(v.Edges, func(edge ssa.Value) bool {
			_, again := edge.(*ssa.Phi)
			return !again && isRead(source(edge), also, callers)
		})
	case *ssa.Call:
		return isCallOf(v, "io", "NopCloser", "LimitReader", "TeeReader", "MultiReader") ||
			isCallOf(v, "io/ioutil", "NopCloser")
	case *ssa.Parameter:
		args, known := callers.Arguments(v)
		return !known || slices.ContainsFunc(args, func(arg ssa.Value) bool { return !flow.IsNil(arg) })
	}
	return false
}

// uses reports whether anything in the region but a call may do something to
// what that call sends: it has the reader or the request, or what was made of
// it.
func (g region) uses(sent ssa.Value, by *ssa.Call) bool {
	made := g.madeOf(sent, map[ssa.Value]bool{})
	for instr := range flow.Instructions(g.List) {
		if instr != ssa.Instruction(by) && touches(instr, sent, made) {
			return true
		}
	}
	return false
}

// madeOf adds the calls before the region that were given a value: of an encoder or a writer,
// that fills it.
func (g region) madeOf(v ssa.Value, made map[ssa.Value]bool) map[ssa.Value]bool {
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.Call:
			if !g.holds(ref) {
				made[ref] = true
			}
		case *ssa.MakeInterface:
			g.madeOf(ref, made)
		}
	}
	return made
}

// touches reports whether an instruction may do something to what is sent, or has what was made
// of it.
func touches(instr ssa.Instruction, sent ssa.Value, made map[ssa.Value]bool) bool {
	return slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool {
		if *op == nil {
			return false
		}
		from := source(*op)
		if x, ok := from.(*ssa.Extract); ok && made[x.Tuple] || made[from] {
			return true
		}
		return (from == sent || isVariableOf(*op, sent)) && !isHarmless(instr)
	})
}

// isVariableOf reports whether a value is the address of a variable that holds
// another.
func isVariableOf(addr, v ssa.Value) bool {
	variable := flow.Declared(addr)
	return variable != nil && variable != v && flow.OnlyStored(variable) == v
}

// isHarmless reports whether an instruction leaves the body of what it has as
// it is.
func isHarmless(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType, *ssa.DebugRef, *ssa.BinOp:
		return true
	case *ssa.UnOp:
		return true // read from its variable
	case *ssa.FieldAddr:
		name := fieldName(instr)
		return name != "Body" && name != "GetBody"
	case *ssa.Call:
		return isCallOf(instr, "net/http", "Context", "WithContext", "Clone", "SetBasicAuth", "AddCookie", "UserAgent",
			"Referer")
	}
	return false
}
