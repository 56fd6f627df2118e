package flow

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A view is the state that a transfer function reads: a solution or a run.
type view interface {
	value(d definition, reader *ssa.BasicBlock) Value
	executed(edge int) bool
	level() int // the depth of the call that is evaluated
}

// transfer returns the result of an instruction. It evaluates a call with one result by the
// method call.
func (g *graph) transfer(s view, v ssa.Value) Value {
	switch v := v.(type) {
	case *ssa.Phi:
		return g.join(s, g.phis[v])
	case *ssa.BinOp:
		return compare(v.Op, s.value(v.X, v.Block()), s.value(v.Y, v.Block()))
	case *ssa.UnOp:
		return g.unary(s, v)
	case *ssa.Call:
		return first(g.call(s, v).results)
	case *ssa.Extract:
		return g.extract(s, v)
	case *ssa.TypeAssert:
		if x := s.value(v.X, v.Block()); x.kind == isNil {
			return x // an interface that is nil contains no type
		}
	case *ssa.MakeInterface, *ssa.Alloc, *ssa.MakeMap, *ssa.MakeChan, *ssa.MakeSlice, *ssa.MakeClosure,
		*ssa.FieldAddr, *ssa.IndexAddr:
		return NonNil
	case *ssa.Field:
		if d, ok := memberOf(v); ok {
			return s.value(d, v.Block())
		}
	case *ssa.ChangeInterface:
		return s.value(v.X, v.Block())
	case *ssa.ChangeType:
		return s.value(v.X, v.Block())
	}
	return Top
}

// join joins the values from the executed edges.
func (g *graph) join(s view, m *merge) Value {
	var joined Value
	for i, e := range g.edgesIn[m.block.Index] {
		if s.executed(e) {
			joined = joined.Join(s.value(m.edges[i], m.block.Preds[i]))
		}
	}
	return joined
}

func (g *graph) unary(s view, v *ssa.UnOp) Value {
	switch v.Op {
	case token.NOT:
		x := s.value(v.X, v.Block())
		if truth, known := x.Truth(); known {
			return Bool(!truth)
		} else if x.kind == bottom {
			return Bottom
		}
	case token.MUL:
		if d, ok := g.loads[v]; ok {
			return s.value(d, v.Block())
		}
		if _, global := v.X.(*ssa.Global); global && IsError(v.Type()) {
			return NonNil // a variable such as io.EOF
		}
	}
	return Top
}

func (g *graph) extract(s view, v *ssa.Extract) Value {
	switch tuple := v.Tuple.(type) {
	case *ssa.Call:
		if results := g.call(s, tuple).results; v.Index < len(results) {
			return results[v.Index]
		}
	case *ssa.TypeAssert:
		if v.Index == 1 && s.value(tuple, v.Block()).kind == isNil {
			return Bool(false)
		}
	}
	return Top
}

// call returns the outcome of a call, as far as its arguments determine it.
func (g *graph) call(s view, call *ssa.Call) outcome {
	common := call.Common()
	o := outcome{returns: true}
	switch k := g.prog.known(common); {
	case k.Exits:
		return outcome{}
	case k.Nil:
		o.results = []Value{Nil}
		return o
	}
	obj, fn := StaticCallee(common)
	if obj != nil {
		if v := byTable(s, call, vocab.Of(obj), fn != nil); v.kind != top {
			o.results = []Value{v}
			return o
		}
	}
	if fn != nil && len(fn.Blocks) <= maxCalleeBlocks && s.level() < maxCalleeDepth && len(fn.Params) == len(common.Args) {
		if args, useful := arguments(s, call); useful {
			return g.prog.evaluate(fn, args, s.level()+1)
		}
	}
	for range common.Signature().Results().Len() {
		o.results = append(o.results, Top)
	}
	return o
}

// byTable returns what the vocabulary contains about the only result of a call.
func byTable(s view, at *ssa.Call, known vocab.Known, hasBody bool) Value {
	call := at.Common()
	results := call.Signature().Results()
	if results.Len() != 1 {
		return Top
	}
	result := results.At(0).Type()
	switch {
	case known.Is(vocab.Fails) && IsError(result):
		return NonNil
	case len(call.Args) == 0 || !IsError(call.Args[0].Type()):
		return Top
	case known.Is(vocab.Wraps) && IsError(result):
		return s.value(call.Args[0], at.Block())
	case IsBool(result) && (known.Is(vocab.Judges) && known.Evidence >= vocab.Library || !hasBody):
		// A nil error is not of any kind.
		switch s.value(call.Args[0], at.Block()).kind {
		case isNil:
			return Bool(false)
		case bottom:
			return Bottom
		}
	}
	return Top
}

// IsBool reports whether values of type t are bools.
func IsBool(t types.Type) bool { return IsBasic(t, types.IsBoolean) }

// IsBasic reports whether t is a basic type with one of the given properties.
func IsBasic(t types.Type, of types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&of != 0
}

// arguments returns what is known about the arguments of a call, and whether that may affect
// its outcome.
func arguments(s view, call *ssa.Call) (values []Value, useful bool) {
	args := call.Common().Args
	values = make([]Value, len(args))
	for i, arg := range args {
		v := s.value(arg, call.Block())
		switch {
		case v.kind == isNil, v.kind == nonNil && IsError(arg.Type()), v.kind == isConst && IsBool(arg.Type()):
			useful = true
		case v.kind == bottom:
		default:
			v = Top // more precision would only require another evaluation
		}
		values[i] = v
	}
	return values, useful
}
