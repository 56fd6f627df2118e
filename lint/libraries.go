package lint

import (
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// A library is what some functions of a public module that retry another have in common.
type library struct {
	paths []string // of its versions
	names []string
	recv  string // the type that they are methods of, if they are
	op    int    // the argument that is retried
	ctx   int    // the argument that may end it, or -1
	// unbounded reports whether a call has no end but success, an error that the
	// operation marks, and ctx. stops returns another context that ends it.
	unbounded func(args []ssa.Value) bool
	stops     func(args []ssa.Value) ssa.Value
	attempts  func(args []ssa.Value) int  // if not nil: how often a call tries at most, or 0 if that is not known
	atOnce    func(args []ssa.Value) bool // if not nil: whether a call tries again at once, several times
	limit     string                      // what gives a call a limit
	// brief, if not nil, reports whether all waits of a call are known, or must be
	// taken, to be less than a second together.
	brief   func(args []ssa.Value) bool
	final   bool     // an error of the operation ends it
	twins   []string // functions that do the same with a context, the newest first
	deaf    bool     // it takes no context
	instead string   // what does the same with a context, if it is in another package
}

// libraries is what is known of the popular modules. A test beside the plugin
// in contrib/golangci/integration compiles against every symbol.
var libraries = []library{
	{paths: cenkaltiPaths, names: []string{"Retry", "RetryNotify", "RetryWithData", "RetryNotifyWithData"}, op: 0, ctx: -1,
		unbounded: cenkaltiEndless, stops: cenkaltiContext, attempts: cenkaltiAttempts, atOnce: cenkaltiAtOnce,
		limit: "WithMaxRetries, or a MaxElapsedTime above 0"},
	{paths: cenkaltiNewPaths, names: []string{"Retry"}, op: 1, ctx: 0, unbounded: cenkaltiOptionsEndless,
		attempts: cenkaltiTries, atOnce: cenkaltiOptionsAtOnce, limit: "WithMaxTries, or a WithMaxElapsedTime above 0"},
	{paths: avastPaths, names: []string{"Do", "DoWithData"}, op: 0, ctx: -1, unbounded: avastEndless, stops: avastContext,
		attempts: avastAttempts, atOnce: avastAtOnce, limit: "Attempts above 0"},
	{paths: []string{avastv5}, recv: "Retrier", names: []string{"Do"}, op: 1, ctx: -1, unbounded: avastEndless,
		stops: avastContext, attempts: avastAttempts, atOnce: avastAtOnce, limit: "Attempts above 0"},
	{paths: []string{avastv5}, recv: "RetrierWithData", names: []string{"Do"}, op: 1, ctx: -1, unbounded: avastEndless,
		stops: avastContext, attempts: avastAttempts, atOnce: avastAtOnce, limit: "Attempts above 0"},
	{paths: []string{sethvargo}, names: []string{"Do", "DoValue"}, op: 2, ctx: 0, unbounded: sethvargoEndless,
		limit: "WithMaxRetries or WithMaxDuration"},
	{paths: []string{sethvargo}, names: []string{"Constant", "Exponential", "Fibonacci"}, op: 2, ctx: 0, unbounded: always,
		limit: "Do, and WithMaxRetries or WithMaxDuration"},
	{paths: []string{k8sWait}, names: []string{"PollInfinite", "PollImmediateInfinite"}, op: 1, ctx: -1, unbounded: always,
		final: true, limit: "PollUntilContextTimeout"},
	{paths: []string{k8sWait}, names: []string{"PollUntil", "PollImmediateUntil"}, op: 1, ctx: -1,
		unbounded: func(args []ssa.Value) bool {
			return isNeverStop(args[2])
		}, final: true, limit: "PollUntilContextTimeout"},
	{paths: []string{k8sWait},
		names: []string{"PollUntilWithContext", "PollImmediateUntilWithContext", "PollInfiniteWithContext",
			"PollImmediateInfiniteWithContext"}, op: 2, ctx: 0, unbounded: always, final: true,
		limit: "PollUntilContextTimeout"},
	{paths: []string{k8sWait}, names: []string{"PollUntilContextCancel"}, op: 3, ctx: 0, unbounded: always, final: true,
		limit: "PollUntilContextTimeout"},
	{paths: []string{k8sWait}, names: []string{"ExponentialBackoff"}, op: 1, ctx: -1,
		unbounded: func(args []ssa.Value) bool { return stepsEndless(args[0]) }, attempts: func(args []ssa.Value) int {
			return stepsUncapped(args[0], args[1])
		}, brief: func(args []ssa.Value) bool {
			return stepsBrief(args[0])
		}, final: true, twins: []string{"ExponentialBackoffWithContext"}, limit: "fewer Steps"},
	{paths: []string{k8sWait}, names: []string{"Poll"}, op: 2, ctx: -1, unbounded: never,
		twins: []string{"PollUntilContextTimeout", "PollWithContext"}},
	{paths: []string{k8sWait}, names: []string{"PollImmediate"}, op: 2, ctx: -1, unbounded: never,
		twins: []string{"PollUntilContextTimeout", "PollImmediateWithContext"}},
	{paths: []string{k8sWait}, names: []string{"PollUntilContextTimeout"}, op: 4, ctx: 0, unbounded: never},
	{paths: []string{k8sWait}, names: []string{"PollWithContext", "PollImmediateWithContext"}, op: 3, ctx: 0,
		unbounded: never},
	{paths: []string{k8sWait}, names: []string{"ExponentialBackoffWithContext"}, op: 2, ctx: 0,
		unbounded: func(args []ssa.Value) bool { return stepsEndless(args[1]) }, attempts: func(args []ssa.Value) int {
			return stepsUncapped(args[1], args[2])
		}, final: true, limit: "fewer Steps"},
	{paths: []string{k8sRetry}, names: []string{"OnError"}, op: 2, ctx: -1, unbounded: func(args []ssa.Value) bool {
		return stepsEndless(args[0])
	}, brief: func(args []ssa.Value) bool {
		return !stepsLong(args[0])
	}, deaf: true, instead: "ExponentialBackoffWithContext of package wait", limit: "fewer Steps"},
	{paths: []string{gax}, names: []string{"Invoke"}, op: 1, ctx: 0, unbounded: func(args []ssa.Value) bool {
		return option(args[2], "WithRetry", isOfCodes) && !option(args[2], "WithTimeout", nil) && seen(args[2])
	}, limit: "WithTimeout"},
}

const avastv5 = "github.com/avast/retry-go/v5"

// avastPaths are those of the versions up to v4, which have the same functions.
var avastPaths = []string{"github.com/avast/retry-go", "github.com/avast/retry-go/v3", "github.com/avast/retry-go/v4"}

const gax = "github.com/googleapis/gax-go/v2"

func always([]ssa.Value) bool { return true }

func never([]ssa.Value) bool { return false }

// libraryOf returns what is known of the callee of a call.
func libraryOf(call *ssa.CallCommon) *library {
	fn := call.StaticCallee()
	if fn == nil {
		return nil
	}
	fn = flow.Generic(fn)
	if fn.Object() == nil || fn.Object().Pkg() == nil {
		return nil
	}
	for i, l := range libraries {
		if slices.Contains(l.names, fn.Name()) && slices.Contains(l.paths, fn.Object().Pkg().Path()) &&
			l.recv == receiverName(fn) {
			return &libraries[i]
		}
	}
	return nil
}

// twinIn returns the first twin that a version of the package has, or "".
func (l *library) twinIn(pkg *types.Package) string {
	i := slices.IndexFunc(l.twins, func(name string) bool { return pkg.Scope().Lookup(name) != nil })
	if i < 0 {
		return ""
	}
	return l.twins[i]
}

// isAble reports whether a call could be given a context, and is given none that ends.
func (l *library) isAble(args []ssa.Value) bool {
	switch {
	case l.deaf || len(l.twins) > 0:
		return true
	case l.ctx >= 0:
		return isGivenRoot(args[l.ctx])
	case l.stops == nil || l.stops(args) != nil:
		return false
	case isCenkalti(l.paths[0]):
		return cenkaltiSeen(args[1])
	}
	options, all := appended(avastOptions(args), map[ssa.Value]bool{})
	return all && !slices.ContainsFunc(options, func(v ssa.Value) bool {
		return isOption(v, "Context", nil)
	})
}

// receiverName returns the name of the type that fn is a method of, or "".
func receiverName(fn *ssa.Function) string {
	recv := fn.Signature.Recv()
	if recv == nil {
		return ""
	}
	t := types.Unalias(recv.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// cenkaltiOptionsEndless reports whether the options of a call, of which the last of a kind
// counts, set no limit, and the BackOff is none that stops by itself.
func cenkaltiOptionsEndless(args []ssa.Value) bool {
	endless := false
	option(args[2], "WithMaxElapsedTime", func(v ssa.Value) bool { endless = isZero(v); return false })
	return endless && !option(args[2], "WithMaxTries", func(v ssa.Value) bool { return !isZero(v) }) &&
		!option(args[2], "WithBackOff", func(v ssa.Value) bool { return !goesOn(v) })
}

// goesOn reports whether a BackOff of cenkalti/backoff, since v5, never stops.
func goesOn(backoff ssa.Value) bool {
	v := origin(backoff)
	return slices.ContainsFunc(cenkaltiNewPaths, func(path string) bool {
		alloc, ok := v.(*ssa.Alloc)
		if !ok {
			return isCallOf(v, path, "NewExponentialBackOff", "NewConstantBackOff")
		}
		made := alloc.Type().(*types.Pointer).Elem()
		return isNamedType(made, path, "ExponentialBackOff") || isNamedType(made, path, "ConstantBackOff") ||
			isNamedType(made, path, "ZeroBackOff")
	})
}

// isOfCodes reports whether a function returns a Retryer of gax that asks for the error
// alone.
func isOfCodes(made ssa.Value) bool {
	fn := operation(origin(made))
	if fn == nil || len(fn.Blocks) == 0 {
		return false
	}
	return !slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		return ok &&
			!(len(ret.Results) == 1 && isCallOf(origin(ret.Results[0]), gax, "OnCodes", "OnErrorFunc", "OnHTTPCodes"))
	})
}

// stepsEndless reports whether a wait.Backoff, also that of a variable of the
// package, has more Steps than anybody waits for, and no cap that ends it.
func stepsEndless(backoff ssa.Value) bool {
	steps, fields := stepsOf(backoff)
	grows := fields["Factor"] != nil &&
		constant.Compare(constant.ToFloat(fields["Factor"]), token.GTR, constant.MakeInt64(1))
	return steps >= math.MaxInt32 && (fields["Cap"] == nil || !grows)
}

// stepsBrief reports whether a wait.Backoff is known to wait for less than a second in all.
func stepsBrief(backoff ssa.Value) bool {
	sum, known := stepsSum(backoff)
	return known && sum < time.Second
}

// stepsLong reports whether a wait.Backoff is known to wait for a second and more in all.
func stepsLong(backoff ssa.Value) bool {
	sum, known := stepsSum(backoff)
	return known && sum >= time.Second
}

// stepsSum returns for how long a wait.Backoff waits in its first thousand steps, or an hour if
// that is less.
func stepsSum(backoff ssa.Value) (sum time.Duration, known bool) {
	steps, fields := stepsOf(backoff)
	number := func(field string) float64 {
		if fields[field] == nil {
			return 0
		}
		n, _ := constant.Float64Val(constant.ToFloat(fields[field]))
		return n
	}
	delay, limit, all := number("Duration"), number("Cap"), 0.0
	if delay == 0 {
		return 0, false
	}
	// No wait follows the last step.
	for range min(steps-1, 1000) {
		all += delay * (1 + max(number("Jitter"), 0))
		if factor := number("Factor"); factor > 0 {
			delay *= factor
		}
		if limit > 0 && delay > limit {
			break // no Steps are left then
		}
	}
	return time.Duration(min(all, float64(time.Hour))), true
}

// stepsUncapped returns how often a condition is asked that answers each failure with no
// error, or 0 if that is not known, or a cap may end it.
func stepsUncapped(backoff, condition ssa.Value) int {
	fn := operation(origin(condition))
	if fn == nil || slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		return ok && (len(ret.Results) != 2 || !isNilConst(ret.Results[1]))
	}) {
		return 0
	}
	steps, fields := stepsOf(backoff)
	if fields["Cap"] != nil {
		return 0
	}
	return int(min(steps, math.MaxInt32))
}

