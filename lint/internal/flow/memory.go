package flow

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Cell is memory that can be named: a variable, or a field, at any depth, of the content of a
// variable or of a struct that a value points to.
type Cell struct {
	Base ssa.Value // an *ssa.Alloc, *ssa.FreeVar or *ssa.Global, or a pointer to the struct
	path string    // the indexes of the fields; empty for the variable itself
	last *types.Var
}

// CellAt returns the cell at an address. The second result is false for elements, and for
// memory that is reached through a pointer.
func CellAt(addr ssa.Value) (Cell, bool) {
	switch x := addr.(type) {
	case *ssa.Alloc, *ssa.FreeVar, *ssa.Global:
		return Cell{Base: x}, true
	case *ssa.FieldAddr:
		c := Cell{Base: Variable(x.X)}
		if outer, ok := x.X.(*ssa.FieldAddr); ok {
			c, _ = CellAt(outer)
		}
		c.path += fmt.Sprintf(".%d", x.Field)
		c.last = FieldOf(x)
		return c, true
	}
	return Cell{}, false
}

// Variable returns the variable from which a value was read, or otherwise the value itself.
func Variable(v ssa.Value) ssa.Value {
	if load, ok := v.(*ssa.UnOp); ok && load.Op == token.MUL {
		switch x := load.X.(type) {
		case *ssa.Alloc, *ssa.FreeVar, *ssa.Global:
			return x
		}
	}
	return v
}

// OnlyStored returns the value of the only assignment to a variable. It returns nil if there
// are several, also to parts of the variable, or if other code may write to the variable.
func OnlyStored(v *ssa.Alloc) ssa.Value {
	if stores := Stores(v); len(stores) == 1 && UseOf(v)&(Divided|Shared) == 0 {
		return stores[0].Val
	}
	return nil
}

// Stores returns the store instructions to an address and to parts of the memory there.
func Stores(addr ssa.Value) (stores []*ssa.Store) {
	for _, ref := range Refs(addr) {
		switch ref := ref.(type) {
		case *ssa.Store:
			if ref.Addr == addr {
				stores = append(stores, ref)
			}
		case *ssa.FieldAddr, *ssa.IndexAddr:
			stores = append(stores, Stores(ref.(ssa.Value))...)
		}
	}
	return stores
}

// FieldOf returns the field that an address selects, as declared by its generic type.
func FieldOf(x *ssa.FieldAddr) *types.Var {
	t := types.Unalias(x.X.Type()).Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	if s, ok := t.(*types.Struct); ok {
		return s.Field(x.Field).Origin()
	}
	return nil
}

// A Use is a set that describes how the address of a variable is used.
type Use uint8

// The uses.
const (
	Assigned Use = 1 << iota // the variable, or a part of it, is assigned
	Divided                  // the address of a part of the variable is used
	Enclosed                 // a function literal captures the variable
	Shared                   // the address is stored or passed on, or a literal that captures it does so or assigns it
)

// UseOf returns how an address is used.
func UseOf(addr ssa.Value) (use Use) {
	for _, ref := range Refs(addr) {
		switch ref := ref.(type) {
		case *ssa.Store:
			if ref.Val == addr {
				use |= Shared
			} else {
				use |= Assigned
			}
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.FieldAddr, *ssa.IndexAddr:
			use |= Divided | UseOf(ref.(ssa.Value))
		case *ssa.MakeClosure:
			use |= Enclosed
			if StoresThrough(ref, addr) {
				use |= Shared
			}
		default:
			use |= Shared
		}
	}
	return use
}

// Escapes reports whether other functions may write to a local variable.
func Escapes(addr ssa.Value) bool { return UseOf(addr)&Shared != 0 }

