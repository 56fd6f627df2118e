package lint

import (
	"go/constant"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// NonIdempotent reports RL403.
var NonIdempotent = newRule("nonidempotent", runNonIdempotent, []string{"RL403"}, ssaForm, attempts)

func runNonIdempotent(pass *analysis.Pass, r *report) {
	if !informs("RL403") {
		return
	}
	var tried []*ssa.Call
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		if t.IsRetry() {
			tried = append(tried, t.Op)
		}
	}
	for fn := range retriedClosures(pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs) {
		tried = append(tried, callsOf(fn)...)
	}
	for _, call := range tried {
		what := sideEffect(call)
		if file := handwritten(pass, call.Pos()); what != "" && file != nil {
			r.at(callStart(file, call.Pos()), call.Pos(), Named, "RL403",
				"this %s is retried, and takes effect twice if only its answer was lost: send an idempotency key, or do not "+
					"retry it", what)
		}
	}
}

// sideEffect returns what a call does that must not be done twice, or "".
func sideEffect(call *ssa.Call) string {
	fn := call.Call.StaticCallee()
	if fn == nil || fn.Object() == nil || fn.Object().Pkg() == nil {
		return ""
	}
	args := call.Call.Args
	switch fn.Object().Pkg().Path() {
	case "net/http":
		method := ""
		switch fn.Name() {
		case "Post", "PostForm":
			method = "POST"
		case "Do":
			method = methodOf(source(args[len(args)-1]))
		}
		if (method == "POST" || method == "PATCH") && !setsIdempotency(call.Parent()) {
			return method
		}
	case "database/sql":
		switch fn.Name() {
		case "Exec", "ExecContext", "Query", "QueryContext", "QueryRow", "QueryRowContext":
			if slices.ContainsFunc(args, isInsert) {
				return "INSERT"
			}
		}
	}
	return ""
}

// methodOf returns the constant method of a request that is seen to be made.
func methodOf(request ssa.Value) string {
	made, ok := request.(*ssa.Extract)
	if !ok {
		return ""
	}
	call, ok := made.Tuple.(*ssa.Call)
	if !ok {
		return ""
	}
	switch args := call.Call.Args; {
	case isCallOf(call, "net/http", "NewRequest"):
		return stringOf(args[0])
	case isCallOf(call, "net/http", "NewRequestWithContext"):
		return stringOf(args[1])
	}
	return ""
}

func stringOf(v ssa.Value) string {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.String {
		return ""
	}
	return constant.StringVal(c.Value)
}

var (
	insert = regexp.MustCompile(`(?i)^\s*insert\s+into\b`)
	upsert = regexp.MustCompile(`(?i)\bon\s+(conflict|duplicate)\b|\bwhere\s+not\s+exists\b`)
)

func isInsert(v ssa.Value) bool {
	return insert.MatchString(stringOf(v)) && !upsert.MatchString(stringOf(v))
}

// setsIdempotency reports whether a function, or one around it, names a header
// by which a server knows a request again.
func setsIdempotency(fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		for _, call := range callsOf(fn) {
			if slices.ContainsFunc(call.Call.Args,
				func(v ssa.Value) bool { return strings.Contains(strings.ToLower(stringOf(v)), "idempoten") }) {
				return true
			}
		}
	}
	return false
}
