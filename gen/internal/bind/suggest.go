package bind

import (
	"go/token"
	"go/types"
	"slices"

	"github.com/retrygen/retrygen/internal/spelling"
)

// names returns the names declared in p that code of the package home can use.
func (p *Package) names(home *Package) []string {
	return slices.DeleteFunc(p.types.Scope().Names(), func(name string) bool {
		return p != home && !token.IsExported(name)
	})
}

// DidYouMean suggests the candidate that is most similar to name, such as ": did you mean
// Fetch?", or "" if none is similar.
func DidYouMean(name string, candidates []string) string {
	if best := spelling.Nearest(name, candidates); best != "" {
		return ": " + spelling.Question(best)
	}
	return ""
}

// methodNamed returns the symbol of a method of which the user has written only the name, such
// as Client.Price. It returns "" if no type, or more than one, has such a method.
func (p *Package) methodNamed(name string, home *Package) (symbol string) {
	for _, typ := range p.names(home) {
		declared, ok := p.types.Scope().Lookup(typ).(*types.TypeName)
		if !ok || declared.IsAlias() {
			continue
		}
		method, _, _ := types.LookupFieldOrMethod(declared.Type(), true, p.types, name)
		if _, ok := method.(*types.Func); !ok || p != home && !method.Exported() {
			continue
		}
		if symbol != "" {
			return ""
		}
		symbol = typ + "." + name
	}
	return symbol
}
