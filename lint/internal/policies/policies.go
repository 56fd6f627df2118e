// Package policies reads the retry.Policy variables of a package, as far as they are set to
// constants, and finds the calls that are made under these policies.
package policies

import (
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
	retry "github.com/retrygen/retrygen/runtime"
)

const (
	runtimePath = "github.com/retrygen/retrygen/runtime"
	durablePath = runtimePath + "/durable/genapi"
)

// A Policy is a retry.Policy of the package, as far as its fields are constants.
type Policy struct {
	retry.Policy
	given  map[string]bool // the fields that are set, by name
	varies map[string]bool // fields that are set to something other than a single constant
}

// Knows reports whether the given fields are constant or not set.
func (p *Policy) Knows(fields ...string) bool {
	return !slices.ContainsFunc(append(fields, whole), func(name string) bool { return p.varies[name] })
}

// A TimeLimit is a time limit in a policy.
type TimeLimit struct {
	Setting  string // its name in a policy file
	Duration time.Duration
}

// CallLimit returns the limit on a call under the policy, unless its context sets another
// timeout. It returns zero if the limit is unknown or there is none.
func (p *Policy) CallLimit() TimeLimit {
	switch {
	case p.Timeout > 0 && p.Knows("Timeout"):
		return TimeLimit{"timeout", p.Timeout}
	case p.HardLimit > 0 && p.Knows("Timeout", "HardLimit"):
		return TimeLimit{"hard_limit", p.HardLimit}
	}
	return TimeLimit{}
}

// AttemptLimit returns the limit at which the context of an attempt ends at the latest. It
// returns zero if the limit is unknown or there is none.
func (p *Policy) AttemptLimit() TimeLimit {
	limit := p.CallLimit()
	if p.HardLimit > 0 && p.Knows("HardLimit") {
		limit = TimeLimit{"hard_limit", p.HardLimit} // WithScopeTimeout may raise the timeout up to this limit
	}
	if d := p.AttemptTimeout; d > 0 && p.Knows("AttemptTimeout") && (limit.Duration == 0 || d < limit.Duration) {
		limit = TimeLimit{"attempt_timeout", d}
	}
	return limit
}

// Attempts returns the maximum number of attempts of a call. It returns 1 if the number is
// unknown or unlimited.
func (p *Policy) Attempts() int {
	n := p.Effective().MaxAttempts
	if !p.Knows("MaxAttempts", "Schedule") || n == retry.Unlimited {
		return 1
	}
	return max(n, 1)
}

// manySummed is the maximum number of waits that are summed.
const manySummed = 1000

// LeastWaits returns the minimum of the time that the waits between all attempts take together,
// as far as the limits of the policy allow it. It returns 0 if that is unknown.
func (p *Policy) LeastWaits() (total time.Duration) {
	n := p.Attempts()
	if n > manySummed || len(p.varies) > 0 {
		return 0
	}
	var previous time.Duration
	for k := 1; k < n; k++ {
		least, _, _ := p.Bounds(k, previous)
		total, previous = total+min(least, math.MaxInt64-total), least
	}
	for _, limit := range []time.Duration{p.DelayBudget, p.MaxElapsed, p.Timeout} {
		if limit > 0 {
			total = min(total, limit)
		}
	}
	return total
}

// A Set holds the policies of one package. It may be used concurrently.
type Set struct {
	stores  map[ssa.Value][]fieldStore // by the variable that holds a policy or a part of one
	effects *effect.Package
	mu      sync.Mutex
	of      map[ssa.Value]*Policy
}

// A fieldStore is an assignment to a field of a struct, or to the whole struct.
type fieldStore struct {
	path []string // the names of the fields that lead to the field
	val  ssa.Value
}

// New returns the policies that the functions of a package create.
func New(fns []*ssa.Function, effects *effect.Package) *Set {
	s := &Set{stores: map[ssa.Value][]fieldStore{}, effects: effects, of: map[ssa.Value]*Policy{}}
	for _, fn := range fns {
		for instr := range flow.Instructions(fn.Blocks) {
			store, ok := instr.(*ssa.Store)
			if !ok {
				continue
			}
			base, path := fieldOf(store.Addr)
			if t := base.Type(); isPointerTo(t, runtimePath, "Policy") || isPointerTo(t, runtimePath, "Schedule") ||
				isPointerTo(t, durablePath, "StepPolicy") {
				s.stores[base] = append(s.stores[base], fieldStore{path, store.Val})
			}
		}
	}
	return s
}

// At returns the policy to which a pointer points, or nil if the code that creates it is not
// visible.
func (s *Set) At(pointer ssa.Value) *Policy {
	if pointer = s.source(pointer); pointer == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	policy, done := s.of[pointer]
	if !done {
		policy = s.read(pointer)
		s.of[pointer] = policy
	}
	return policy
}

