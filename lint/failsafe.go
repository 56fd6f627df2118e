package lint

import (
	"go/constant"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

const failsafe = "github.com/failsafe-go/failsafe-go"

// failsafeEndless reports whether a call of an Executor of failsafe-go retries
// op until ctx ends, or for ever if that is nil: its one policy is a retry
// policy that is told to go on.
func failsafeEndless(call *ssa.CallCommon) (op, ctx ssa.Value, ok bool) {
	run := methodOn(call, failsafe, "Executor")
	switch run {
	case "Run", "Get", "RunWithExecution", "GetWithExecution":
		op = origin(call.Args[0])
	default:
		return nil, nil, false
	}
	executor, ok := origin(call.Value).(*ssa.Call)
	for ok {
		switch methodOn(executor.Common(), failsafe, "Executor") {
		case "WithContext":
			ctx = executor.Call.Args[0]
		case "OnDone", "OnSuccess", "OnFailure":
		default:
			ok = calls(executor, failsafe, "With")
			if !ok {
				return nil, nil, false
			}
			policies := elements(executor.Call.Args[0])
			return op, ctx, len(policies) == 1 && failsafePolicyEndless(policies[0])
		}
		executor, ok = origin(executor.Call.Value).(*ssa.Call)
	}
	return nil, nil, false
}

// failsafePolicyEndless reports whether a policy is built without an end.
func failsafePolicyEndless(policy ssa.Value) bool {
	const path = failsafe + "/retrypolicy"
	step, ok := origin(policy).(*ssa.Call)
	if !ok || methodOn(step.Common(), path, "Builder") != "Build" {
		return false
	}
	unlimited := false
	for {
		if step, ok = origin(step.Call.Value).(*ssa.Call); !ok {
			return false
		}
		switch methodOn(step.Common(), path, "Builder") {
		case "":
			return unlimited && calls(step, path, "NewBuilder")
		case "WithMaxRetries", "WithMaxAttempts":
			c, ok := step.Call.Args[0].(*ssa.Const)
			if !ok || unlimited || constant.Sign(c.Value) >= 0 {
				return false
			}
			unlimited = true
		case "WithMaxDuration", "WithBudget", "AbortIf":
			return false
		}
	}
}

// methodOn returns the name of the method of a named interface that a call is
// of, or "".
func methodOn(call *ssa.CallCommon, path, name string) string {
	if !call.IsInvoke() || !isNamedType(call.Value.Type(), path, name) {
		return ""
	}
	return call.Method.Name()
}

// calls reports whether a call is of a function of a package, generic or not.
func calls(call *ssa.Call, path, name string) bool {
	fn := flow.Generic(call.Call.StaticCallee())
	return fn != nil && fn.Name() == name && fn.Object() != nil && fn.Object().Pkg() != nil &&
		fn.Object().Pkg().Path() == path
}
