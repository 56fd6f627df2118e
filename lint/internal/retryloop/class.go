package retryloop

import (
	"go/ast"
	"go/token"
	"go/types"
	"net/http"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// retryOfOne judges whether the loop is a retry that asks for errors by class only: it
// waits where it has recognised one of them, or that nobody is there or it is worth
// another attempt, and leaves with all others as with a success. What takes what comes is
// for serving.
func (l *loop) retryOfOne(call *ssa.Call, errs map[ssa.Value]bool) (Retry, bool) {
	if isTaker(call) {
		return Retry{}, false
	}
	for _, b := range l.list {
		branch, ok := terminator(b).(*ssa.If)
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
		same, counts := failed.repeats(call)
		r := l.newRetry(call, failed, succeeded, sameOr(counts))
		r.recognised = true
		if !same || !r.Waits() && !isDown(branch.Cond) && !isWorthAnother(branch.Cond) {
			continue
		}
		if !counts && !isOpaque(call) {
			r.judge(branch, errs)
		}
		return r, true
	}
	return Retry{}, false
}

// recognises reports whether a condition holds for some errors only, never for
// none: it compares an error, a code of it or its type, or calls a function that is known,
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
	case *ssa.Extract:
		switch from := cond.Tuple.(type) {
		case *ssa.TypeAssert:
			return errs[from.X]
		case *ssa.Call:
			return isNamed(from.Common().StaticCallee(), "errors", "AsType") && isGivenOne(from, errs)
		}
		return false
	case *ssa.Call:
		fn := cond.Common().StaticCallee()
		return fn != nil && isGivenOne(cond, errs) && (isNamed(fn, "errors", "Is", "As") || classifier.MatchString(fn.Name()))
	}
	return false
}

// retryOfStatus judges whether the loop is a retry that asks for the status of a response
// to HTTP: that of a failure leads back, and all others leave, as errors do.
func (l *loop) retryOfStatus(call *ssa.Call, errs map[ssa.Value]bool) (Retry, bool) {
	if l.goesOnAfter(call, errs) {
		return Retry{}, false
	}
	for _, b := range l.list {
		failing, succeeding := askedStatus(b, call)
		if failing == nil {
			continue
		}
		failed, succeeded := l.way(b, failing), l.way(b, succeeding)
		if !failed.returnsTo(call) || succeeded.returns() || !succeeded.leaves() {
			continue
		}
		same, counts := failed.repeats(call)
		r := l.newRetry(call, failed, succeeded, sameOr(counts))
		r.recognised = true
		if !same {
			continue
		}
		if !counts && !isOpaque(call) && (r.Waits() || !r.corrects()) && !sendsContext(call) {
			r.judge(terminator(b).(*ssa.If), errs)
		}
		return r, true
	}
	return Retry{}, false
}

// sendsContext reports whether a call is given a request that may end with its context, by an
// error that leaves.
func sendsContext(call *ssa.Call) bool {
	return slices.ContainsFunc(argumentsOf(call.Common()), func(arg ssa.Value) bool {
		if !isRequest(arg.Type()) {
			return false
		}
		if x, ok := arg.(*ssa.Extract); ok {
			arg = x.Tuple
		}
		made, ok := arg.(*ssa.Call)
		return !ok || GivenContext(made) != nil && !NeverEnds(GivenContext(made)) ||
			GivenContext(made) == nil && !isNamed(made.Common().StaticCallee(), "net/http", "NewRequest")
	})
}

// goesOnAfter reports whether an error of a call, or a response that is OK, leads back to
// it: the loop is for more than to try until a response is right.
func (l *loop) goesOnAfter(call *ssa.Call, errs map[ssa.Value]bool) bool {
	return slices.ContainsFunc(l.list, func(b *ssa.BasicBlock) bool {
		branch, failing, _ := l.branchOn(b, errs)
		if branch != nil && l.way(b, failing).returnsTo(call) {
			return true
		}
		asks, succeeding := askedStatus(b, call)
		return asks != nil && isOKAsked(b) && l.way(b, succeeding).returnsTo(call)
	})
}

// isOKAsked reports whether block b compares with the status of a success.
func isOKAsked(b *ssa.BasicBlock) bool {
	cmp := terminator(b).(*ssa.If).Cond.(*ssa.BinOp)
	status, ok := whole(cmp.Y)
	return ok && status/100 == 2
}

// askedStatus returns what follows block b if the status of a response is that of a
// failure, and if it is not, where b asks just that.
func askedStatus(b *ssa.BasicBlock, call *ssa.Call) (failing, succeeding *ssa.BasicBlock) {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return nil, nil
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok {
		return nil, nil
	}
	status, ok := whole(cmp.Y)
	if !(nameOfValue(cmp.X) == "StatusCode" && isResultOf(cmp.X, call, 4)) && !isStatusOf(cmp.X, call, status) {
		return nil, nil
	}
	fails, succeeds := status >= http.StatusBadRequest, status/100 == 2
	switch {
	case !ok:
		return nil, nil
	case (cmp.Op == token.GEQ || cmp.Op == token.GTR || cmp.Op == token.EQL) && fails, (cmp.Op == token.NEQ ||
		cmp.Op == token.GTR) && succeeds, cmp.Op == token.GEQ && status == http.StatusMultipleChoices:
		return b.Succs[0], b.Succs[1]
	case (cmp.Op == token.LSS || cmp.Op == token.LEQ || cmp.Op == token.NEQ) && fails, (cmp.Op == token.EQL ||
		cmp.Op == token.LEQ) && succeeds, cmp.Op == token.LSS && status == http.StatusMultipleChoices:
		return b.Succs[1], b.Succs[0]
	}
	return nil, nil
}

