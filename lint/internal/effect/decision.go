package effect

import (
	"go/constant"
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// decisions finds by what a function decides to return nil in place of its work, or an error
// of its own: the conditions that lead straight to such a return, and what calls decide
// whose errors it returns.
func (p *Package) decisions(fn *ssa.Function, e *Effects) {
	results := fn.Signature.Results()
	n := results.Len() - 1
	if n < 0 || !flow.IsError(results.At(n).Type()) && !flow.IsBool(results.At(n).Type()) {
		return
	}
	for ret := range flow.Returns(fn) {
		p.passOn(ret.Results[n], ret.Block(), e)
		p.arrivals(ret.Block(), ret.Results[n], 0, e)
	}
}

// passOn adds what a call decides whose error is returned: unless that is known not to be nil,
// whether it skips its work, too.
func (p *Package) passOn(v ssa.Value, b *ssa.BasicBlock, e *Effects) {
	c := callOf(v)
	if c == nil {
		return
	}
	callee, decided := p.At(c), skips|refuses
	if flow.IsFailure(v, b) {
		decided = refuses
	}
	e.join(callee, decided)
	if regions := p.read(c); !flow.IsError(v.Type()) || regions[Region{Kind: Context}] {
		for r := range regions {
			e.add(r, refuses)
		}
	}
}

// read returns what the result of a call depends on, other than the World.
func (p *Package) read(c *ssa.Call) Set {
	s := Set{}
	for r := range p.At(c).Regions(Reads) {
		if r.Kind != World && r.Kind != Reach {
			s[r] = true
		}
	}
	return s
}

// maxJumps limits how many jumps lie between a condition and the return that it leads to.
const maxJumps = 4

// arrivals adds the conditions that lead straight to a block where v is returned.
func (p *Package) arrivals(b *ssa.BasicBlock, v ssa.Value, jumps int, e *Effects) {
	if jumps > maxJumps {
		return
	}
	load, _ := v.(*ssa.UnOp)
	if load != nil && isVariable(load.X) {
		if s := lastStore(b, load.X); s != nil {
			v, load = s.Val, nil
		}
	}
	for k, pred := range b.Preds {
		val := v
		if phi, ok := v.(*ssa.Phi); ok && phi.Block() == b {
			val = phi.Edges[k]
		}
		switch i := pred.Instrs[len(pred.Instrs)-1].(type) {
		case *ssa.Jump:
			p.arrivals(pred, val, jumps+1, e)
		case *ssa.If:
			if load != nil && isVariable(load.X) {
				val = reaching(load, pred)
			}
			v := verdictOn(val)
			if v == 0 || pred.Succs[0] == pred.Succs[1] {
				continue
			}
			d := decision{p: p, e: e, verdict: v, seen: map[ssa.Value]bool{}}
			d.on(i.Cond, pred.Succs[0] == b)
		}
	}
}

// reaching returns what a variable that is read in another block holds at the end of b, or nil
// if that may be several things. A result that is not set yet is nil.
func reaching(load *ssa.UnOp, b *ssa.BasicBlock) (v ssa.Value) {
	same := true
	add := func(val ssa.Value) {
		same = same && (v == nil || v == val || flow.IsNil(v) && flow.IsNil(val))
		v = val
	}
	goesOn := func(b *ssa.BasicBlock, _ int) bool { return lastStore(b, load.X) == nil }
	for b := range flow.Before([]*ssa.BasicBlock{b}, goesOn) {
		if s := lastStore(b, load.X); s != nil {
			add(s.Val)
		} else if len(b.Preds) == 0 {
			add(ssa.NewConst(nil, load.Type()))
		}
	}
	if !same {
		return nil
	}
	return v
}

func lastStore(b *ssa.BasicBlock, addr ssa.Value) *ssa.Store {
	for i := len(b.Instrs) - 1; i >= 0; i-- {
		if s, ok := b.Instrs[i].(*ssa.Store); ok && s.Addr == addr {
			return s
		}
	}
	return nil
}

// verdictOn returns what it is to return a value: 0 if it is the outcome of other calls.
func verdictOn(v ssa.Value) verdict {
	switch x := v.(type) {
	case *ssa.Const:
		if x.Value == nil || x.Value.Kind() == constant.Bool && constant.BoolVal(x.Value) {
			return skipping
		}
		return refusing
	case *ssa.MakeInterface:
		return refusing
	case *ssa.UnOp:
		if _, ok := x.X.(*ssa.Global); ok {
			return refusing
		}
	case *ssa.Call:
		if obj := objectOf(&x.Call); obj != nil && vocab.Of(obj).Is(vocab.Fails) || isContextMethod(&x.Call) {
			return refusing
		}
	}
	return 0
}

// A decision collects what a condition depends on.
type decision struct {
	p       *Package
	e       *Effects // to which it adds
	verdict verdict
	seen    map[ssa.Value]bool
}

func (d *decision) add(r Region, need Need) {
	if _, answer := r.From.Value.(*ssa.Call); !answer {
		d.e.add(r, Access(need)<<d.verdict)
	}
}

// on follows a condition that must have a truth value.
func (d *decision) on(cond ssa.Value, value bool) {
	need := Zero
	if value {
		need = NotZero
	}
	switch x := cond.(type) {
	case *ssa.UnOp:
		if x.Op == token.NOT {
			d.on(x.X, !value)
			return
		}
	case *ssa.BinOp:
		if x.Op != token.EQL && x.Op != token.NEQ || !isZero(x.Y) {
			d.from(x, Any)
			return
		}
		if (x.Op == token.EQL) == value {
			need = Zero
		} else {
			need = NotZero
		}
		cond = x.X
	}
	d.from(cond, need)
}

func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && (c.Value == nil || c.Value.Kind() == constant.Bool && !constant.BoolVal(c.Value) ||
		c.Value.Kind() == constant.Int && constant.Sign(c.Value) == 0)
}

// from follows a value back to the regions that it is made of.
func (d *decision) from(v ssa.Value, need Need) {
	if d.seen[v] || len(d.seen) > 100 {
		return
	}
	d.seen[v] = true
	switch x := v.(type) {
	case *ssa.UnOp:
		switch x.Op {
		case token.MUL:
			for _, r := range regionsAt(x.X) {
				d.add(r, need)
			}
		case token.ARROW:
			d.add(regionOfChannel(x.X), Any)
		default:
			d.from(x.X, Any)
		}
	case *ssa.Call:
		d.call(x, need)
	case *ssa.Select:
		for _, s := range x.States {
			d.add(regionOfChannel(s.Chan), Any)
		}
	case *ssa.Extract:
		d.from(x.Tuple, Any)
	case *ssa.Lookup:
		d.add(Region{Element, elementName(x.X.Type()), rootOf(x.X)}, Any)
	case *ssa.Phi:
		for _, e := range x.Edges {
			d.from(e, need)
		}
	case ssa.Instruction:
		for _, o := range x.Operands(nil) {
			if *o != nil {
				d.from(*o, Any)
			}
		}
	}
}

// call follows the result of a call: what the callee decides by, if it returns an error; else
// what it reads.
func (d *decision) call(c *ssa.Call, need Need) {
	if flow.ReturnsError(c.Call.Signature()) && !isContextMethod(&c.Call) {
		for r, a := range d.p.At(c).Access {
			d.add(r, a.need(skipping))
		}
		return
	}
	reads := d.p.read(c)
	if len(reads) > 1 {
		need = Any
	}
	for r := range reads {
		d.add(r, need)
	}
	for _, arg := range c.Call.Args {
		if !IsReference(arg.Type()) {
			d.from(arg, Any)
		}
	}
}