func isNilConst(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

// stepsOf returns the Steps of a wait.Backoff, also that of a variable of the package, or of
// a function that returns it, and all that is known of its fields.
func stepsOf(backoff ssa.Value) (steps int64, fields map[string]constant.Value) {
	if made, ok := backoff.(*ssa.Call); ok {
		if fn := made.Call.StaticCallee(); fn != nil && len(fn.Blocks) == 1 {
			if ret, ok := fn.Blocks[0].Instrs[len(fn.Blocks[0].Instrs)-1].(*ssa.Return); ok && len(ret.Results) == 1 {
				backoff = ret.Results[0]
			}
		}
	}
	load, ok := backoff.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return 0, nil
	}
	var all []*ssa.Function
	if g, ok := load.X.(*ssa.Global); ok && g.Pkg == load.Parent().Pkg {
		all = functionsOf(g.Pkg)
	}
	fields, ok = constantFields(all, load.X)
	if !ok || fields["Steps"] == nil {
		return 0, nil
	}
	steps, _ = constant.Int64Val(constant.ToInt(fields["Steps"]))
	return steps, fields
}

func sethvargoEndless(args []ssa.Value) bool {
	b := origin(args[1])
	for isCallOf(b, sethvargo, "WithJitter", "WithJitterPercent", "WithCappedDuration") {
		b = origin(b.(*ssa.Call).Call.Args[1])
	}
	return isCallOf(b, sethvargo, "NewConstant", "NewExponential", "NewFibonacci")
}