// isStatusOf reports whether a call returns a number that the source calls a code or status,
// and that is compared with what only the status of a response is.
func isStatusOf(v ssa.Value, call *ssa.Call, status int64) bool {
	x, ok := v.(*ssa.Extract)
	return ok && x.Tuple == ssa.Value(call) && isInteger(x.Type()) &&
		(status/100 == 2 || status/100 == 4 || status/100 == 5) && statusName.MatchString(nameOfResult(x))
}

var statusName = regexp.MustCompile(`(?i)code|status`)

// nameOfResult returns the name of the variable that a result of a call is assigned to, or "".
func nameOfResult(x *ssa.Extract) (name string) {
	syntax := x.Parent().Syntax()
	if syntax == nil {
		return ""
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Rhs) != 1 || x.Index >= len(assign.Lhs) {
			return name == ""
		}
		if source, ok := ast.Unparen(assign.Rhs[0]).(*ast.CallExpr); ok && source.Lparen == x.Tuple.Pos() {
			if id, ok := assign.Lhs[x.Index].(*ast.Ident); ok {
				name = id.Name
			}
		}
		return name == ""
	})
	return name
}

// isWorthAnother reports whether a condition asks a function that says by its name that an
// error is worth another attempt.
func isWorthAnother(cond ssa.Value) bool {
	asked, ok := cond.(*ssa.Call)
	return ok && worthAnother.MatchString(nameOf(asked))
}

var worthAnother = regexp.MustCompile(`(?i)retr(y|iable)|transient|temporary`)

var classifier = regexp.MustCompile(`(?i)^is|retr(y|iable)|transient|temporary|timeout|busy|conflict`)

func isGivenOne(call *ssa.Call, errs map[ssa.Value]bool) bool {
	return slices.ContainsFunc(call.Common().Args, func(arg ssa.Value) bool { return errs[arg] })
}

// isSelected reports whether a branch stays on the cycle for one error alone,
// and leaves it for all others.
func isSelected(branch *ssa.If, cycle map[*ssa.BasicBlock]bool) bool {
	one := asksForOne(branch)
	return one != nil && cycle[one]
}

// isSpared reports whether a branch leaves the cycle for one error alone, and
// stays on it for all others.
func isSpared(branch *ssa.If, cycle map[*ssa.BasicBlock]bool) bool {
	one := asksForOne(branch)
	return one != nil && !cycle[one]
}

// down names errors of what cannot be reached.
var down = regexp.MustCompile(
	`(?i)refused|unreachable|unavailable|timed?out|noconn|disconnect|offline|brokenpipe|reset`)

// isDown reports whether a condition compares an error, or its code, with one by which
// a server says that it cannot serve now, or in time, or asks whether it is one of the
// network: no more to do, and nobody was faster.
func isDown(cond ssa.Value) bool {
	if one := sentinelOf(cond); one != nil {
		return asksForTime(cond) || down.MatchString(one.Name())
	}
	if x, ok := cond.(*ssa.Extract); ok {
		asserted, ok := x.Tuple.(*ssa.TypeAssert)
		return ok && isNetworkError(asserted.AssertedType)
	}
	if as, ok := cond.(*ssa.Call); ok && isNamed(as.Common().StaticCallee(), "errors", "As") {
		target := targetOf(as.Common().Args[1])
		return target != nil && isNetworkError(target.Type().(*types.Pointer).Elem())
	}
	cmp, ok := cond.(*ssa.BinOp)
	if !ok {
		return false
	}
	named, ok := types.Unalias(cmp.X.Type()).(*types.Named)
	code, isCode := whole(cmp.Y)
	if !ok || !isCode || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != "google.golang.org/grpc/codes" {
		return false
	}
	const unknown, deadlineExceeded, resourceExhausted, internal, unavailable = 2, 4, 8, 13, 14
	return slices.Contains([]int64{unknown, deadlineExceeded, resourceExhausted, internal, unavailable}, code)
}

// isNetworkError reports whether t is net.Error, or points to net.OpError.
func isNetworkError(t types.Type) bool {
	named := namedOf(t)
	return named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "net" &&
		slices.Contains([]string{"Error", "OpError"}, named.Obj().Name())
}

// ofOne names functions that recognise one error, which is not that of a context.
var ofOne = regexp.MustCompile(
	`^Is(NotFound|NotExist|Exist|AlreadyExists|Conflict|Gone|Invalid|Forbidden|Unauthorized|BadRequest|ResourceExpired)$`)

// asksForOne returns what follows where a branch has recognised one error, or
// nil if it asks for anything else.
func asksForOne(branch *ssa.If) *ssa.BasicBlock {
	succs := branch.Block().Succs
	switch cond := branch.Cond.(type) {
	case *ssa.Call:
		if isNamed(cond.Common().StaticCallee(), "errors", "Is") || ofOne.MatchString(nameOf(cond)) {
			return succs[0]
		}
	case *ssa.BinOp:
		switch cond.Op {
		case token.EQL:
			return succs[0]
		case token.NEQ:
			return succs[1]
		}
	}
	return nil
}
