package flow

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Closure returns the instruction that creates a function literal, or nil if the literal
// captures nothing or is created in several places.
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

// Declared returns the local variable at an address, in whichever function it is declared, or
// nil.
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

// Refs returns the instructions that use a value. For a value of the package, such as a global
// variable, they are unknown, and Refs returns nil.
func Refs(v ssa.Value) []ssa.Instruction {
	if r := v.Referrers(); r != nil {
		return *r
	}
	return nil
}

// Binding returns the value that a function literal captures in a variable, or nil.
func Binding(v *ssa.FreeVar) ssa.Value {
	closure := Closure(v.Parent())
	if closure == nil {
		return nil
	}
	return closure.Bindings[slices.Index(v.Parent().FreeVars, v)]
}
