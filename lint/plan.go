package lint

import (
	"go/constant"
	"go/types"
	"math"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A plan is how a call of a library retries, as far as it is seen how the policy is made that it
// is given.
type plan struct {
	*vocab.Retrier
	args []ssa.Value // of the call, from the receiver on
	ctx  ssa.Value   // the context that ends the retries, or nil

	bounds   vocab.Bounds // that hold unless they are lifted
	lifted   vocab.Bounds
	attempts int  // how many there are at most, or 0
	limited  bool // a number or a time is set
	decided  bool // something else may end the retries
	paused   bool // something else may wait between attempts
	varied   bool // waits are other than delay says
	vague    bool // part of the policy is not seen
	perhaps  bool // part of it depends on a condition
	seen     map[ssa.Value]bool
	fields   map[string]constant.Value // of a policy that is a structure
	made     []*ssa.Call               // of constructors and options
	delay    ssa.Value                 // that is asked for between attempts, or nil
	longest  ssa.Value                 // delay that there may be, or nil
}

// planOf returns how a call retries, or nil if it is not of a library.
func planOf(call *ssa.CallCommon) *plan {
	obj, _ := flow.StaticCallee(call)
	if obj == nil {
		return nil
	}
	l := vocab.RetrierOf(obj)
	if l == nil {
		return nil
	}
	p := &plan{Retrier: l, args: argumentsOf(call), bounds: l.Bounds, seen: map[ssa.Value]bool{}}
	if l.Op >= len(p.args) || l.Policy >= len(p.args) {
		return nil // another version
	}
	if l.Context >= 0 {
		p.ctx = p.args[l.Context]
	}
	if l.Policy >= 0 {
		p.read(p.args[l.Policy])
	}
	return p
}

// argumentsOf returns the arguments of a call from the receiver on.
func argumentsOf(call *ssa.CallCommon) []ssa.Value {
	if call.IsInvoke() {
		return append([]ssa.Value{call.Value}, call.Args...)
	}
	return call.Args
}

// op returns what is retried.
func (p *plan) op() ssa.Value { return origin(p.args[p.Op]) }

// isEndless reports whether nothing but the operation, or the end of the context, ends the
// retries.
func (p *plan) isEndless() bool {
	return !p.vague && !p.perhaps && !p.limited && !p.decided &&
		p.bounds&(vocab.ByAttempts|vocab.ByTime)&^p.lifted == 0
}

// most returns how often the operation is tried at most, or 0 if that is not known.
func (p *plan) most() int {
	switch {
	case p.decided || p.perhaps || p.ErrorEnds && mayFail(operation(p.op())):
		return 0
	case p.attempts > 0:
		return p.attempts
	case p.vague || p.limited || p.lifted&vocab.ByAttempts != 0:
		return 0
	}
	return p.Attempts
}

// mayFail reports whether a condition may return an error, or is not known.
func mayFail(condition *ssa.Function) bool {
	if condition == nil {
		return true
	}
	for ret := range flow.Returns(condition) {
		if len(ret.Results) != 2 || !flow.IsNil(ret.Results[1]) {
			return true
		}
	}
	return false
}

// isAtOnce reports whether the operation is tried again without a wait, more often than is worth
// no wait.
func (p *plan) isAtOnce() bool {
	return p.Bounds&vocab.Delayed != 0 && p.bounds&(vocab.Delayed|vocab.Jittered)&^p.lifted == 0 &&
		!p.vague && !p.perhaps && !p.decided && !p.paused && (p.attempts == 0 || p.attempts > 3)
}

// isAble reports whether the call could be given a context, and is given none that ends.
func (p *plan) isAble() bool {
	switch {
	case p.Instead != "" || len(p.Twins) > 0:
		return true
	case p.Context >= 0:
		return isGivenRoot(p.ctx)
	}
	return p.With != "" && p.ctx == nil && !p.vague
}

// isBrief reports whether all waits are known to be less than a second together. Of what cannot
// be given a context by another argument that is assumed.
func (p *plan) isBrief() bool {
	sum, known := p.waits()
	return known && sum < time.Second || !known && p.Instead != ""
}

// wait returns how long all waits are together, attempt.NoLimit if that is not known.
func (p *plan) wait() time.Duration {
	if sum, known := p.waits(); known {
		return sum
	}
	return attempt.NoLimit
}

// twin returns what does the same with a context: of the functions of the package, the first that
// there is in this version. It is "" if there is none.
func (p *plan) twin(call *ssa.CallCommon) string {
	obj, _ := flow.StaticCallee(call)
	i := slices.IndexFunc(p.Twins, func(name string) bool { return obj.Pkg().Scope().Lookup(name) != nil })
	if i < 0 {
		return p.Instead
	}
	return p.Twins[i]
}

// read adds what a policy, or part of one, says.
func (p *plan) read(v ssa.Value) {
	if _, isStruct := v.Type().Underlying().(*types.Struct); !isStruct {
		v = origin(v) // fields of a structure may be set after it was stored
	}
	if p.seen[v] {
		return
	}
	p.seen[v] = true
	switch v := v.(type) {
	case *ssa.Const:
		p.vague = p.vague || !v.IsNil()
	case *ssa.Slice:
		list := elements(v)
		if _, made := v.X.(*ssa.Alloc); !made && len(list) == 0 {
			p.vague = true
		}
		for _, option := range list {
			p.read(option)
		}
	case *ssa.Phi:
		p.perhaps = true
		for _, e := range v.Edges {
			p.read(e)
		}
	case *ssa.Call:
		p.call(v)
	case *ssa.Alloc:
		p.symbol(vocab.TypeName(v.Type()), "")
		p.object(v)
	case *ssa.UnOp:
		p.load(v)
	case *ssa.Function, *ssa.MakeClosure:
		p.function(operation(v))
	default:
		p.vague = true
	}
}

// symbol adds what a variable, a type or a field says.
func (p *plan) symbol(obj types.Object, recv string, values ...ssa.Value) {
	if obj == nil || obj.Pkg() == nil {
		p.vague = true
		return
	}
	settings := vocab.SettingsOf(vocab.Name{Pkg: obj.Pkg().Path(), Recv: recv, Func: obj.Name()})
	_, field := obj.(*types.Var)
	p.vague = p.vague || len(settings) == 0 && !(field && recv != "")
	for _, s := range settings {
		p.apply(s, values)
	}
}

// call adds what is made by a call of the library, or by a function of this package.
func (p *plan) call(call *ssa.Call) {
	args := argumentsOf(&call.Call)
	if b, ok := call.Call.Value.(*ssa.Builtin); ok && b.Name() == "append" {
		for _, arg := range args {
			p.read(arg)
		}
		return
	}
	obj, _ := flow.StaticCallee(&call.Call)
	var settings []*vocab.Setting
	if obj != nil {
		settings = vocab.SettingsOf(vocab.NameOf(obj))
	}
	for _, s := range settings {
		p.apply(s, args)
	}
	if len(settings) == 0 {
		if made := madeBy(call); made != nil {
			p.read(made)
		} else {
			p.vague = true
		}
	}
	p.made = append(p.made, call)
	p.object(call)
}

// function adds what a function value says, by its name or by what it returns.
func (p *plan) function(fn *ssa.Function) {
	if fn == nil {
		p.vague = true
		return
	}
	if obj, ok := fn.Object().(*types.Func); ok && len(vocab.SettingsOf(vocab.NameOf(obj))) > 0 {
		p.symbol(obj, "")
		return
	}
	p.vague = p.vague || len(fn.Blocks) == 0
	for ret := range flow.Returns(fn) {
		if len(ret.Results) > 0 {
			p.read(ret.Results[0])
		}
	}
}

// object adds what the fields say that are set where an object is made, unless another function
// may set them.
func (p *plan) object(v ssa.Value) {
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.FieldAddr:
			for _, use := range *ref.Referrers() {
				if store, ok := use.(*ssa.Store); ok {
					p.symbol(flow.FieldOf(ref), vocab.TypeName(v.Type()).Name(), store.Val)
				}
			}
		case *ssa.Call:
			if _, pointer := v.Type().Underlying().(*types.Pointer); pointer && ref.Call.Signature().Recv() == nil {
				p.vague = true
			}
		}
	}
}