// isConcurrent reports whether a goroutine may write to a variable while its function runs.
func isConcurrent(variable ssa.Value) bool {
	for _, ref := range Refs(variable) {
		literal, ok := ref.(*ssa.MakeClosure)
		if !ok || !StoresThrough(literal, variable) {
			continue
		}
		for _, use := range *literal.Referrers() {
			if start, ok := use.(*ssa.Go); ok && start.Call.Value == ssa.Value(literal) {
				return true
			}
		}
	}
	return false
}

// StoresThrough reports whether a function literal may write to a variable that it captures, or
// pass on its address.
func StoresThrough(literal *ssa.MakeClosure, variable ssa.Value) bool {
	i := slices.Index(literal.Bindings, variable)
	return i >= 0 && UseOf(literal.Fn.(*ssa.Function).FreeVars[i])&(Assigned|Shared) != 0
}

// A merge is the value of a phi, or of a cell, where paths meet.
type merge struct {
	of    definition // the phi; for a cell, the merge itself
	block *ssa.BasicBlock
	edges []definition // by predecessor
}

// mergeOf returns the merge for a definition, or nil.
func (g *graph) mergeOf(d definition) *merge {
	switch d := d.(type) {
	case *merge:
		return d
	case *ssa.Phi:
		return g.phis[d]
	}
	return nil
}

// A member is a field of the result of a call, or a field of the struct to which the result
// points. Its value is known only if it is assumed.
type member struct {
	result ssa.Value
	field  *types.Var
}

// memberOf returns the member that an instruction selects.
func memberOf(x *ssa.Field) (member, bool) {
	s, ok := x.X.Type().Underlying().(*types.Struct)
	if !ok || !isResult(x.X) {
		return member{}, false
	}
	return member{x.X, s.Field(x.Field).Origin()}, true
}

// isResult reports whether a value is a result of a call.
func isResult(v ssa.Value) bool {
	if x, ok := v.(*ssa.Extract); ok {
		v = x.Tuple
	}
	_, ok := v.(*ssa.Call)
	return ok
}

// isDirect reports whether a cell is a direct field of its base, not a field of a field.
func (c Cell) isDirect() bool { return c.last != nil && strings.Count(c.path, ".") == 1 }

// A definition is the origin of a value: an ssa.Value, a *merge, a member, or a Value that does
// not depend on anything else.
type definition any

// A cellAt is a cell at the start of a block.
type cellAt struct {
	cell  Cell
	block *ssa.BasicBlock
}

// A memory finds the definitions that reach the loads of a function. It converts cells into SSA
// form on demand. Where paths meet, the values of a cell are joined in a merge.
type memory struct {
	g       *graph
	written map[Cell]bool
	starts  map[cellAt]definition
	escapes map[*ssa.Alloc]bool
	merges  [][]*merge // by block index
}

// resolve records, for each cell that the function writes, the definitions that reach its
// loads.
func (g *graph) resolve() {
	m := &memory{g: g, written: map[Cell]bool{}, starts: map[cellAt]definition{}, escapes: map[*ssa.Alloc]bool{},
		merges: make([][]*merge, len(g.fn.Blocks))}
	var loads []*ssa.UnOp
	for instr := range Instructions(g.fn.Blocks) {
		switch instr := instr.(type) {
		case *ssa.Store:
			if c, ok := CellAt(instr.Addr); ok {
				m.written[c] = true
			}
		case *ssa.UnOp:
			if instr.Op == token.MUL {
				loads = append(loads, instr)
			}
		case *ssa.Field:
			if d, ok := memberOf(instr); ok {
				g.members[instr.X] = append(g.members[instr.X], d)
				g.readers[d] = append(g.readers[d], instr)
			}
		}
	}
	for _, load := range loads {
		c, ok := CellAt(load.X)
		if ok && m.written[c] && !isConcurrent(c.Base) {
			g.loads[load] = m.before(c, load.Block(), indexIn(load.Block(), load))
		} else if ok && isResult(c.Base) && c.isDirect() {
			g.loads[load] = member{c.Base, c.last}
		}
	}
	for load, d := range g.loads {
		if of, ok := d.(member); ok {
			g.members[of.result] = append(g.members[of.result], of)
		}
		g.readers[d] = append(g.readers[d], load)
	}
	for _, merges := range m.merges {
		for _, at := range merges {
			for _, d := range at.edges {
				g.readers[d] = append(g.readers[d], at)
			}
		}
	}
	g.merges = m.merges
}

