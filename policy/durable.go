package policy

import (
	"go/token"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// A Step describes the durable step of a bound symbol, with every default set.
type Step struct {
	Name     Symbol   // its Pos is the position of the key step or, if there is none, of the binding
	Default  bool     // Name is the symbol, and the generator prepends its package
	Formerly []Symbol // older names, under which runs may have recorded the step
	ID       []Symbol // the parameters that identify it, in order; if empty, the name alone identifies it
	Repeat   bool     // a repeated call in the same execution of a run returns the same result
}

// Step returns the durable step of a binding. If method is not "", this is the step of
// the method, and otherwise the step of the function. The result is meaningful only if
// the policy is durable.
//
// If the binding of a type has step or formerly, its value replaces the symbol as the
// prefix of the methods' step names: with step: pay, the step of the method Charge is
// named pay.Charge.
func (b *Binding) Step(method string) Step {
	s := Step{Name: Symbol{b.Symbol, b.Pos}, Default: true, Formerly: b.Formerly, ID: b.ID}
	s.Repeat = b.Repeat != nil && *b.Repeat
	if b.StepName.Name != "" {
		s.Name, s.Default = b.StepName, false
	}
	if method == "" {
		return s
	}
	s.Name.Name += "." + method
	s.Formerly = slices.Clone(s.Formerly)
	for i := range s.Formerly {
		s.Formerly[i].Name += "." + method
	}
	m, _ := b.MethodFor(method)
	if m == nil {
		return s
	}
	if m.StepName.Name != "" {
		s.Name, s.Default = m.StepName, false
	}
	if m.Formerly != nil {
		s.Formerly = m.Formerly
	}
	if m.ID != nil {
		s.ID = m.ID
	}
	if m.Repeat != nil {
		s.Repeat = *m.Repeat
	}
	return s
}

// durableKeys are the settings of a durable policy.
var durableKeys = []string{"record", "on_lost", "lost_max", "result", "park_after", "resume_spread"}

// durable reads true, false, or a map of settings. False is nil.
func (d decoder) durable(e *syntax.Entry) (*rules.Durable, bool) {
	set := &rules.Durable{LostMax: genapi.DefaultLostMax, Result: "json"}
	switch e.Value.Value {
	case true:
		return set, true
	case false:
		return nil, true
	}
	n := e.Value
	if !n.IsMap() {
		d.problem(n.Span, "P102", "durable is true, false or {record: attempts, on_lost: pause}, not %s", n.Describe())
		return nil, false
	}
	before := d.errors()
	d.unknownKeys(n, "", durableKeys...)
	set.Record = optional(d, n, word(d, genapi.RecordAttempts, genapi.RecordFailures), "record").value
	set.OnLost = optional(d, n, word(d, genapi.OnLostRetry, genapi.OnLostFail, genapi.OnLostPause), "on_lost").value
	if lost := optional(d, n, d.atLeastOne, "lost_max"); lost.value > 0 {
		set.LostMax = lost.value
		if !set.Repeats() {
			d.problem(n.Get("lost_max").At, "P109",
				"lost_max is not read with on_lost: %s: remove it, or write on_lost: retry", set.OnLost)
		}
	}
	if r := n.Written("result"); r != nil && r.Value.Value != set.Result {
		d.problem(r.Value.Span, "P102", "result is json, not %s", r.Value.Describe())
	}
	set.ParkAfter = optional(d, n, d.timeout, "park_after").value
	set.ResumeSpread = optional(d, n, d.spread, "resume_spread").value
	return set, d.errors() == before
}

// word returns a function that reads a value whose String is the word written.
func word[T interface{ String() string }](d decoder, list ...T) func(*syntax.Entry) (T, bool) {
	return func(e *syntax.Entry) (v T, ok bool) {
		words := make([]string, len(list))
		for i, v := range list {
			if words[i] = v.String(); words[i] == e.Value.Value {
				return v, true
			}
		}
		d.problem(e.Value.Span, "P102", "%s is %s, not %s", e.Key, oneOf(words), e.Value.Describe())
		return v, false
	}
}

// oneOf joins words for a message, as "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// changed reads on_changed, which applies to calls with changed arguments.
func (d decoder) changed(e *syntax.Entry) (genapi.OnChanged, bool) {
	return word(d, genapi.ChangedFail, genapi.ChangedReport)(e)
}

// spread reads a duration above zero, or none.
func (d decoder) spread(e *syntax.Entry) (time.Duration, bool) { return d.positive(e, "no spread") }

// spreadText formats a resume_spread.
func spreadText(spread time.Duration) string {
	if spread == 0 {
		return "up to the delay, at most 30s"
	}
	return orNone(spread)
}

// stored reads shared, and returns whether the state of a breaker or a budget is
// in the store.
func (d decoder) stored(e *syntax.Entry) (store, ok bool) {
	if e.Value.Value != "process" && e.Value.Value != "store" {
		d.problem(e.Value.Span, "P102", "%s is process or store, not %s", e.Key, e.Value.Describe())
		return false, false
	}
	return e.Value.Value == "store", true
}

// step reads the settings of durable steps of a binding or a method.
func (d decoder) step(n *syntax.Node, u *Use) {
	u.ID = d.nameList(n, "id", isIDName,
		"id is the name of a parameter, receiver.FIELD, or a list of these")
	valid := func(name string) bool { return name != "" && len(name) <= maxStepName }
	u.Formerly = d.nameList(n, "formerly", valid, "formerly is a list of older names of the step, up to 200 bytes each")
	if e := n.Written("step"); e != nil {
		name, ok := e.Value.Value.(string)
		if !ok || !valid(name) {
			d.problem(e.Value.Span, "P102", "step is the name of the durable step, up to %d bytes, not %s",
				maxStepName, e.Value.Describe())
		}
		u.StepName = Symbol{name, posOf(e.Value.Span)}
	}
	if e := n.Written("repeat"); e != nil {
		repeat, _ := d.boolean(e)
		u.Repeat = &repeat
	}
}

// ReceiverPrefix precedes the name of a receiver's field in id.
const ReceiverPrefix = "receiver."

// isIDName reports whether a parameter, or a field of the receiver, can have the name.
func isIDName(name string) bool { return token.IsIdentifier(strings.TrimPrefix(name, ReceiverPrefix)) }

// maxStepName is the greatest length of the name of a step, in bytes.
const maxStepName = 200

// nameList reads one name or a list of names. It reports names that are not valid
// and repeated ones. The list is nil if the key is not written.
func (d decoder) nameList(n *syntax.Node, key string, valid func(string) bool, what string) (list []Symbol) {
	e := n.Written(key)
	if e == nil {
		return nil
	}
	items := []*syntax.Node{e.Value}
	if e.Value.IsList() {
		items = e.Value.Items
	}
	list = []Symbol{}
	for _, item := range items {
		name, ok := item.Value.(string)
		switch {
		case !ok || !valid(name):
			d.problem(item.Span, "P102", "%s, not %s", what, item.Describe())
		case slices.ContainsFunc(list, func(s Symbol) bool { return s.Name == name }):
			d.problem(item.Span, "P102", "%s names %s twice: remove one", key, syntax.Quote(name))
		default:
			list = append(list, Symbol{name, posOf(item.Span)})
		}
	}
	return list
}
