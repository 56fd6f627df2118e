package retryloop

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// retryOfGiven judges whether the loop calls a function that the caller gives until that
// answers with true, or with false, and goes on for ever if it does not: whether that is
// how it says that it has failed, the caller's function knows.
func (l *loop) retryOfGiven(call *ssa.Call) (Retry, bool) {
	if _, given := call.Common().Value.(*ssa.Parameter); !given || call.Common().IsInvoke() || l.items() {
		return Retry{}, false
	}
	answers := answersBeside(call)
	answers[call] = types.Identical(call.Type(), types.Typ[types.Bool])
	for _, b := range l.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !answers[branch.Cond] {
			continue
		}
		for i, until := range []Answer{True, False} {
			succeeded, failed := l.way(b, b.Succs[i]), l.way(b, b.Succs[1-i])
			if !failed.returnsTo(call) || succeeded.returns() || !succeeded.leaves() {
				continue
			}
			same, counts := failed.repeats(call)
			r := l.newRetry(call, failed, succeeded, sameOr(counts))
			r.Wanted = until
			if r.judge(branch, answers); same && r.Bound != Unknown {
				return r, true
			}
		}
	}
	return Retry{}, false
}

// Fails reports whether a function that is tried until it gives an answer gives the other
// where it has seen an error, and only there or where it has seen how something is. What
// may give the answer before it has tried anything ends the retry by itself, and so does
// what returns the error beside; what takes the next of what comes tries nothing.
func Fails(fn *ssa.Function, until Answer) bool {
	results := fn.Signature.Results()
	if results.Len() == 0 || !types.Identical(results.At(0).Type(), types.Typ[types.Bool]) || AsksToStop(fn) ||
		usesNumber(fn) || predicate.MatchString(fn.Name()) ||
		!saysFailure(fn, 0, until == False) || anyInstr(fn, takes) {
		return false
	}
	succeeds := false
	for _, b := range fn.Blocks {
		ret, ok := terminator(b).(*ssa.Return)
		if !ok {
			continue
		}
		switch v := returned(ret, 0); {
		case isBool(v, until == False):
			if err := returnedError(ret); results.Len() > 1 && !isNil(err) {
				return false
			}
		case isBool(v, until == True) && !hasTried(b):
			return false
		default:
			succeeds = true
		}
	}
	return succeeds
}

// usesNumber reports whether a function does anything with a number that it is given, but to
// tell of it: it may count the attempts.
func usesNumber(fn *ssa.Function) bool {
	return slices.ContainsFunc(fn.Params, func(p *ssa.Parameter) bool {
		basic, ok := p.Type().Underlying().(*types.Basic)
		return ok && basic.Info()&types.IsNumeric != 0 && slices.ContainsFunc(*p.Referrers(), func(ref ssa.Instruction) bool {
			return !isOnlyTold(ref, 4)
		})
	})
}

// takes reports whether an instruction takes the next of what comes.
func takes(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.UnOp:
		return instr.Op == token.ARROW && !isTimedWait(instr)
	case *ssa.Call:
		return len(errorsOf(instr)) > 0 && isTaker(instr)
	}
	return false
}
