package retryloop

import (
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

var teller = regexp.MustCompile(
	`(?i)^((v|s|f|ln)?print|log|debug|info|warn|error|trace|notice|verbose|with(field|error|value)|msg|fields?$|v$|level)`)

// session names what begins or ends one, though it begins as the names of tellers do.
var session = regexp.MustCompile(`^([lL]og_?([iI]n|[oO]ut|[oO]n|[oO]ff)([A-Z_]|$)|LOG_?(IN|OUT|ON|OFF)(_|$))`)

// logger matches packages of which everything is to tell somebody.
var logger = regexp.MustCompile(`(^|/)(log|slog|klog|glog|zerolog|zap|logrus|logr|hclog|go-hclog|log15)(/v\d+)?$`)

// isTold reports whether a call only tells somebody something.
func isTold(call *ssa.Call) bool {
	if fn := call.Common().StaticCallee(); fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil {
		switch fn.Object().Pkg().Path() {
		case "fmt", "errors", "strings", "strconv", "time", "bytes":
			return !isNamed(fn, "errors", "AsType") // which asks
		}
	}
	return isOfLogger(call) || teller.MatchString(nameOf(call)) && !session.MatchString(nameOf(call))
}

// isOfLogger reports whether a call is of a function of a package that only tells, or of
// one that such a package keeps in a variable.
func isOfLogger(call *ssa.Call) bool {
	if fn := call.Common().StaticCallee(); fn != nil {
		return fn.Object() != nil && fn.Object().Pkg() != nil && logger.MatchString(fn.Object().Pkg().Path())
	}
	load, ok := call.Common().Value.(*ssa.UnOp)
	if !ok {
		return false
	}
	kept, ok := load.X.(*ssa.Global)
	return ok && kept.Pkg != nil && logger.MatchString(kept.Pkg.Pkg.Path())
}

// isOnlyTold reports whether an instruction only tells somebody, or prepares a value for
// that: as one of several arguments, or as what a method says of it. It looks depth
// instructions on.
func isOnlyTold(instr ssa.Instruction, depth int) bool {
	switch instr := instr.(type) {
	case *ssa.MakeInterface, *ssa.ChangeInterface:
		return !slices.ContainsFunc(*instr.(ssa.Value).Referrers(), func(ref ssa.Instruction) bool {
			store, ok := ref.(*ssa.Store)
			return !(ok && isTellersArgument(store.Addr)) && !isOnlyTold(ref, depth-1)
		})
	case *ssa.Call:
		uses := *instr.Referrers()
		return depth > 0 && (isTold(instr) || len(uses) > 0) && !slices.ContainsFunc(uses, func(use ssa.Instruction) bool {
			return !isOnlyTold(use, depth-1)
		})
	}
	return false
}

// isTellersArgument reports whether addr is a place in the list of arguments of a call
// that tells somebody, and makes no text to work with.
func isTellersArgument(addr ssa.Value) bool {
	at, ok := addr.(*ssa.IndexAddr)
	if !ok {
		return false
	}
	arguments, ok := at.X.(*ssa.Alloc)
	return ok && slices.ContainsFunc(*arguments.Referrers(), func(use ssa.Instruction) bool {
		list, ok := use.(*ssa.Slice)
		return ok && slices.ContainsFunc(*list.Referrers(), func(use ssa.Instruction) bool {
			told, ok := use.(*ssa.Call)
			return ok && isTold(told) && len(*told.Referrers()) == 0
		})
	})
}

// isLogged reports whether a call is a part of telling a log something: the caller does not
// hear of it.
func isLogged(call *ssa.Call) bool {
	if fn := call.Common().StaticCallee(); isNamed(fn, "fmt", "Fprint", "Fprintf", "Fprintln") {
		return isOfPackageVariable(root(call.Common().Args[0])) || isPackageVariable(root(call.Common().Args[0])) // os.Stderr
	}
	return isTold(call) || isBuiltin(call) || isGotten(call)
}