// cenkalti is the path of what became of it, up to v4 with the same functions. Its first
// versions have the path cenk as well.
const (
	cenkalti = "github.com/cenkalti/backoff"
	cenk     = "github.com/cenk/backoff"
)

// cenkaltiPaths are those of the versions up to v4, cenkaltiNewPaths those of the later.
var (
	cenkaltiPaths    = []string{cenkalti, cenk, cenkalti + "/v3", cenkalti + "/v4"}
	cenkaltiNewPaths = []string{cenkalti + "/v5", cenkalti + "/v6", cenkalti + "/v7"}
)

func isCenkaltiCall(v ssa.Value, names ...string) bool {
	return slices.ContainsFunc(cenkaltiPaths, func(path string) bool { return isCallOf(v, path, names...) })
}

// cenkaltiEndless reports whether a BackOff, made here or by a function of the package,
// never stops: a constant one, or an exponential one whose MaxElapsedTime is set to 0.
func cenkaltiEndless(args []ssa.Value) bool {
	b := origin(args[1])
	for isCenkaltiCall(b, "WithContext") || isUnlimited(b) {
		b = origin(b.(*ssa.Call).Call.Args[0])
	}
	if made := madeBy(b); made != nil && !setsField(b, "MaxElapsedTime", nil) {
		b = made
	}
	switch {
	case isCenkaltiCall(b, "NewConstantBackOff"):
		return true
	case isCenkaltiCall(b, "NewExponentialBackOff"):
		call := b.(*ssa.Call)
		return setsField(call, "MaxElapsedTime", isZero) ||
			len(call.Call.Args) > 0 && option(call.Call.Args[0], "WithMaxElapsedTime", isZero)
	}
	alloc, ok := b.(*ssa.Alloc)
	if !ok {
		return false
	}
	made := alloc.Type().(*types.Pointer).Elem()
	of := func(name string) bool {
		return slices.ContainsFunc(cenkaltiPaths, func(path string) bool { return isNamedType(made, path, name) })
	}
	return of("ZeroBackOff") || of("ConstantBackOff") ||
		of("ExponentialBackOff") && setsField(alloc, "InitialInterval", nil) && leavesOut(alloc, "MaxElapsedTime")
}

