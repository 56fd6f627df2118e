package effect

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Write is an instruction that assigns, or may assign, to a field, a global variable or a
// cell.
type Write struct {
	At    ssa.Instruction
	Value ssa.Value // nil: unknown. For a copy of a struct, the whole struct
	Fresh bool      // the object is created in the same function
}

// key returns the key of the region in Package.writes, which is the same for all objects.
func (r Region) key() Region {
	if r.Kind != Cell {
		r.From = Root{}
	}
	return r
}

// index records the writes of a function.
func (p *Package) index(fn *ssa.Function) {
	for i := range flow.Instructions(fn.Blocks) {
		switch i := i.(type) {
		case *ssa.Store:
			p.wrote(Write{i, i.Val, isFresh(i.Addr)}, regionsAt(i.Addr))
		case *ssa.FieldAddr:
			if isGiven(i) {
				p.wrote(Write{i, nil, isFresh(i)}, regionsAt(i))
			}
		case ssa.CallInstruction:
			for _, arg := range i.Common().Args {
				if g, ok := arg.(*ssa.Global); ok && mayWrite(i) {
					p.wrote(Write{i, nil, false}, regionsAt(g))
				}
			}
		}
	}
}

func (p *Package) wrote(w Write, regions []Region) {
	initial := isInitializer(w.At.Parent())
	for _, r := range regions {
		w.Fresh = w.Fresh || r.Kind == Global && initial
		p.writes[r.key()] = append(p.writes[r.key()], w)
	}
}

// Writes returns the instructions that assign to the field or the global variable at an
// address.
func (p *Package) Writes(addr ssa.Value) []Write {
	r, _ := regionAt(addr)
	return p.writes[r.key()]
}

// Assigned returns the values that are assigned to the field or the global variable at an
// address, except copies of structs. all reports whether there is at least one, and all values
// are known.
func (p *Package) Assigned(addr ssa.Value) (values []ssa.Value, all bool) {
	for _, w := range p.Writes(addr) {
		if w.Value == nil {
			return nil, false
		}
		if _, copied := w.Value.Type().Underlying().(*types.Struct); !copied {
			values = append(values, w.Value)
		}
	}
	return values, len(values) > 0
}

// isInitializer reports whether a function runs only before main.
func isInitializer(fn *ssa.Function) bool {
	return fn.Parent() == nil && fn.Signature.Recv() == nil && (fn.Object() == nil || fn.Object().Name() == "init")
}

// isGiven reports whether the address of a field is passed to code that may write to the field.
func isGiven(f *ssa.FieldAddr) bool {
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

// mayWrite reports whether a call may write to variables whose addresses are among its
// arguments.
func mayWrite(c ssa.CallInstruction) bool {
	obj := objectOf(c.Common())
	if obj == nil {
		return true
	}
	known := vocab.Of(obj)
	return known.Is(vocab.Stores) || !known.Is(vocab.Loads|vocab.Logs|vocab.Pure) || known.Evidence == vocab.Named
}

// isFresh reports whether an address is in an object that its function creates.
func isFresh(addr ssa.Value) bool {
	_, made := flow.Source(addr, flow.Addressed).(*ssa.Alloc)
	return made
}

// isChanged reports whether other code may write to a region while a function runs: code
// outside the program, code of another package, or a function of this package that is not in
// own. Objects that are being created are not shared yet.
func (p *Package) isChanged(r Region, own map[*ssa.Function]bool) bool {
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
	return slices.ContainsFunc(p.writes[r.key()], func(w Write) bool {
		return (!w.Fresh || r.Kind == Cell) && !own[w.At.Parent()]
	})
}

// isForeign reports whether other packages may write to a field or a global variable, because
// it belongs to another package, or because it and its type are exported.
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

// IsConstant reports whether the field or the package variable at an address is a setting. A
// field that nothing assigns is not constant, because code that is not visible sets it, such as
// a decoder.
func (p *Package) IsConstant(addr ssa.Value) bool {
	r, _ := regionAt(addr)
	return p.IsSetting(r) && (r.Kind == Global || len(p.writes[r.key()]) > 0)
}

// IsSetting reports whether a field is assigned only where its object is created, or a global
// variable only where it is declared.
func (p *Package) IsSetting(r Region) bool { return !p.isChanged(r, nil) }
