package lint

import (
	"go/constant"
	"go/token"
	"slices"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

const (
	k8sWait  = "k8s.io/apimachinery/pkg/util/wait"
	k8sRetry = "k8s.io/client-go/util/retry"
)

// ContradictoryCaps reports RL209.
var ContradictoryCaps = newRule("contradictorycaps", runContradictoryCaps, []string{"RL209"}, ssaForm)

func runContradictoryCaps(pass *analysis.Pass, r *report) {
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for instr := range flow.Instructions(fn.Blocks) {
			file := handwritten(pass, instr.Pos())
			if file == nil {
				continue
			}
			call, isCall := instr.(*ssa.Call)
			pos, end := instr.Pos(), token.NoPos
			if isCall {
				pos, end = callStart(file, instr.Pos()), instr.Pos()
			}
			if text, evidence := contradiction(instr); text != "" {
				r.at(pos, end, evidence, "RL209", "%s", text)
			}
			if !isCall {
				continue
			}
			if made, steps, ok := truncated(call); ok {
				r.at(pos, end, Library, "RL209",
					"this backoff ends at Cap, after %d of its %s: raise Cap, or lower Steps", made, stepsText(steps))
			}
			if text := ignoredAttempts(call); text != "" {
				r.at(pos, end, Library, "RL209", "%s", text)
			}
			if interval, timeout, ok := rarePoll(call); ok {
				r.at(pos, end, Library, "RL209",
					"the interval %v is not below the timeout %v, so the condition is checked at most once", interval, timeout)
			}
		}
	}
}

// rarePoll returns the constant interval and timeout of a poll, if that ends before the
// interval does.
func rarePoll(call *ssa.Call) (interval, timeout time.Duration, ok bool) {
	if !isCallOf(call, k8sWait, "PollUntilContextTimeout") {
		return 0, 0, false
	}
	interval, ok = durationOf(call.Call.Args[1])
	timeout, bounded := durationOf(call.Call.Args[2])
	return interval, timeout, ok && bounded && timeout > 0 && interval >= timeout
}

func stepsText(steps int64) string {
	if steps >= 1<<31-1 {
		return "unlimited Steps"
	}
	return constant.MakeInt64(steps).String() + " Steps"
}

// truncated returns how many attempts a wait.Backoff makes, and how many it is
// to make, if its cap ends it before.
func truncated(call *ssa.Call) (made int, steps int64, ok bool) {
	if !isCallOf(call, k8sWait, "ExponentialBackoff", "ExponentialBackoffWithContext") &&
		!isCallOf(call, k8sRetry, "OnError", "RetryOnConflict") {
		return 0, 0, false
	}
	i := slices.IndexFunc(call.Call.Args, func(arg ssa.Value) bool { return isNamedType(arg.Type(), k8sWait, "Backoff") })
	if i < 0 || maySetElsewhere(call.Call.Args[i]) {
		return 0, 0, false
	}
	p := &plan{Retrier: &vocab.Retrier{}, seen: map[ssa.Value]bool{}}
	p.read(call.Call.Args[i])
	delay, limit, factor := p.number("Duration"), p.number("Cap"), p.number("Factor")
	steps = int64(p.number("Steps"))
	if steps <= 1 || delay <= 0 || limit <= 0 || factor <= 1 {
		return 0, 0, false
	}
	made = attemptsBelow(delay, limit, factor, steps)
	return made, steps, int64(made) < steps
}

// maySetElsewhere reports whether v is the value of a variable that other packages may set.
func maySetElsewhere(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	g, ok := load.X.(*ssa.Global)
	return ok && (g.Object() == nil || g.Object().Exported())
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
		for instr := range flow.Instructions(fn.Blocks) {
			if slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool { return *op == v }) {
				uses = append(uses, instr)
			}
		}
	}
	return uses
}