// isUnlimited reports whether v gives a BackOff a limit of 0 retries, which up to v3 meant
// none.
func isUnlimited(v ssa.Value) bool {
	for _, path := range cenkaltiPaths[:3] {
		if isCallOf(v, path, "WithMaxRetries") {
			return isZero(v.(*ssa.Call).Call.Args[1])
		}
	}
	return false
}

// isNeverStop reports whether a channel that stops a poll is never closed.
func isNeverStop(stop ssa.Value) bool {
	switch v := origin(stop).(type) {
	case *ssa.Const:
		return v.IsNil()
	case *ssa.UnOp:
		never, ok := v.X.(*ssa.Global)
		return ok && never.Name() == "NeverStop" && never.Pkg.Pkg.Path() == k8sWait
	}
	return false
}

// madeBy returns what a function of this package, which v is a call of, returns in the one
// place where it returns, or nil.
func madeBy(v ssa.Value) ssa.Value {
	call, ok := v.(*ssa.Call)
	if !ok || call.Call.StaticCallee() == nil {
		return nil
	}
	var made ssa.Value
	for _, b := range call.Call.StaticCallee().Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		if made != nil || len(ret.Results) != 1 {
			return nil
		}
		made = origin(ret.Results[0])
	}
	return made
}

// leavesOut reports whether a literal has no value for a field, and nobody is given it
// who could set that, but the library as an interface.
func leavesOut(literal *ssa.Alloc, field string) bool {
	return !slices.ContainsFunc(*literal.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.FieldAddr:
			return fieldName(ref) == field
		case *ssa.MakeInterface, *ssa.DebugRef:
			return false
		case *ssa.Call:
			return ref.Call.Signature().Recv() == nil // its own methods set no limit
		}
		return true
	})
}

