package lint

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

const (
	k8sWait  = "k8s.io/apimachinery/pkg/util/wait"
	k8sRetry = "k8s.io/client-go/util/retry"
	goRedis  = "github.com/redis/go-redis/v9"
	goResty  = "github.com/go-resty/resty/v2"
)

// ContradictoryCaps reports RL209.
var ContradictoryCaps = &analysis.Analyzer{
	Name:       "contradictorycaps",
	Doc:        docOf("contradictorycaps", "RL209"),
	URL:        pageOf("RL209"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	ResultType: used,
	Run:        runContradictoryCaps,
}

func runContradictoryCaps(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	all := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	for _, fn := range all {
		for _, call := range callsOf(fn) {
			if call.Call.StaticCallee() == nil || inTest(pass, call.Pos()) {
				continue
			}
			file := fileOf(pass, call.Pos())
			if file == nil || ast.IsGenerated(file) {
				continue
			}
			pos := callStart(file, call.Pos())
			if made, steps, ok := truncated(all, call); ok {
				r.at(pos, call.Pos(), Named, "RL209",
					"this backoff ends at Cap, after %d of its %s: raise Cap, or lower Steps", made,
					stepsText(steps))
			}
			if isCallOf(call, k8sWait, "PollUntilContextTimeout") {
				interval, ok1 := durationOf(call.Call.Args[1])
				timeout, ok2 := durationOf(call.Call.Args[2])
				if ok1 && ok2 && timeout > 0 && interval >= timeout {
					r.at(pos, call.Pos(), Library, "RL209",
						"the interval %v is not below the timeout %v, so the condition is checked at most once", interval,
						timeout)
				}
			}
			if first, most, name, ok := firstAboveMost(call); ok {
				r.at(pos, call.Pos(), Named, "RL209",
					"the first delay %v is above %s, which is %v, so delays never grow: lower it, or raise the other", first, name,
					most)
			}
		}
	}
	return r.used, nil
}

func stepsText(steps int64) string {
	if steps >= 1<<31-1 {
		return "unlimited Steps"
	}
	return constant.MakeInt64(steps).String() + " Steps"
}

// truncated returns how many attempts a wait.Backoff makes, and how many it is
// to make, if its cap ends it before.
func truncated(all []*ssa.Function, call *ssa.Call) (made int, steps int64, ok bool) {
	var backoff ssa.Value
	for _, arg := range call.Call.Args {
		if isNamedType(arg.Type(), k8sWait, "Backoff") {
			backoff = arg
		}
	}
	if backoff == nil ||
		!isCallOf(call, k8sWait, "ExponentialBackoff", "ExponentialBackoffWithContext") &&
			!isCallOf(call, k8sRetry, "OnError", "RetryOnConflict") {
		return 0, 0, false
	}
	load, ok := backoff.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return 0, 0, false
	}
	if g, ok := load.X.(*ssa.Global); ok && (g.Object() == nil || g.Object().Exported()) {
		return 0, 0, false // others may set it
	}
	fields, ok := constantFields(all, load.X)
	if !ok || fields["Steps"] == nil || fields["Duration"] == nil || fields["Factor"] == nil || fields["Cap"] == nil {
		return 0, 0, false
	}
	steps, exact := constant.Int64Val(constant.ToInt(fields["Steps"]))
	duration, exact2 := constant.Int64Val(constant.ToInt(fields["Duration"]))
	limit, exact3 := constant.Int64Val(constant.ToInt(fields["Cap"]))
	factor, _ := constant.Float64Val(constant.ToFloat(fields["Factor"]))
	if !exact || !exact2 || !exact3 || steps <= 1 || duration <= 0 || limit <= 0 || factor <= 1 {
		return 0, 0, false
	}
	made = attemptsBelow(float64(duration), float64(limit), factor, steps)
	return made, steps, int64(made) < steps
}

// attemptsBelow returns how many attempts there are until the next delay would
// exceed the cap.
func attemptsBelow(delay, limit, factor float64, steps int64) (made int) {
	for steps > 0 {
		made++
		if steps--; steps == 0 {
			break
		}
		if delay *= factor; delay > limit {
			break
		}
	}
	return made
}

// constantFields returns the fields that are set to constants in a variable, of
// a function or of the package, if nothing else can be in them.
func constantFields(all []*ssa.Function, addr ssa.Value) (map[string]constant.Value, bool) {
	return constantFieldsWithin(all, addr, 8)
}

func constantFieldsWithin(all []*ssa.Function, addr ssa.Value, depth int) (map[string]constant.Value, bool) {
	if depth == 0 {
		return nil, false
	}
	var uses []ssa.Instruction
	switch addr := addr.(type) {
	case *ssa.Alloc:
		uses = *addr.Referrers()
	case *ssa.Global:
		uses = usesOf(all, addr)
	default:
		return nil, false
	}
	fields := map[string]constant.Value{}
	for _, use := range uses {
		ok := false
		switch use := use.(type) {
		case *ssa.UnOp, *ssa.DebugRef:
			ok = true
		case *ssa.FieldAddr:
			ok = setByConstant(fields, use)
		case *ssa.Store:
			// A literal is built elsewhere and copied as a whole.
			literal, isLoad := use.Val.(*ssa.UnOp)
			if isLoad && len(fields) == 0 && use.Addr == addr {
				fields, ok = constantFieldsWithin(all, literal.X, depth-1)
			}
		}
		if !ok {
			return nil, false
		}
	}
	return fields, true
}

