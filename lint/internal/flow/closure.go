package flow

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Closure returns where a function literal is made, if it captures anything and that is one
// place, or nil.
func Closure(literal *ssa.Function) (made *ssa.MakeClosure) {
	for _, ref := range Refs(literal) {
		if closure, ok := ref.(*ssa.MakeClosure); ok {
			if made != nil {
				return nil
			}
			made = closure
		}
	}
	return made
}

// Declared returns the local variable that an address is, in whichever function it is declared,
// or nil.
func Declared(addr ssa.Value) *ssa.Alloc {
	for {
		captured, ok := addr.(*ssa.FreeVar)
		if !ok {
			break
		}
		addr = Binding(captured)
	}
	variable, _ := addr.(*ssa.Alloc)
	return variable
}

// Refs returns the instructions that use a value. It is not known for a value of the package.
func Refs(v ssa.Value) []ssa.Instruction {
	if r := v.Referrers(); r != nil {
		return *r
	}
	return nil
}

// Binding returns what a function literal captures as a variable, or nil.
func Binding(v *ssa.FreeVar) ssa.Value {
	closure := Closure(v.Parent())
	if closure == nil {
		return nil
	}
	return closure.Bindings[slices.Index(v.Parent().FreeVars, v)]
}