func cenkaltiContext(args []ssa.Value) ssa.Value {
	b := origin(args[1])
	for isCenkaltiCall(b, "WithMaxRetries") {
		b = origin(b.(*ssa.Call).Call.Args[0])
	}
	if isCenkaltiCall(b, "WithContext") {
		return b.(*ssa.Call).Call.Args[1]
	}
	return nil
}

// cenkaltiAttempts returns how often a call with WithMaxRetries tries at most.
func cenkaltiAttempts(args []ssa.Value) int {
	b := origin(args[1])
	for isCenkaltiCall(b, "WithContext") {
		b = origin(b.(*ssa.Call).Call.Args[0])
	}
	if !isCenkaltiCall(b, "WithMaxRetries") || isUnlimited(b) {
		return 0
	}
	if retries := numberOf(b.(*ssa.Call).Call.Args[1]); retries > 0 {
		return retries + 1
	}
	return 0
}

// cenkaltiTries is the same of the options since v5.
func cenkaltiTries(args []ssa.Value) (n int) {
	option(args[2], "WithMaxTries", func(v ssa.Value) bool { n = numberOf(v); return false })
	return n
}

// avastAttempts returns how often a call tries at most, unless it asks which error it was:
// without an option ten times.
func avastAttempts(args []ssa.Value) (n int) {
	options := avastOptions(args)
	if option(options, "RetryIf", nil) || option(options, "AttemptsForError", nil) ||
		option(options, "UntilSucceeded", nil) {
		return 0
	}
	if option(options, "Attempts", func(v ssa.Value) bool { n = numberOf(v); return true }) {
		return n
	}
	if options == nil || !seen(options) {
		return 0
	}
	return 10
}

// numberOf returns a constant, or 0 if a value is none, or more than anybody counts to.
func numberOf(v ssa.Value) int {
	c, ok := origin(v).(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return 0
	}
	n, exact := constant.Int64Val(c.Value)
	if !exact || n < 0 || n > 1000 {
		return 0
	}
	return int(n)
}

