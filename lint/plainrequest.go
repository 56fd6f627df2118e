package lint

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// plainRequests reports requests without a context that a go-retryablehttp client sends. They
// are retried even after the context of the function has ended.
func (r *report) plainRequests(fns []*ssa.Function, found *attempt.Package) {
	for _, fn := range fns {
		for _, call := range callsOf(fn) {
			file := handwritten(r.pass, call.Pos())
			if file == nil || !sendsWithoutContext(call) {
				continue
			}
			if live, ok := found.LiveContext(call).(*ssa.Parameter); ok && live.Parent() == fn {
				r.continues(file, call, live, found.EndEvidence(live), "pass its request that context", nil)
			}
		}
	}
}

// sendsWithoutContext reports whether a call sends a request that has no context with a
// go-retryablehttp client. The request is created by the client itself, or by NewRequest
// without a context that is set later. Clients that do not retry, and clients with their own
// retry condition, are ignored.
func sendsWithoutContext(call *ssa.Call) bool {
	fn := call.Call.StaticCallee()
	if !isCallOf(call, retryablehttp, "Get", "Head", "Post", "PostForm", "Do") {
		return false
	}
	if fn.Signature.Recv() != nil {
		client := newSettings()
		if client.read(call.Call.Args[0]); client.attempts == 1 || client.decided {
			return false
		}
	}
	if fn.Name() != "Do" {
		return true
	}
	request, ok := call.Call.Args[1].(*ssa.Extract)
	return ok && isCallOf(request.Tuple, retryablehttp, "NewRequest") && keepsItsContext(request)
}

// keepsItsContext reports whether a request keeps the context that it was created with. The
// function may only send the request, set its fields, and call methods that do not return a new
// request.
func keepsItsContext(request ssa.Value) bool {
	return !slices.ContainsFunc(*request.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.DebugRef:
			return false
		case *ssa.FieldAddr:
			return flow.FieldOf(ref).Name() == "Request" && !keepsItsContext(ref)
		case *ssa.UnOp:
			return !keepsItsContext(ref)
		case *ssa.Call:
			fn := ref.Call.StaticCallee()
			return fn == nil || !isCallOf(ref, retryablehttp, fn.Name()) && !isCallOf(ref, "net/http", fn.Name()) ||
				slices.Contains([]string{"WithContext", "Clone"}, fn.Name())
		}
		return true
	})
}
