package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"
)

// shortest is the shortest wait that is worth to be cut short.
const shortest = 250 * time.Millisecond

// isPlainWait reports whether an instruction waits for a time that is long, or
// not known, and for nothing else.
func isPlainWait(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Call:
		// A clock that tests may replace sleeps as well. What is seen to select may look
		// at a context.
		d := sleeps(instr)
		return d != nil && !isShort(d) && !selects(instr.Common().StaticCallee()) ||
			onlySleeps(instr.Common().StaticCallee()) || isNamedSleep(instr)
	case *ssa.UnOp:
		if instr.Op != token.ARROW {
			return false
		}
		made, ok := instr.X.(*ssa.Call)
		if load, isLoad := instr.X.(*ssa.UnOp); isLoad {
			made, ok = root(load).(*ssa.Call) // timer.C
		}
		if !ok || isDrained(instr.Block()) || !isTimer(made) {
			return false
		}
		given := argumentsOf(made.Common())
		return len(given) == 0 || !isShort(given[0]) || isReset(made)
	case *ssa.Select:
		return len(instr.States) > 0 && instr.Blocking && !slices.ContainsFunc(instr.States, func(s *ssa.SelectState) bool {
			timer := timerOf(s.Chan)
			return timer == nil || isShort(timer.Common().Args[0])
		})
	}
	return false
}

// isNamedSleep reports whether a call of what is not seen into sleeps by its name: it returns
// nothing, and is given nothing but numbers, of which none is a short time.
func isNamedSleep(call *ssa.Call) bool {
	common := call.Common()
	fn := common.StaticCallee()
	if sleeps(call) != nil || fn != nil && len(fn.Blocks) > 0 || common.Signature().Results().Len() > 0 {
		return false // it is known for how long, or what else is done
	}
	name := nameOf(call)
	if fn == nil && !common.IsInvoke() {
		name = nameOfValue(common.Value)
	}
	return namedSleep.MatchString(name) && !slices.ContainsFunc(argumentsOf(common), func(arg ssa.Value) bool {
		basic, ok := arg.Type().Underlying().(*types.Basic)
		return !ok || basic.Info()&types.IsNumeric == 0 || isDuration(arg.Type()) && isShort(arg)
	})
}

var namedSleep = regexp.MustCompile(`^(?i:sleep|(retry)?(delay|backoff)_?(fn|func))([A-Z]|$)|[a-z]Sleep$`)

// onlySleeps reports whether a function of this package does nothing but to sleep, and to
// tell of it: for how long, it computes.
func onlySleeps(fn *ssa.Function) bool {
	if fn == nil || len(fn.Blocks) == 0 || fn.Signature.Results().Len() > 0 {
		return false
	}
	sleeping := false
	return !anyInstr(fn, func(instr ssa.Instruction) bool {
		switch instr := instr.(type) {
		case *ssa.Call:
			if d := sleeps(instr); d != nil {
				sleeping = sleeping || !isShort(d)
				return false
			}
			return !isBuiltin(instr) && !isTold(instr) && !isRebuilt(instr)
		case *ssa.Select, *ssa.Send, *ssa.MapUpdate, *ssa.Go, *ssa.Defer:
			return true
		case *ssa.Store:
			_, local := root(instr.Addr).(*ssa.Alloc)
			return !local
		case *ssa.UnOp:
			return instr.Op == token.ARROW
		}
		return false
	}) && sleeping
}

// isTimer reports whether a call starts a timer or ticker: that of the package time, or
// one of another package under the same name, which is told how it is to tick.
func isTimer(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	if isNamed(fn, "time", "After", "Tick", "NewTimer", "NewTicker") || isAfter(call) {
		return true
	}
	if fn == nil || fn.Name() != "NewTicker" || len(call.Common().Args) == 0 ||
		slices.ContainsFunc(call.Common().Args, isMadeWithContext) {
		return false
	}
	p, ok := call.Type().Underlying().(*types.Pointer)
	return ok && strings.HasSuffix(p.Elem().String(), ".Ticker")
}