// load adds what a variable says: one of the library, or a structure whose fields are constant.
func (p *plan) load(load *ssa.UnOp) {
	var all []*ssa.Function
	if g, ok := load.X.(*ssa.Global); ok {
		if g.Pkg != load.Parent().Pkg {
			p.symbol(g.Object(), "")
			return
		}
		all = functionsOf(g.Pkg)
	}
	fields, ok := constantFields(all, load.X)
	s, isStruct := load.Type().Underlying().(*types.Struct)
	if !ok || !isStruct {
		p.vague = true
		return
	}
	p.fields = fields
	for f := range s.Fields() {
		if c := fields[f.Name()]; c != nil {
			p.symbol(f, vocab.TypeName(load.Type()).Name(), ssa.NewConst(c, f.Type()))
		}
	}
}

// apply adds what a setting with some arguments says.
func (p *plan) apply(s *vocab.Setting, args []ssa.Value) {
	var arg ssa.Value
	if s.Arg < len(args) {
		arg = args[s.Arg]
	}
	switch s.Says {
	case vocab.Attempts, vocab.Retries:
		p.count(s, numberOf(arg))
	case vocab.Elapsed:
		p.limit(vocab.ByTime, s.Zero && isZero(arg))
	case vocab.Varies, vocab.Tunes:
		p.varied = true
	case vocab.Longest:
		p.longest = arg
	case vocab.Delay:
		p.delay = arg
		if isZero(arg) {
			p.lifted |= vocab.Delayed
		}
	case vocab.Begins:
		p.bounds |= s.Bounds
	case vocab.Lifts:
		p.lifted |= s.Bounds
	case vocab.Decides:
		p.decided = true
	case vocab.Pauses:
		p.paused = true
	case vocab.Cancels:
		p.ctx = arg
	}
	if s.Of >= 0 && s.Of < len(args) {
		vague := p.vague
		p.read(args[s.Of])
		if s.Says == vocab.Tunes {
			p.vague = vague
		}
	}
}

