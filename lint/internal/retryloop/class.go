package retryloop

import (
	"go/token"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// retryOfOne judges whether the loop is a retry that asks for errors by class
// only: it waits where it has recognised one of them, or that nobody is there, and
// leaves with all others as with a success. What takes what comes is for serving.
func (l *loop) retryOfOne(call *ssa.Call, errs map[ssa.Value]bool) (Retry, bool) {
	if taker.MatchString(nameOf(call)) {
		return Retry{}, false
	}
	for _, b := range l.list {
		branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok || !recognises(branch.Cond, errs) {
			continue
		}
		one := 0
		if cmp, ok := branch.Cond.(*ssa.BinOp); ok && cmp.Op == token.NEQ {
			one = 1
		}
		failed, succeeded := l.way(b, b.Succs[one]), l.way(b, b.Succs[1-one])
		if !failed.returns() || succeeded.returns() || !succeeded.leaves() || progresses(call, failed) {
			continue
		}
		same, counted := failed.repeats(call)
		r := Retry{
			Call: call, failed: failed, succeeded: succeeded, recognised: true, counted: counted,
			IsFor: strings.HasPrefix(l.header.Comment, "for.") || strings.HasPrefix(l.header.Comment, "range"),
		}
		if !same || !r.Waits() && !isDown(branch.Cond) {
			continue
		}
		if !counted && !isOpaque(call) {
			r.judge(branch, errs)
		}
		return r, true
	}
	return Retry{}, false
}

// recognises reports whether a condition holds for some errors only, never for
// none: it compares an error, or a code of it, or calls a function that is known,
// or named, for that.
func recognises(cond ssa.Value, errs map[ssa.Value]bool) bool {
	switch cond := cond.(type) {
	case *ssa.BinOp:
		if cond.Op != token.EQL && cond.Op != token.NEQ {
			return false
		}
		if errs[cond.X] {
			_, sentinel := cond.Y.(*ssa.UnOp)
			return sentinel
		}
		code, ok := cond.X.(*ssa.Call)
		return ok && isConst(cond.Y) && !isZero(cond.Y) && isGivenOne(code, errs)
	case *ssa.Call:
		fn := cond.Common().StaticCallee()
		return fn != nil && isGivenOne(cond, errs) && (isNamed(fn, "errors", "Is", "As") || classifier.MatchString(fn.Name()))
	}
	return false
}

var classifier = regexp.MustCompile(`(?i)^is|retr(y|iable)|transient|temporary|timeout|busy|conflict`)

func isGivenOne(call *ssa.Call, errs map[ssa.Value]bool) bool {
	return slices.ContainsFunc(call.Common().Args, func(arg ssa.Value) bool { return errs[arg] })
}