// isMadeWithContext reports whether an argument is what a function made of a context.
func isMadeWithContext(arg ssa.Value) bool {
	if conv, ok := arg.(*ssa.ChangeInterface); ok {
		arg = conv.X
	}
	made, ok := arg.(*ssa.Call)
	return ok && GivenContext(made) != nil
}

// isAfter reports whether a call of a clock, which tests may replace, returns a channel
// that tells when a time has passed.
func isAfter(call *ssa.Call) bool {
	sig := call.Common().Signature()
	if nameOf(call) != "After" || sig.Params().Len() != 1 || !isDuration(sig.Params().At(0).Type()) ||
		sig.Results().Len() != 1 {
		return false
	}
	ch, ok := sig.Results().At(0).Type().Underlying().(*types.Chan)
	return ok && types.TypeString(ch.Elem(), nil) == "time.Time"
}

// isReset reports whether a timer is set to another time later on, which is not short.
func isReset(timer *ssa.Call) bool {
	return slices.ContainsFunc(*timer.Referrers(), func(ref ssa.Instruction) bool {
		call, ok := ref.(*ssa.Call)
		return ok && isNamed(call.Common().StaticCallee(), "time", "Reset") && len(call.Common().Args) == 2 &&
			!isShort(call.Common().Args[1])
	})
}

// isDrained reports whether block b only runs where a timer could not be stopped: it
// has run out, and its channel is only emptied.
func isDrained(b *ssa.BasicBlock) bool {
	at := b.Idom()
	if at == nil {
		return false
	}
	branch, ok := terminator(at).(*ssa.If)
	if !ok {
		return false
	}
	stopped, ok := branch.Cond.(*ssa.Call)
	return ok && nameOf(stopped) == "Stop" && at.Succs[1] == b
}

// selects reports whether a function of this package waits for one of several things.
func selects(fn *ssa.Function) bool {
	return fn != nil && anyInstr(fn, func(instr ssa.Instruction) bool {
		_, ok := instr.(*ssa.Select)
		return ok
	})
}

func isShort(d ssa.Value) bool {
	most, ok := greatest(d)
	return ok && most < shortest
}

// greatest returns the longest that a delay can be: a constant, or a random part of one.
func greatest(d ssa.Value) (most time.Duration, known bool) {
	switch d := d.(type) {
	case *ssa.Const:
		if d.Value == nil {
			return 0, false
		}
		n, exact := constant.Int64Val(constant.ToInt(d.Value))
		return time.Duration(n), exact
	case *ssa.Convert:
		return greatest(d.X)
	case *ssa.ChangeType:
		return greatest(d.X)
	case *ssa.BinOp:
		x, ok1 := greatest(d.X)
		y, ok2 := greatest(d.Y)
		switch {
		case !ok1 || !ok2 || x < 0 || y < 0:
			return 0, false
		case d.Op == token.MUL && (y == 0 || x <= math.MaxInt64/y):
			return x * y, true
		case d.Op == token.ADD && x <= math.MaxInt64-y:
			return x + y, true
		}
	case *ssa.Call:
		fn := d.Common().StaticCallee()
		if args := d.Common().Args; len(args) > 0 &&
			(isNamed(fn, "math/rand", "Intn", "Int63n", "Int31n") ||
				isNamed(fn, "math/rand/v2", "IntN", "Int64N", "Int32N", "N")) {
			return greatest(args[len(args)-1])
		}
		if most, known := greatestJitter(d); known {
			return most, true
		}
		if isNamed(fn, "math/rand", "Float64", "Float32") || isNamed(fn, "math/rand/v2", "Float64", "Float32") {
			return 1, true // at most, of what it is multiplied with
		}
	}
	return 0, false
}