// seen reports whether all options of a call are written where it is made.
func seen(options ssa.Value) bool {
	if c, ok := options.(*ssa.Const); ok {
		return c.IsNil()
	}
	list := elements(options)
	return len(list) > 0 && !slices.ContainsFunc(list, func(v ssa.Value) bool {
		_, made := origin(v).(*ssa.Call)
		return !made
	})
}

func avastEndless(args []ssa.Value) bool {
	options := avastOptions(args)
	for _, name := range []string{"RetryIf", "AttemptsForError", "WithThrottle", "WithFixedTokenBucketThrottle"} {
		if option(options, name, nil) {
			return false // whatever that asks
		}
	}
	return option(options, "Attempts", isEndlessNumber) || option(options, "UntilSucceeded", nil)
}

// isEndlessNumber reports whether so many attempts have no end that anybody sees: 0, which
// means that, or as many as a number of 32 bits can say.
func isEndlessNumber(v ssa.Value) bool {
	n, ok := v.(*ssa.Const)
	return isZero(v) ||
		ok && n.Value != nil && n.Value.Kind() == constant.Int &&
			constant.Compare(n.Value, token.GEQ, constant.MakeInt64(math.MaxInt32))
}

func avastContext(args []ssa.Value) (ctx ssa.Value) {
	option(avastOptions(args), "Context", func(v ssa.Value) bool { ctx = v; return true })
	return ctx
}

// avastOptions returns the options of a call: its own, or, since v5, those of
// the call that made what it is a method of, or nil.
func avastOptions(args []ssa.Value) ssa.Value {
	if _, isPointer := args[0].Type().(*types.Pointer); !isPointer {
		return args[1]
	}
	if made := origin(args[0]); isCallOf(made, avastv5, "New", "NewWithData") {
		return made.(*ssa.Call).Call.Args[0]
	}
	return nil
}

// option reports whether one of the options of a call comes from the named
// function of a retry library, with a first argument that is as wanted.
func option(options ssa.Value, name string, wanted func(ssa.Value) bool) bool {
	return slices.ContainsFunc(elements(options), func(v ssa.Value) bool { return isOption(v, name, wanted) })
}

// isOption reports whether an option is what option looks for.
func isOption(v ssa.Value, name string, wanted func(ssa.Value) bool) bool {
	call, ok := origin(v).(*ssa.Call)
	if !ok {
		return false
	}
	fn := call.Call.StaticCallee()
	return fn != nil && fn.Name() == name && isOfLibrary(fn) &&
		(wanted == nil || len(call.Call.Args) > 0 && wanted(call.Call.Args[0]))
}

// appended returns what is put into a slice of options, also step by step and under
// conditions, and whether all of that is seen to be made by calls.
func appended(options ssa.Value, known map[ssa.Value]bool) (list []ssa.Value, all bool) {
	if options == nil {
		return nil, false
	}
	options = origin(options)
	if known[options] {
		return nil, true
	}
	known[options] = true
	var parts []ssa.Value
	switch v := options.(type) {
	case *ssa.Const:
		return nil, v.IsNil()
	case *ssa.Slice:
		_, local := v.X.(*ssa.Alloc)
		list = elements(v)
		return list, seen(v) || local && len(list) == 0
	case *ssa.Phi:
		parts = v.Edges
	case *ssa.Call:
		if builtin, ok := v.Call.Value.(*ssa.Builtin); !ok || builtin.Name() != "append" {
			return nil, false
		}
		parts = v.Call.Args
	default:
		return nil, false
	}
	for _, part := range parts {
		more, all := appended(part, known)
		if !all {
			return nil, false
		}
		list = append(list, more...)
	}
	return list, true
}

// isOfLibrary reports whether a function is one of a library that takes options.
func isOfLibrary(fn *ssa.Function) bool {
	fn = flow.Generic(fn)
	return fn.Object() != nil && fn.Object().Pkg() != nil && slices.Contains(optionPaths, fn.Object().Pkg().Path())
}