// setByConstant notes what a field is set to. It reports whether that is a
// constant, and the only one.
func setByConstant(fields map[string]constant.Value, f *ssa.FieldAddr) bool {
	for _, ref := range *f.Referrers() {
		switch ref := ref.(type) {
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.Store:
			c, isConst := ref.Val.(*ssa.Const)
			if _, again := fields[fieldName(f)]; again || !isConst || c.Value == nil {
				return false
			}
			fields[fieldName(f)] = c.Value
		default:
			return false
		}
	}
	return true
}

// usesOf returns the instructions that use a variable of the package.
func usesOf(all []*ssa.Function, v *ssa.Global) (uses []ssa.Instruction) {
	for _, fn := range all {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool { return *op == v }) {
					uses = append(uses, instr)
				}
			}
		}
	}
	return uses
}

// firstAboveMost returns the first delay of a retry and the greatest, by its
// name, if they are the wrong way around.
func firstAboveMost(call *ssa.Call) (first, most time.Duration, name string, ok bool) {
	fn := call.Call.StaticCallee()
	if fn.Object() == nil || fn.Object().Pkg() == nil {
		return 0, 0, "", false
	}
	if isCallOf(call, goRedis, "NewClient", "NewClusterClient", "NewFailoverClient", "NewUniversalClient", "NewRing") {
		// 0 is a default, and -1 no backoff.
		options := call.Call.Args[0]
		if literal, made := options.(*ssa.Alloc); made {
			first, ok1 := fieldOr(literal, "MinRetryBackoff", 0)
			most, ok2 := fieldOr(literal, "MaxRetryBackoff", 0)
			return first, most, "MaxRetryBackoff", ok1 && ok2 && most > 0 && first > most
		}
	}
	if isCallOf(call, goResty, "New", "NewWithClient") {
		first, ok1 := setOn(call, "SetRetryWaitTime", 100*time.Millisecond)
		most, ok2 := setOn(call, "SetRetryMaxWaitTime", 2*time.Second)
		return first, most, "RetryMaxWaitTime", ok1 && ok2 && most > 0 && first > most
	}
	switch path := fn.Object().Pkg().Path(); {
	case path == retryablehttp && fn.Name() == "NewClient":
		first, ok1 := fieldOr(call, "RetryWaitMin", time.Second)
		most, ok2 := fieldOr(call, "RetryWaitMax", 30*time.Second)
		// Other backoffs read the two in their own way.
		return first, most, "RetryWaitMax", ok1 && ok2 && first > most && !setsField(call, "Backoff", nil)
	case isCenkalti(path) && fn.Name() == "NewExponentialBackOff":
		first, ok1 := fieldOr(call, "InitialInterval", 500*time.Millisecond)
		most, ok2 := fieldOr(call, "MaxInterval", time.Minute)
		for _, arg := range call.Call.Args {
			option(arg, "WithInitialInterval", func(v ssa.Value) bool { first, ok1 = durationOf(v); return true })
			option(arg, "WithMaxInterval", func(v ssa.Value) bool { most, ok2 = durationOf(v); return true })
		}
		return first, most, "MaxInterval", ok1 && ok2 && first > most
	}
	if l := libraryOf(&call.Call); l != nil && l.stops != nil && !isCenkalti(l.paths[0]) {
		var ok1, ok2 bool
		option(avastOptions(call.Call.Args), "Delay", func(v ssa.Value) bool { first, ok1 = durationOf(v); return true })
		option(avastOptions(call.Call.Args), "MaxDelay", func(v ssa.Value) bool { most, ok2 = durationOf(v); return true })
		return first, most, "MaxDelay", ok1 && ok2 && most > 0 && first > most
	}
	return 0, 0, "", false
}

// setOn returns the constant that a method sets in a client whose methods return the client, or
// what it is if nothing sets it.
func setOn(client *ssa.Call, setter string, unset time.Duration) (d time.Duration, ok bool) {
	d, ok = unset, true
	set := 0
	for same := []*ssa.Call{client}; len(same) > 0; same = same[1:] {
		for _, ref := range *same[0].Referrers() {
			switch ref := ref.(type) {
			case *ssa.Call:
				fn := ref.Call.StaticCallee()
				if fn == nil || fn.Signature.Recv() == nil || ref.Call.Args[0] != same[0] {
					return 0, false
				}
				if fn.Name() == setter {
					d, ok = durationOf(ref.Call.Args[1])
					set++
				}
				if types.Identical(ref.Type(), client.Type()) {
					same = append(same, ref)
				}
			case *ssa.Return, *ssa.DebugRef:
			default:
				return 0, false // others may set it
			}
		}
	}
	return d, ok && set <= 1
}

// maySet reports whether a call is of a function of this package, or of a function value:
// one that may set the fields of what it is given.
func maySet(call *ssa.Call) bool {
	if call.Call.IsInvoke() {
		return false
	}
	callee := call.Call.StaticCallee()
	return callee == nil || len(callee.Blocks) > 0
}

// fieldOr returns the constant that a field of what v points to is set to, or
// what it is if nothing sets it.
func fieldOr(v ssa.Value, name string, unset time.Duration) (d time.Duration, ok bool) {
	d, ok = unset, true
	set := 0
	for _, ref := range *v.Referrers() {
		if call, isCall := ref.(*ssa.Call); isCall && maySet(call) {
			return 0, false
		}
		at, isField := ref.(*ssa.FieldAddr)
		if !isField || fieldName(at) != name {
			continue
		}
		for _, use := range *at.Referrers() {
			if store, isStore := use.(*ssa.Store); isStore {
				d, ok = durationOf(store.Val)
				set++
			}
		}
	}
	return d, ok && set <= 1
}