// greatestJitter is greatest of a delay to which the package wait of Kubernetes adds a random
// part: at most so many times as much.
func greatestJitter(call *ssa.Call) (most time.Duration, known bool) {
	args := call.Common().Args
	if !isNamed(call.Common().StaticCallee(), "k8s.io/apimachinery/pkg/util/wait", "Jitter") || len(args) != 2 {
		return 0, false
	}
	factor, ok := args[1].(*ssa.Const)
	base, known := greatest(args[0])
	if !ok || !known || factor.Value == nil || constant.ToFloat(factor.Value).Kind() != constant.Float ||
		factor.Float64() <= 0 {
		return 0, false
	}
	return time.Duration(float64(base) * (1 + factor.Float64())), true
}

// sleeps returns for how long a call sleeps and does nothing else, or nil: that
// of the package time, and of clocks, under the same name.
func sleeps(call *ssa.Call) ssa.Value {
	common := call.Common()
	sig := common.Signature()
	if len(common.Args) == 0 || sig.Results().Len() != 0 || sig.Params().Len() != 1 ||
		!isDuration(sig.Params().At(0).Type()) {
		return nil
	}
	name := nameOf(call)
	if common.StaticCallee() == nil && !common.IsInvoke() {
		name = nameOfValue(common.Value)
	}
	if !sleeper.MatchString(name) {
		return nil
	}
	return common.Args[len(common.Args)-1]
}

var sleeper = regexp.MustCompile(`^_?[Ss]leep(Func|Fn|er)?$`)

// Waits reports whether anything between one failure and the next attempt may
// take time by itself. What cannot be seen into may.
func (r Retry) Waits() bool { return r.waitsOn(r.failed.cycle()) }

// Least returns how long a delay is at least: what grows begins with that, what is multiplied
// is as long as its constant. It is 0 if that is not known.
func Least(d ssa.Value) time.Duration { return leastWithin(d, 8) }

func leastWithin(d ssa.Value, depth int) time.Duration {
	if depth == 0 {
		return 0
	}
	switch d := d.(type) {
	case *ssa.Const:
		n, _ := whole(d)
		return time.Duration(n)
	case *ssa.Convert:
		return leastWithin(d.X, depth-1)
	case *ssa.ChangeType:
		return leastWithin(d.X, depth-1)
	case *ssa.Phi:
		least := time.Duration(0)
		for _, edge := range d.Edges {
			if first := leastWithin(edge, depth-1); first > 0 && (least == 0 || first < least) {
				least = first
			}
		}
		return least
	case *ssa.BinOp:
		x, y := leastWithin(d.X, depth-1), leastWithin(d.Y, depth-1)
		switch d.Op {
		case token.MUL, token.ADD, token.SHL:
			return max(x, y)
		}
	}
	return 0
}

func (r Retry) waitsOn(cycle map[*ssa.BasicBlock]bool) bool {
	for b := range cycle {
		for _, instr := range b.Instrs {
			if instr != ssa.Instruction(r.Call) && mayWait(instr, 3) {
				return true
			}
		}
	}
	return false
}

// sleepsWithin reports whether a function of this package waits for a time, for the end of a
// context, or for an answer until a time, which may be that between two attempts. It looks depth calls deep.
func sleepsWithin(fn *ssa.Function, depth int) bool {
	return anyWithin([]*ssa.Function{fn}, depth-1, func(instr ssa.Instruction, depth int) (bool, []*ssa.Function) {
		call, ok := instr.(*ssa.Call)
		return isTimedWait(instr) || receivesEnd(instr) || ok && limitsRead.MatchString(nameOf(call)), calleeOf(instr)
	})
}

// limitsRead names what lets the next read wait for an answer until then.
var limitsRead = regexp.MustCompile(`^Set(Read)?Deadline$`)

// Spins reports whether a loop that nothing leaves makes a call again as soon
// as it returns.
func Spins(call *ssa.Call) bool {
	for _, l := range loops(call.Parent()) {
		if l.innermost[call.Block()] != l {
			continue
		}
		for _, b := range l.list {
			if slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool { return !l.blocks[s] }) || len(b.Succs) == 0 ||
				ends(b) {
				return false
			}
			for _, instr := range b.Instrs {
				if instr != ssa.Instruction(call) && mayWait(instr, 3) {
					return false
				}
			}
		}
		return true
	}
	return false
}