// source returns the variable to which a pointer points, or nil if it is unknown. For a policy
// that may change while the program runs, it is the policy that was compiled.
func (s *Set) source(pointer ssa.Value) ssa.Value {
	pointer = flow.Source(pointer, flow.Renamed|flow.Kept)
	if load, ok := pointer.(*ssa.UnOp); ok {
		values, all := s.effects.Assigned(load.X)
		if !all || len(values) != 1 {
			return nil
		}
		pointer = values[0]
	}
	if call, ok := pointer.(*ssa.Call); ok && len(call.Call.Args) == 1 {
		switch fn, _ := flow.StaticCallee(&call.Call); {
		case fn == nil:
		case vocab.NameOf(fn) == vocab.Name{Pkg: runtimePath, Recv: "Live", Func: "Load"},
			vocab.NameOf(fn) == vocab.Name{Pkg: runtimePath, Func: "NewLive"}:
			return s.source(call.Call.Args[0])
		}
	}
	return pointer
}

// read returns the policy in a variable, or the policy of a durable step in a variable, or nil.
func (s *Set) read(variable ssa.Value) *Policy {
	if len(s.stores[variable]) == 0 {
		return nil
	}
	if isPointerTo(variable.Type(), durablePath, "StepPolicy") {
		var of ssa.Value
		for field := range s.fields(variable, nil) {
			if slices.Equal(field.path, []string{"Policy"}) || slices.Equal(field.path, []string{"Live"}) {
				of = field.val
			}
		}
		if of == nil {
			return nil
		}
		return s.read(s.source(of))
	}
	policy := &Policy{given: map[string]bool{}, varies: map[string]bool{}}
	for field := range s.fields(variable, nil) {
		policy.set(field.path, field.val)
	}
	return policy
}

// fields yields the values to which the fields of a variable are set, including by copies of
// composite literals.
func (s *Set) fields(variable ssa.Value, prefix []string) iter.Seq[fieldStore] {
	return func(yield func(fieldStore) bool) {
		for _, store := range s.stores[variable] {
			path := slices.Concat(prefix, store.path)
			if literal := literalOf(store.val); literal != nil {
				for part := range s.fields(literal, path) {
					if !yield(part) {
						return
					}
				}
				continue
			}
			if !yield(fieldStore{path, store.val}) {
				return
			}
		}
	}
}

// literalOf returns the variable with the composite literal from which a struct is copied, or
// nil.
func literalOf(v ssa.Value) *ssa.Alloc {
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return nil
	}
	if literal, ok := load.X.(*ssa.Alloc); ok && literal.Comment == "complit" {
		return literal
	}
	return nil
}

// isPointerTo reports whether t is a pointer to the named type of a package.
func isPointerTo(t types.Type, path, name string) bool {
	to, ok := t.Underlying().(*types.Pointer)
	return ok && vocab.IsType(to.Elem(), path, name)
}

// fieldOf returns the variable that contains an address, and the names of the fields that lead
// to the address.
func fieldOf(addr ssa.Value) (base ssa.Value, path []string) {
	at, ok := addr.(*ssa.FieldAddr)
	if !ok {
		return addr, nil
	}
	base, path = fieldOf(at.X)
	return base, append(path, flow.FieldOf(at).Name())
}

// set records the value of a field. The values of lists are not read, so a field with a list
// varies.
func (p *Policy) set(path []string, v ssa.Value) {
	field := reflect.ValueOf(&p.Policy).Elem()
	for _, name := range path {
		if field = field.FieldByName(name); !field.IsValid() {
			return // of another version of the runtime
		}
	}
	name := whole
	if len(path) > 0 {
		name = path[len(path)-1]
	}
	c, ok := v.(*ssa.Const)
	if again := p.given[name]; again || !ok || c.Value == nil || !SetConstant(field, c.Value) {
		p.varies[name] = p.varies[name] || limitsTime[name]
	}
	p.given[name] = true
}

// whole is the name that is recorded if a policy is set as a whole.
const whole = "Policy"

// limitsTime contains the fields that determine how often or for how long a policy retries, and
// the structs with such fields. Other fields may vary.
var limitsTime = map[string]bool{
	whole: true, "Schedule": true, "MaxAttempts": true, "Backoff": true, "InitialDelay": true, "Base": true,
	"Increment": true, "Delays": true, "MaxDelay": true, "Jitter": true, "JitterFactor": true, "PerError": true,
	"DelayBudget": true, "MaxElapsed": true, "AttemptTimeout": true, "Timeout": true, "HardLimit": true,
}

