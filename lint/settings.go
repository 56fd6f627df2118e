package lint

import (
	"go/constant"
	"go/types"
	"math"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// settings are the settings of a retry library's policy, as far as the construction of the
// policy is visible.
type settings struct {
	ctx       ssa.Value                  // the context that ends the retries, or nil
	values    map[vocab.Saying]ssa.Value // the values that are set; nil: several different ones
	cap       string                     // the name of the setting for the maximum delay
	first     time.Duration              // the default of the first delay
	greatest  time.Duration              // the default of the maximum delay
	bounds    vocab.Bounds               // the limits that apply unless they are lifted
	lifted    vocab.Bounds
	attempts  int  // the maximum number of attempts, or 0
	limited   bool // a limit of attempts or of time is set
	decided   bool // something else may end the retries
	paused    bool // something else may wait between attempts
	varied    bool // waits differ from those of the other settings
	random    bool // waits may be shorter than those of the other settings
	ignored   bool // a number of 0 attempts has no effect
	vague     bool // part of the policy is unknown
	perhaps   bool // part of the policy depends on a condition
	kept      bool // the policy is in a variable, so other code may set what is not set here
	exported  bool // the policy is in a variable that other packages may set
	seen      map[ssa.Value]bool
	stateful  []ssa.Value // the parts that keep state between calls
	variables []ssa.Value // the variables whose content is unknown
}

func newSettings() settings {
	return settings{values: map[vocab.Saying]ssa.Value{}, seen: map[ssa.Value]bool{}}
}

// settingsMadeBy returns the settings of the policy that an instruction creates, or nil if it
// does not create a complete policy.
func settingsMadeBy(instr ssa.Instruction) *settings {
	var name vocab.Name
	switch instr := instr.(type) {
	case *ssa.Alloc:
		name = typeName(instr.Type())
	case *ssa.Call:
		if obj, _ := flow.StaticCallee(&instr.Call); obj != nil {
			name = vocab.NameOf(obj)
		}
	}
	if !slices.ContainsFunc(vocab.SettingsOf(name), (*vocab.Setting).IsWhole) {
		return nil
	}
	s := newSettings()
	s.read(instr.(ssa.Value))
	return &s
}

// read adds the settings of a policy or of a part of one.
func (s *settings) read(v ssa.Value) {
	if _, isStruct := v.Type().Underlying().(*types.Struct); !isStruct {
		v = source(v) // fields of a struct may be set after it was stored
	}
	if s.seen[v] {
		return
	}
	s.seen[v] = true
	switch v := v.(type) {
	case *ssa.Const:
		s.vague = s.vague || v.Value != nil
	case *ssa.Slice:
		list := elements(v)
		if _, made := v.X.(*ssa.Alloc); !made && len(list) == 0 {
			s.vague = true
		}
		for _, option := range list {
			s.read(option)
		}
	case *ssa.Phi:
		s.perhaps = true
		for _, e := range v.Edges {
			s.read(e)
		}
	case *ssa.Call:
		s.call(v)
	case *ssa.Alloc:
		s.vague = !s.says(typeName(v.Type()), v) || s.vague
		s.object(v)
	case *ssa.UnOp:
		s.load(v)
	case *ssa.Function, *ssa.MakeClosure:
		s.function(operation(v))
	default:
		s.vague = true
	}
}

// typeName returns the name, as used in the table, of a type or of the type that it points to.
func typeName(t types.Type) (name vocab.Name) {
	if obj := vocab.TypeName(t); obj != nil && obj.Pkg() != nil {
		name = vocab.Name{Pkg: obj.Pkg().Path(), Func: obj.Name()}
	}
	return name
}

// says adds the settings that the table lists for a symbol with which a part of a policy is
// created. It reports whether there are any. The part is nil for a field.
func (s *settings) says(name vocab.Name, part ssa.Value, args ...ssa.Value) bool {
	rows := vocab.SettingsOf(name)
	for _, row := range rows {
		s.apply(row, args)
		if row.Bounds&vocab.Stateful != 0 && part != nil {
			s.stateful = append(s.stateful, part)
		}
	}
	return len(rows) > 0
}

// call adds the settings of a part that a library call or a function of this package creates.
func (s *settings) call(call *ssa.Call) {
	args := argumentsOf(&call.Call)
	if b, ok := call.Call.Value.(*ssa.Builtin); ok && b.Name() == "append" {
		for _, arg := range args {
			s.read(arg)
		}
		return
	}
	obj, _ := flow.StaticCallee(&call.Call)
	if obj == nil || !s.says(vocab.NameOf(obj), call, args...) {
		if made := madeBy(call); made != nil {
			s.read(made)
		} else {
			s.vague = true
		}
	}
	s.object(call)
}

// function adds the settings of a function value: those that the table lists for its name, or
// those of the value that it returns or of the parameter that it sets.
func (s *settings) function(fn *ssa.Function) {
	if fn == nil {
		s.vague = true
		return
	}
	if obj, ok := fn.Object().(*types.Func); ok && s.says(vocab.NameOf(obj), nil) {
		return
	}
	s.vague = s.vague || len(fn.Blocks) == 0
	if fn.Signature.Results().Len() == 0 && len(fn.Params) > 0 {
		s.object(fn.Params[0])
	}
	for ret := range flow.Returns(fn) {
		if len(ret.Results) > 0 {
			s.read(ret.Results[0])
		}
	}
}

// object adds the settings from the fields and the method calls of an object. Functions of
// other packages may change any object that they are passed.
func (s *settings) object(v ssa.Value) {
	_, pointer := v.Type().Underlying().(*types.Pointer)
	for _, ref := range usesOf(v) {
		switch ref := ref.(type) {
		case *ssa.FieldAddr:
			s.field(ref)
		case *ssa.Call:
			s.given(v, ref)
		case *ssa.MakeClosure:
			s.vague = s.vague || flow.StoresThrough(ref, v)
		case *ssa.Store:
			if ref.Addr == v && pointer {
				s.read(ref.Val)
			} else if pointer {
				s.kept = true
			}
		case *ssa.Return, *ssa.DebugRef, *ssa.MakeInterface, *ssa.UnOp:
		default:
			s.kept = s.kept || pointer
		}
	}
}

// field adds the setting that a store to a field makes. It includes fields of nested structs.
func (s *settings) field(at *ssa.FieldAddr) {
	for _, use := range *at.Referrers() {
		switch use := use.(type) {
		case *ssa.Store:
			if _, isStruct := use.Val.Type().Underlying().(*types.Struct); isStruct {
				s.read(use.Val)
				continue
			}
			of := typeName(at.X.Type())
			s.says(vocab.Name{Pkg: of.Pkg, Recv: of.Func, Func: flow.FieldOf(at).Name()}, nil, use.Val)
		case *ssa.FieldAddr:
			s.field(use)
		case *ssa.Call:
			s.vague = true
		}
	}
}

// given adds the settings from a method call on an object. A method that returns the same type
// is assumed to return the object itself.
func (s *settings) given(v ssa.Value, call *ssa.Call) {
	callee, _ := flow.StaticCallee(&call.Call)
	made := vocab.TypeName(v.Type())
	if callee == nil || made == nil || callee.Pkg() != made.Pkg() {
		_, pointer := v.Type().Underlying().(*types.Pointer)
		s.vague = s.vague || pointer
		return
	}
	if args := argumentsOf(&call.Call); callee.Signature().Recv() != nil && args[0] == v && !s.seen[call] {
		s.seen[call] = true
		s.says(vocab.NameOf(callee), nil, args...)
		if types.Identical(call.Type(), v.Type()) {
			s.object(call)
		}
	}
}

// load adds the settings of a variable: a variable of the library, or one that holds a struct.
func (s *settings) load(load *ssa.UnOp) {
	_, known := load.Type().Underlying().(*types.Struct)
	switch variable := load.X.(type) {
	case *ssa.Alloc:
	case *ssa.Global:
		if variable.Pkg != load.Parent().Pkg {
			s.vague = !s.says(vocab.Name{Pkg: variable.Pkg.Pkg.Path(), Func: variable.Name()}, nil) || s.vague
			return
		}
		s.exported = s.exported || variable.Object() == nil || variable.Object().Exported()
	default:
		known = false
	}
	if !known {
		s.vague = true
		s.variables = append(s.variables, load.X)
		return
	}
	s.object(load.X)
}

// apply adds the settings of a table row, which may refer to the arguments.
func (s *settings) apply(row *vocab.Setting, args []ssa.Value) {
	var arg ssa.Value
	if row.Arg < len(args) {
		arg = args[row.Arg]
		s.set(row.Says, arg)
	}
	if row.Cap != "" {
		s.cap, s.first, s.greatest = row.Cap, row.First, row.Most
	}
	if row.Says == vocab.Lifts {
		s.lifted |= row.Bounds
	} else {
		s.bounds |= row.Bounds
	}
	switch row.Says {
	case vocab.Attempts, vocab.Retries:
		s.count(row)
	case vocab.Elapsed:
		s.limit(vocab.ByTime, row.Zero && isZero(arg))
	case vocab.Varies, vocab.Tunes:
		s.varied = true
	case vocab.Randoms:
		s.random = true
	case vocab.Delay:
		if isZero(arg) {
			s.lifted |= vocab.Delayed
		}
	case vocab.Decides, vocab.Last:
		s.decided = true
	case vocab.Pauses:
		s.paused = true
	case vocab.Cancels:
		s.ctx = arg
	case vocab.Ignores:
		s.ignored = isZero(arg)
	}
	if row.Of >= 0 && row.Of < len(args) {
		vague := s.vague
		s.read(args[row.Of])
		if row.Says == vocab.Tunes {
			s.vague = vague
		}
	}
}

// set records the value of a setting.
func (s *settings) set(of vocab.Saying, v ssa.Value) {
	v = origin(v)
	if old, again := s.values[of]; again && old != v {
		v = nil
	}
	s.values[of] = v
}

// limit records that a limit is set, or that it is lifted.
func (s *settings) limit(of vocab.Bounds, lifts bool) {
	if lifts {
		s.lifted |= of
	} else {
		s.limited = true
	}
}

// count records the maximum number of attempts or retries that is set.
func (s *settings) count(row *vocab.Setting) {
	n, ok := s.values[row.Says].(*ssa.Const)
	if !ok || n.Value == nil || n.Value.Kind() != constant.Int {
		s.limit(vocab.ByAttempts, false)
		return
	}
	most, exact := constant.Int64Val(n.Value)
	s.limit(vocab.ByAttempts, !exact || most < 0 || most >= math.MaxInt32 || most == 0 && row.Zero)
	if row.Says == vocab.Retries {
		most++
	}
	if exact && most <= 1000 { // higher numbers are treated as unknown
		s.attempts = int(max(most, 0))
	}
}

// duration returns the constant value of a setting, or the default unset if it is not set.
func (s *settings) duration(of vocab.Saying, unset time.Duration) (d time.Duration, known bool) {
	v, given := s.values[of]
	if !given {
		return unset, !s.kept
	}
	return durationOf(v)
}

// number returns the constant number of a setting, or 0 if it is unknown.
func (s *settings) number(of vocab.Saying) float64 {
	c, ok := s.values[of].(*ssa.Const)
	if !ok || c.Value == nil {
		return 0
	}
	n, _ := constant.Float64Val(constant.ToFloat(c.Value))
	return n
}

// madeBy returns the value that a call of a function of this package returns, if the function
// has a single return statement. Otherwise it returns nil.
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

// usesOf returns the instructions that use a value. The value may be a package variable.
func usesOf(v ssa.Value) (uses []ssa.Instruction) {
	variable, ok := v.(*ssa.Global)
	if !ok {
		return flow.Refs(v)
	}
	for _, fn := range functionsOf(variable.Pkg) {
		for instr := range flow.Instructions(fn.Blocks) {
			if slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool { return *op == v }) {
				uses = append(uses, instr)
			}
		}
	}
	return uses
}