var optionPaths = slices.Concat(cenkaltiPaths, cenkaltiNewPaths, avastPaths, []string{avastv5, gax})

// elements returns what is put into a slice of variadic arguments.
func elements(v ssa.Value) (found []ssa.Value) {
	slice, ok := v.(*ssa.Slice)
	if !ok || slice.X.Referrers() == nil {
		return nil // not of here, or an array of the package
	}
	for _, ref := range *slice.X.Referrers() {
		if at, ok := ref.(*ssa.IndexAddr); ok {
			for _, use := range *at.Referrers() {
				if store, ok := use.(*ssa.Store); ok {
					found = append(found, store.Val)
				}
			}
		}
	}
	return found
}

// origin returns what a value was before it was converted or kept in a variable
// that is assigned to once.
func origin(v ssa.Value) ssa.Value {
	for range 64 { // a variable may be set to itself
		switch x := v.(type) {
		case *ssa.MakeInterface:
			v = x.X
		case *ssa.ChangeInterface:
			v = x.X
		case *ssa.ChangeType:
			v = x.X
		case *ssa.UnOp:
			alloc, ok := x.X.(*ssa.Alloc)
			if !ok || x.Op != token.MUL {
				return v
			}
			only := flow.OnlyStored(alloc)
			if only == nil {
				return v
			}
			v = only
		default:
			return v
		}
	}
	return v
}

// setsField reports whether a field of what v points to is assigned a value
// that is as wanted, and no other.
func setsField(v ssa.Value, name string, wanted func(ssa.Value) bool) bool {
	if v.Referrers() == nil {
		return false // nil, or of the package
	}
	set := false
	for _, ref := range *v.Referrers() {
		at, ok := ref.(*ssa.FieldAddr)
		if !ok || fieldName(at) != name {
			continue
		}
		for _, use := range *at.Referrers() {
			if store, ok := use.(*ssa.Store); ok {
				if wanted != nil && !wanted(store.Val) {
					return false
				}
				set = true
			}
		}
	}
	return set
}

func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	if load, isLoad := v.(*ssa.UnOp); isLoad && load.Op == token.MUL {
		return isZeroVariable(load.X)
	}
	return ok && isZeroConstant(c.Value)
}

// isZeroConstant reports whether a constant is the number 0.
func isZeroConstant(v constant.Value) bool {
	return v != nil && (v.Kind() == constant.Int || v.Kind() == constant.Float) && constant.Sign(v) == 0
}

// isZeroVariable reports whether v is a variable of this package only, to which that
// assigns nothing but 0.
func isZeroVariable(v ssa.Value) bool {
	variable, ok := v.(*ssa.Global)
	if !ok || token.IsExported(variable.Name()) {
		return false
	}
	return !slices.ContainsFunc(functionsOf(variable.Pkg), func(fn *ssa.Function) bool {
		return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
			return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool { return !keepsZero(instr, v) })
		})
	})
}

// keepsZero reports whether an instruction does nothing with a variable but to load it, or to
// store 0 there.
func keepsZero(instr ssa.Instruction, variable ssa.Value) bool {
	if store, ok := instr.(*ssa.Store); ok && store.Addr == variable {
		c, ok := store.Val.(*ssa.Const)
		return ok && isZeroConstant(c.Value)
	}
	if load, ok := instr.(*ssa.UnOp); ok && load.Op == token.MUL {
		return true
	}
	return !slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool { return *op == variable })
}

// isCallOf reports whether v is a call of a package's function with one of the
// names.
func isCallOf(v ssa.Value, path string, names ...string) bool {
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	fn := call.Call.StaticCallee()
	fn = flow.Generic(fn)
	if fn == nil || fn.Object() == nil || fn.Object().Pkg() == nil || fn.Object().Pkg().Path() != path {
		return false
	}
	return slices.Contains(names, fn.Name())
}

func isNamedType(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}