// limit adds a limit, or that there is none.
func (p *plan) limit(of vocab.Bounds, lifts bool) {
	if lifts {
		p.lifted |= of
	} else {
		p.limited = true
	}
}

// count adds a number of attempts or retries; nil if it is not known.
func (p *plan) count(s *vocab.Setting, n constant.Value) {
	if n == nil {
		p.limit(vocab.ByAttempts, false)
		return
	}
	most, exact := constant.Int64Val(n)
	p.limit(vocab.ByAttempts, !exact || most < 0 || most >= math.MaxInt32 || most == 0 && s.Zero)
	if s.Says == vocab.Retries {
		most++
	}
	if exact && most <= 1000 { // more than anybody counts to
		p.attempts = int(max(most, 0))
	}
}

// numberOf returns a constant whole number, or nil.
func numberOf(v ssa.Value) constant.Value {
	if v == nil {
		return nil
	}
	c, ok := origin(v).(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return nil
	}
	return c.Value
}

// number returns what a field of a policy is set to, or 0 if that is not known.
func (p *plan) number(field string) float64 {
	if p.fields[field] == nil {
		return 0
	}
	n, _ := constant.Float64Val(constant.ToFloat(p.fields[field]))
	return n
}

// waits returns for how long a wait.Backoff waits in its first thousand steps, or an hour if that
// is less.
func (p *plan) waits() (sum time.Duration, known bool) {
	delay, limit, all := p.number("Duration"), p.number("Cap"), 0.0
	if delay == 0 {
		return 0, false
	}
	// No wait follows the last step.
	for range int(min(p.number("Steps")-1, 1000)) {
		all += delay * (1 + max(p.number("Jitter"), 0))
		if factor := p.number("Factor"); factor > 0 {
			delay *= factor
		}
		if limit > 0 && delay > limit {
			break // no Steps are left then
		}
	}
	return time.Duration(min(all, float64(time.Hour))), true
}

// madeBy returns what a function of this package, which v is a call of, returns in the one
// place where it returns, or nil.
func madeBy(v ssa.Value) ssa.Value {
	call, ok := v.(*ssa.Call)
	if !ok || call.Call.StaticCallee() == nil {
		return nil
	}
	var made ssa.Value
	for ret := range flow.Returns(call.Call.StaticCallee()) {
		if made != nil || len(ret.Results) != 1 {
			return nil
		}
		made = origin(ret.Results[0])
	}
	return made
}
