package attempt

import (
	"go/constant"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Success describes which result of an operation counts as success.
type Success uint8

// The successes.
const (
	NoError Success = iota // no error, or what a summary describes
	True
	False
	InField // no error in a field of a result
	Unclear // it is unknown which results are failures
)

// An ending describes how a call may end.
type ending struct {
	failed, passed flow.Assumption // if until is Unclear, nothing is assumed
	answered       flow.Assumption // the call succeeded, but may have returned no answer; nil: it returns none
	until          Success
	shape          *vocab.Shape // the shape of the result with the field, for InField
	field          *ending      // the ending according to a field of a result, which may also report a failure; or nil
}

// evidence returns how certain it is that the call may end like this.
func (e *ending) evidence() vocab.Evidence {
	if e.shape != nil {
		return e.shape.Evidence
	}
	return vocab.Proven
}

// endings returns how a call may end. There are several endings if it is unknown which results
// are failures, because the operation is a parameter that returns a bool.
func (p *Package) endings(call *ssa.Call) []ending {
	results := call.Call.Signature().Results()
	n := results.Len()
	_, parameter := call.Call.Value.(*ssa.Parameter)
	answers := !call.Call.IsInvoke() && parameter && flow.IsBool(results.At(0).Type())
	switch {
	case flow.IsError(results.At(n-1).Type()) && answers && n == 2:
		return []ending{ofError(n), ofBool(True), ofBool(False)}
	case flow.IsError(results.At(n - 1).Type()):
		e := ofError(n)
		if couldPoll(call) {
			e.answered = errorAnd(n-1, flow.Nil, flow.Top)
		}
		if shaped := p.byField(call); shaped != nil && e.answered != nil {
			both := ofError(n)
			both.field = &shaped[0]
			return append([]ending{both}, append(shaped, e)...)
		}
		return []ending{e}
	case n == 1 && answers:
		return []ending{ofBool(True), ofBool(False)}
	case n == 1:
		if shaped := p.byField(call); shaped != nil {
			return shaped
		}
		switch s := p.summaryOf(&call.Call); {
		case s.FalseOnError:
			return []ending{ofBool(True)}
		case s.NilOnError:
			return []ending{{failed: only(flow.Nil), passed: only(flow.NonNil)}}
		}
	}
	return []ending{{failed: only(flow.Top), passed: only(flow.Top), until: Unclear}}
}

// ofError returns the ending of a call that returns an error as the last of n results. If it
// fails, its other results are not set.
func ofError(n int) ending {
	return ending{failed: errorAnd(n-1, flow.NonNil, flow.Nil), passed: errorAnd(n-1, flow.Nil, flow.NonNil)}
}

// ofBool returns the ending of a call that returns a bool as its first result, and no error.
func ofBool(until Success) ending {
	first := func(success bool) flow.Assumption {
		return ofResults(func(i int, _ types.Type) flow.Value {
			if i == 0 {
				return flow.Bool(success == (until == True))
			}
			return flow.Nil
		})
	}
	return ending{failed: first(false), passed: first(true), until: until}
}

// byField returns the endings of a call whose failure a field of a result reports, instead of
// an error. A call that takes the next of several items has no such ending.
func (p *Package) byField(call *ssa.Call) []ending {
	results := call.Call.Signature().Results()
	if p.summaryOf(&call.Call).State&(Signal|Count) != 0 {
		return nil
	}
	for i := range results.Len() {
		field, shape := vocab.ShapeOf(results.At(i).Type())
		if field == nil {
			continue
		}
		failed, passed := flow.NonNil, flow.Nil
		if !flow.IsError(field.Type()) {
			failed, passed = flow.Constant(constant.MakeInt64(shape.Failed)), flow.Constant(constant.MakeInt64(shape.Passed))
		}
		err := results.Len() - 1
		if !flow.IsError(results.At(err).Type()) {
			err = -1
		}
		with := func(v flow.Value) flow.Assumption {
			rest := errorAnd(err, flow.Nil, flow.NonNil)
			return func(k int, f *types.Var, t types.Type) flow.Value {
				if k == i && f == field {
					return v
				}
				return rest(k, f, t)
			}
		}
		return []ending{{failed: with(failed), passed: with(passed), until: InField, shape: &shape}}
	}
	return nil
}

func only(v flow.Value) flow.Assumption {
	return ofResults(func(int, types.Type) flow.Value { return v })
}

// ofResults returns an assumption about results that assumes nothing about their fields.
func ofResults(assume func(i int, t types.Type) flow.Value) flow.Assumption {
	return func(i int, field *types.Var, t types.Type) flow.Value {
		if field != nil {
			return flow.Top
		}
		return assume(i, t)
	}
}

// errorAnd assumes that result i is v, and that the other results that are pointers or
// interfaces are rest.
func errorAnd(i int, v, rest flow.Value) flow.Assumption {
	return ofResults(func(k int, t types.Type) flow.Value {
		if k == i {
			return v
		}
		switch t.Underlying().(type) {
		case *types.Pointer, *types.Interface:
			return rest
		}
		return flow.Top
	})
}