// SetConstant sets a bool, a number or a string to a constant, and reports whether it
// succeeded.
func SetConstant(field reflect.Value, c constant.Value) bool {
	switch {
	case field.CanInt():
		n, exact := constant.Int64Val(constant.ToInt(c))
		field.SetInt(n)
		return exact
	case field.CanUint():
		n, exact := constant.Uint64Val(constant.ToInt(c))
		field.SetUint(n)
		return exact
	case field.CanFloat():
		f, _ := constant.Float64Val(constant.ToFloat(c))
		field.SetFloat(f)
		return true
	case field.Kind() == reflect.Bool && c.Kind() == constant.Bool:
		field.SetBool(constant.BoolVal(c))
		return true
	case field.Kind() == reflect.String && c.Kind() == constant.String:
		field.SetString(constant.StringVal(c))
		return true
	}
	return false
}

// Of returns the policy under which a call runs a function, or begins to run one. It returns
// nil if the call does neither, or if the policy is unknown.
func (s *Set) Of(call *ssa.CallCommon) *Policy {
	i := policyArgument(call)
	if i < 0 {
		return nil
	}
	return s.At(call.Args[i])
}

// policyArgument returns the index of the policy argument of a call that runs a function under
// a policy, or begins to do so. It returns -1 for other calls.
func policyArgument(call *ssa.CallCommon) int {
	fn, _ := flow.StaticCallee(call)
	if fn == nil {
		return -1
	}
	name, of := vocab.NameOf(fn), "Policy"
	switch {
	case Begins(call):
		return 0
	case name == vocab.Name{Pkg: runtimePath, Func: "Do"}, name == vocab.Name{Pkg: runtimePath, Func: "DoWith"}:
	case name.Pkg == durablePath && name.Recv == "":
		of = "StepPolicy"
	default:
		return -1
	}
	return slices.IndexFunc(call.Args, func(arg ssa.Value) bool { return isPointerTo(arg.Type(), name.Pkg, of) })
}

// IsDurable reports whether a call runs a function as a durable step.
func IsDurable(call *ssa.CallCommon) bool {
	i := policyArgument(call)
	return i >= 0 && isPointerTo(call.Args[i].Type(), durablePath, "StepPolicy")
}

// Begins reports whether a call begins a call under a policy, as generated functions do.
func Begins(call *ssa.CallCommon) bool {
	fn, _ := flow.StaticCallee(call)
	if fn == nil {
		return false
	}
	name := vocab.NameOf(fn)
	return name.Pkg == runtimePath && name.Recv == "Policy" && strings.HasPrefix(name.Func, "Begin")
}

// Retried returns the operation that a call of retry.Do or retry.DoWith retries, or nil for other
// calls.
func Retried(call *ssa.CallCommon) ssa.Value {
	fn, _ := flow.StaticCallee(call)
	if fn == nil {
		return nil
	}
	if name := vocab.NameOf(fn); name.Pkg != runtimePath || name.Recv != "" || name.Func != "Do" && name.Func != "DoWith" {
		return nil
	}
	return call.Args[len(call.Args)-1]
}

// OfAttempt returns the policy that limits the context returned by a call of
// (*retry.Call).Attempt, or nil.
func (s *Set) OfAttempt(call *ssa.Call) *Policy {
	if fn, _ := flow.StaticCallee(&call.Call); fn == nil ||
		vocab.NameOf(fn) != (vocab.Name{Pkg: runtimePath, Recv: "Call", Func: "Attempt"}) {
		return nil
	}
	variable, ok := call.Call.Args[0].(*ssa.Alloc)
	if !ok {
		return nil
	}
	stores := flow.Stores(variable)
	if len(stores) != 1 {
		return nil
	}
	begun, ok := stores[0].Val.(*ssa.Call)
	if !ok {
		return nil
	}
	return s.Of(&begun.Call)
}

// Limiting returns the policy with which a call limits the context of attempts, or nil.
func (s *Set) Limiting(call *ssa.Call) *Policy {
	if policy := s.OfAttempt(call); policy != nil {
		return policy
	}
	return s.Of(&call.Call)
}

// RunUnder returns the call that runs a function literal under a policy and passes the context
// of each attempt to it, or nil.
func (s *Set) RunUnder(literal *ssa.Function) *ssa.Call {
	uses := flow.Refs(literal)
	if closure := flow.Closure(literal); closure != nil {
		uses = flow.Refs(closure)
	}
	var under *ssa.Call
	for _, ref := range uses {
		if _, debug := ref.(*ssa.DebugRef); debug {
			continue
		}
		call, ok := ref.(*ssa.Call)
		if !ok || under != nil || s.Of(&call.Call) == nil ||
			!slices.ContainsFunc(call.Call.Args, func(arg ssa.Value) bool { return vocab.IsContext(arg.Type()) }) {
			return nil
		}
		under = call
	}
	return under
}
