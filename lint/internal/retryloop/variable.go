package retryloop

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// isShared reports whether addr is that of a local variable which stands in memory:
// closures or deferred calls share it.
func isShared(addr ssa.Value) bool {
	switch addr.(type) {
	case *ssa.Alloc, *ssa.FreeVar:
		return true
	}
	return false
}

// isWrittenElsewhere reports whether other functions may assign to a variable while
// that of addr runs: closures that are not deferred do, or the function around does
// after it has made the closure that shares the variable.
func isWrittenElsewhere(addr ssa.Value) bool {
	switch addr := addr.(type) {
	case *ssa.Alloc:
		return slices.ContainsFunc(closuresOf(addr), func(c *ssa.MakeClosure) bool {
			return assigns(c, addr, nil) && !runsAtEnd(c)
		})
	case *ssa.FreeVar:
		fn := addr.Parent()
		if fn.Parent() == nil {
			return true // made by no statement
		}
		for _, b := range fn.Parent().Blocks {
			for _, instr := range b.Instrs {
				made, ok := instr.(*ssa.MakeClosure)
				if !ok || made.Fn != ssa.Value(fn) {
					continue
				}
				bound := made.Bindings[slices.Index(fn.FreeVars, addr)]
				alloc, ok := bound.(*ssa.Alloc)
				if !ok {
					return true
				}
				return !isOnlyCalled(made) && slices.ContainsFunc(storesTo(alloc), func(store *ssa.Store) bool {
					return !precedes(store, made)
				}) ||
					slices.ContainsFunc(closuresOf(alloc), func(c *ssa.MakeClosure) bool {
						return assigns(c, alloc, fn) && !runsAtEnd(c)
					})
			}
		}
	}
	return true
}

// isOnlyCalled reports whether nothing is done with a closure but to call it: what made
// it waits until it has returned.
func isOnlyCalled(c *ssa.MakeClosure) bool {
	return !slices.ContainsFunc(*c.Referrers(), func(ref ssa.Instruction) bool {
		call, ok := ref.(*ssa.Call)
		_, debug := ref.(*ssa.DebugRef)
		return !debug && (!ok || call.Common().Value != ssa.Value(c))
	})
}

// closuresOf returns the closures that share a variable.
func closuresOf(v ssa.Value) (closures []*ssa.MakeClosure) {
	for _, ref := range *v.Referrers() {
		if c, ok := ref.(*ssa.MakeClosure); ok {
			closures = append(closures, c)
		}
	}
	return closures
}

// assigns reports whether a closure assigns to a variable, but where it is that of
// one function.
func assigns(c *ssa.MakeClosure, variable ssa.Value, but *ssa.Function) bool {
	fn := c.Fn.(*ssa.Function)
	for i, bound := range c.Bindings {
		if bound != variable {
			continue
		}
		free := fn.FreeVars[i]
		if fn != but && len(storesTo(free)) > 0 ||
			slices.ContainsFunc(closuresOf(free), func(c *ssa.MakeClosure) bool { return assigns(c, free, but) }) {
			return true
		}
	}
	return false
}

// countsIn reports whether each failure steps a variable that stands in memory.
func (r Retry) countsIn(addr ssa.Value) bool {
	if !isShared(addr) || isWrittenElsewhere(addr) {
		return false
	}
	stepped := false
	for _, store := range storesTo(addr) {
		if !r.failed.loop.blocks[store.Block()] {
			continue
		}
		step, ok := store.Val.(*ssa.BinOp)
		if !ok || step.Op != token.ADD && step.Op != token.SUB || !isConst(step.Y) || !isLoadOf(step.X, addr) {
			return false
		}
		stepped = stepped || r.isInEach(store.Block())
	}
	return stepped
}

func isLoadOf(v, addr ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	return ok && load.Op == token.MUL && load.X == addr
}

// returned returns the value of a result that a function returns. Where it defers
// calls, results stand in memory, and a deferred closure may have the last word.
func returned(ret *ssa.Return, result int) ssa.Value {
	v := ret.Results[result]
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL || load.Block() != ret.Block() {
		return v
	}
	alloc, ok := load.X.(*ssa.Alloc)
	if !ok || slices.ContainsFunc(closuresOf(alloc), func(c *ssa.MakeClosure) bool { return assigns(c, alloc, nil) }) {
		return v
	}
	for _, instr := range ret.Block().Instrs {
		if store, ok := instr.(*ssa.Store); ok && store.Addr == ssa.Value(alloc) {
			v = store.Val
		}
	}
	return v
}

// returnedError returns the value of the last result that a function returns, or nil
// if there is none.
func returnedError(ret *ssa.Return) ssa.Value {
	if len(ret.Results) == 0 {
		return nil
	}
	return returned(ret, len(ret.Results)-1)
}

// bindingOf returns what a captured variable holds, if it is captured in one
// place, and not assigned to afterwards.
func bindingOf(v *ssa.FreeVar) ssa.Value {
	outer := v.Parent().Parent()
	if outer == nil {
		return nil // what binds a method to its receiver is made by no statement
	}
	var closure *ssa.MakeClosure
	for _, b := range outer.Blocks {
		for _, instr := range b.Instrs {
			c, ok := instr.(*ssa.MakeClosure)
			if !ok || c.Fn != v.Parent() {
				continue
			}
			if closure != nil {
				return nil
			}
			closure = c
		}
	}
	if closure == nil {
		return nil
	}
	switch bound := closure.Bindings[slices.Index(v.Parent().FreeVars, v)].(type) {
	case *ssa.FreeVar:
		return bindingOf(bound)
	case *ssa.Alloc:
		return lastStored(bound, closure)
	default:
		return bound
	}
}

// captured returns what a captured variable holds that v is read from, if that is known, or nil.
func captured(v ssa.Value) ssa.Value {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return nil
	}
	variable, ok := load.X.(*ssa.FreeVar)
	if !ok {
		return nil
	}
	return bindingOf(variable)
}

// lastStored returns what a variable holds at an instruction, if each
// assignment to it comes before.
func lastStored(alloc *ssa.Alloc, at ssa.Instruction) ssa.Value {
	var last *ssa.Store
	for _, ref := range *alloc.Referrers() {
		store, ok := ref.(*ssa.Store)
		if !ok || store.Addr != alloc {
			continue
		}
		if !precedes(store, at) {
			return nil
		}
		if last == nil || precedes(last, store) {
			last = store
		}
	}
	if last == nil {
		return nil
	}
	return last.Val
}

// precedes reports whether a always runs before b does.
func precedes(a, b ssa.Instruction) bool {
	if a.Block() != b.Block() {
		return a.Block().Dominates(b.Block())
	}
	return slices.Index(a.Block().Instrs, a) < slices.Index(b.Block().Instrs, b)
}
