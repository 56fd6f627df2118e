package effect

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A write is a place where a function assigns to a field, a global variable or a cell.
type write struct {
	fn    *ssa.Function
	value Need // what the region may be afterwards
	fresh bool // the object is made there
}

// key returns the region under which the writes of all objects are found.
func (r Region) key() Region {
	if r.Kind != Cell {
		r.From = Root{}
	}
	return r
}

// index records the writes of a function, and how it uses literals.
func (p *Package) index(fn *ssa.Function) {
	for i := range flow.Instructions(fn.Blocks) {
		switch i := i.(type) {
		case *ssa.Store:
			whole := isStruct(i.Val.Type())
			for _, r := range regionsAt(i.Addr) {
				value := Any
				if !whole {
					value = valueOf(i.Val)
				}
				p.wrote(fn, r, value, isFresh(i.Addr))
			}
		case *ssa.FieldAddr:
			if IsGiven(i) {
				for _, r := range regionsAt(i) {
					p.wrote(fn, r, Any, isFresh(i))
				}
			}
		case ssa.CallInstruction:
			for _, arg := range i.Common().Args {
				if g, ok := arg.(*ssa.Global); ok && mayWrite(i) {
					r, _ := regionAt(g)
					p.wrote(fn, r, Any, false)
				}
			}
		}
		p.indexLiterals(i)
	}
}

func (p *Package) wrote(fn *ssa.Function, r Region, value Need, fresh bool) {
	k := r.key()
	fresh = fresh || r.Kind == Global && isInitializer(fn)
	p.writes[k] = append(p.writes[k], write{fn, value, fresh})
}

// isInitializer reports whether a function runs before main, and only then.
func isInitializer(fn *ssa.Function) bool {
	return fn.Parent() == nil && fn.Signature.Recv() == nil && (fn.Object() == nil || fn.Object().Name() == "init")
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// valueOf returns what a region may be that is given a value.
func valueOf(v ssa.Value) Need {
	if isZero(v) {
		return Zero
	}
	switch x := v.(type) {
	case *ssa.Const:
		if x.Value != nil && x.Value.Kind() == constant.String && constant.StringVal(x.Value) == "" {
			return Zero
		}
		return NotZero
	case *ssa.Alloc, *ssa.MakeMap, *ssa.MakeChan, *ssa.MakeSlice, *ssa.MakeClosure, *ssa.MakeInterface:
		return NotZero
	}
	return Any
}

// IsGiven reports whether the address of a field is given to what may write there.
func IsGiven(f *ssa.FieldAddr) bool {
	return slices.ContainsFunc(*f.Referrers(), func(r ssa.Instruction) bool {
		switch r := r.(type) {
		case *ssa.UnOp, *ssa.DebugRef, *ssa.FieldAddr, *ssa.IndexAddr:
			return false
		case *ssa.Store:
			return r.Val == f
		case ssa.CallInstruction:
			return mayWrite(r)
		}
		return true
	})
}

// mayWrite reports whether a call may write to what it is given the address of.
func mayWrite(c ssa.CallInstruction) bool {
	obj := objectOf(c.Common())
	if obj == nil {
		return true
	}
	known := vocab.Of(obj)
	return known.Is(vocab.Stores) || !known.Is(vocab.Loads|vocab.Logs|vocab.Pure) || known.Evidence == vocab.Named
}

// isFresh reports whether an address is in an object that its function makes.
func isFresh(addr ssa.Value) bool {
	_, made := flow.Source(addr, flow.Addressed).(*ssa.Alloc)
	return made
}

// MayBecome reports whether somebody may write what is needed to a region while a function
// runs: code outside of the program, of another package, or one of the functions of the
// package for which by reports true. Objects that are being made are not shared yet.
func (p *Package) MayBecome(r Region, need Need, by func(*ssa.Function) bool) bool {
	switch r.Kind {
	case World, Reach:
		return false
	case Global, Field:
		if p.isForeign(r.Name) {
			return true
		}
	case Cell:
	default:
		return true
	}
	for _, w := range p.writes[r.key()] {
		if (!w.fresh || r.Kind == Cell) && w.value&need != 0 && by(w.fn) {
			return true
		}
	}
	return false
}

// isForeign reports whether other packages may write to a field or a global variable: it is
// exported, as is the type, or not of this package.
func (p *Package) isForeign(name string) bool {
	rest, own := strings.CutPrefix(name, p.path+".")
	if !own {
		return true
	}
	for part := range strings.SplitSeq(rest, ".") {
		if !token.IsExported(part) {
			return false
		}
	}
	return true
}

// IsConstant reports whether only initializers write to a variable of the package.
func (p *Package) IsConstant(g *ssa.Global) bool {
	r, _ := regionAt(g)
	return p.IsSetting(r)
}

// IsSetting reports whether a field is assigned only where its object is made, or a global
// variable only where it is declared.
func (p *Package) IsSetting(r Region) bool {
	return !p.MayBecome(r, Any, func(*ssa.Function) bool { return true })
}