func indexIn(b *ssa.BasicBlock, instr ssa.Instruction) int {
	if i := slices.Index(b.Instrs, instr); i >= 0 {
		return i
	}
	return len(b.Instrs)
}

// before returns the definition of a cell before instruction n of a block.
func (m *memory) before(c Cell, b *ssa.BasicBlock, n int) definition {
	for i := n - 1; i >= 0; i-- {
		if d := m.set(c, b.Instrs[i]); d != nil {
			return d
		}
	}
	return m.start(c, b)
}

// start returns the definition of a cell at the start of a block.
func (m *memory) start(c Cell, b *ssa.BasicBlock) definition {
	at := cellAt{c, b}
	if d, ok := m.starts[at]; ok {
		return d
	}
	switch len(b.Preds) {
	case 0:
		m.starts[at] = Top
	case 1:
		m.starts[at] = Top // for a cycle of single predecessors, which is unreachable
		m.starts[at] = m.before(c, b.Preds[0], len(b.Preds[0].Instrs))
	default:
		meet := &merge{block: b}
		meet.of = meet
		m.starts[at] = meet
		for _, p := range b.Preds {
			meet.edges = append(meet.edges, m.before(c, p, len(p.Instrs)))
		}
		m.merges[b.Index] = append(m.merges[b.Index], meet)
	}
	return m.starts[at]
}

// set returns the value to which an instruction sets a cell, or nil if it does not change the
// cell.
func (m *memory) set(c Cell, instr ssa.Instruction) definition {
	switch instr := instr.(type) {
	case *ssa.Alloc:
		if instr == c.Base {
			if c.last != nil {
				return zero(c.last.Type())
			}
			return zero(instr.Type().(*types.Pointer).Elem())
		}
	case *ssa.Store:
		return m.stored(c, instr)
	case ssa.CallInstruction:
		if _, later := instr.(*ssa.Defer); !later && m.isShared(c) && !keeps(instr.Common()) {
			return Top
		}
	}
	return nil
}

// stored does the same as set, for a store instruction.
func (m *memory) stored(c Cell, store *ssa.Store) definition {
	to, ok := CellAt(store.Addr)
	switch {
	case !ok:
		if m.isShared(c) && types.Identical(store.Val.Type(), c.typ()) {
			return Top // through a pointer
		}
	case to == c:
		return definition(store.Val)
	case to.Base == c.Base && to.last == nil && isResult(store.Val) && c.isDirect():
		return member{store.Val, c.last}
	case to.Base == c.Base && (to.last == nil || c.last == nil):
		return Top // a store of the whole struct, or of a part of the cell
	case to.last != nil && to.last == c.last && m.isShared(c) && m.isShared(to):
		return Top // possibly the same field of the same struct
	}
	return nil
}

// typ returns the type of the values in a cell.
func (c Cell) typ() types.Type {
	if c.last != nil {
		return c.last.Type()
	}
	if p, ok := c.Base.Type().Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return c.Base.Type()
}

// isShared reports whether other functions may write to a cell.
func (m *memory) isShared(c Cell) bool {
	v, ok := c.Base.(*ssa.Alloc)
	if !ok {
		return true
	}
	// The memory that a variable points to may be shared although the variable is not.
	if c.last != nil && isPointer(v.Type().(*types.Pointer).Elem()) {
		return true
	}
	shared, ok := m.escapes[v]
	if !ok {
		shared = Escapes(v)
		m.escapes[v] = shared
	}
	return shared
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}
