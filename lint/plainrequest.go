package lint

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// plainRequests reports the requests that a client of go-retryablehttp sends on although the
// context has ended that their function takes.
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

// sendsWithoutContext reports whether a call has a client of go-retryablehttp send a request
// that has no context: one that the client makes itself, or that NewRequest has made, and
// nobody has given one since. A client that does not retry, or whose caller says when to,
// is another matter.
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

// keepsItsContext reports whether nothing is done with a request but to send it, to call its
// methods that make no other of it, and to set what it says.
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