// mayWait reports whether an instruction may block. It looks depth calls deep
// into this package, and believes the names of what it cannot see.
func mayWait(instr ssa.Instruction, depth int) bool {
	waits, into := waitsAt(instr, depth)
	return waits || anyWithin(into, depth-1, waitsAt)
}

// waitsAt reports whether an instruction blocks by itself, or into which function to look
// for that.
func waitsAt(instr ssa.Instruction, depth int) (bool, []*ssa.Function) {
	switch instr := instr.(type) {
	case *ssa.UnOp:
		return instr.Op == token.ARROW, nil
	case *ssa.Select:
		return instr.Blocking, nil
	case *ssa.Send:
		return true, nil
	case *ssa.Call:
		return isWait(instr, depth)
	}
	return false, nil
}

// Names of what waits, and of what may do so, and of types whose methods may.
var (
	waiter  = regexp.MustCompile(`(?i:sleep|wait|backoff|delay|pause|throttle)|^pace|Pace|^Take$`)
	delayer = regexp.MustCompile(`(?i)limit|after|again|retry`)
	retrier = regexp.MustCompile(`(?i)retry|retrier|backoff`)
)

// isWait reports whether a call waits by its name, or into which function to look for
// that, if it can be looked into.
func isWait(call *ssa.Call, depth int) (bool, []*ssa.Function) {
	common, name := call.Common(), nameOf(call)
	if strings.HasPrefix(name, "new") || strings.HasPrefix(name, "New") {
		return false, nil // what makes a delay does not wait
	}
	if common.Signature().Results().Len() == 0 && teller.MatchString(name) && !session.MatchString(name) &&
		!waiter.MatchString(name) {
		return false, nil // it may wait for a lock
	}
	fn := common.StaticCallee()
	hidden := isHidden(fn)
	switch {
	case isVerdict(call) && !hidden && depth > 0:
		return false, []*ssa.Function{fn} // what it asks for may be called so
	case hidden && (isVerdict(call) || isDuration(call.Type())):
		return false, nil // it says for how long to wait
	case waiter.MatchString(name) || (hidden || depth == 0) && delayer.MatchString(name):
		return true, nil
	case hidden && (isGivenDelay(call) || common.Signature().Results().Len() == 0 && isOf(call, retrier)):
		return true, nil
	}
	if fn == nil {
		return !common.IsInvoke() && !isCancel(common.Value) && !isOfLogger(call) && !isBuilt(call) &&
			!IsContext(call.Type()), nil // a function value
	}
	return false, []*ssa.Function{fn}
}

// isGivenDelay reports whether a call is given a context, and for how long, and returns
// nothing but an error: it waits, whatever it is called.
func isGivenDelay(call *ssa.Call) bool {
	results := call.Common().Signature().Results()
	if results.Len() > 1 ||
		results.Len() == 1 && !isError(results.At(0).Type()) &&
			!types.Identical(results.At(0).Type(), types.Typ[types.Bool]) {
		return false
	}
	args := argumentsOf(call.Common())
	return len(args) == 2 && IsContext(args[0].Type()) && isDuration(args[1].Type())
}

// verdict names what says what an error is, as ShouldRetry does.
var verdict = regexp.MustCompile(`^(?i:is|has|should|can|may|must|needs?)_?[A-Z]`)

// isVerdict reports whether a call only says of an error what it is.
func isVerdict(call *ssa.Call) bool {
	return types.Identical(call.Type(), types.Typ[types.Bool]) && verdict.MatchString(nameOf(call)) &&
		slices.ContainsFunc(call.Common().Args, func(arg ssa.Value) bool { return isError(arg.Type()) })
}

// isCancel reports whether v is the function that ends a context, or a builtin.
func isCancel(v ssa.Value) bool {
	if _, ok := v.(*ssa.Builtin); ok {
		return true
	}
	named, ok := types.Unalias(v.Type()).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "context"
}
