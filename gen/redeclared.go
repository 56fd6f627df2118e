package gen

import (
	"fmt"
	"go/scanner"
	"go/token"
	"go/types"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// redeclared reports a predeclared name of Go, such as string, error or nil, that
// the generated code uses and the package declares with another meaning.
func redeclared(u *unit, text []byte) (policy.Problem, bool) {
	positions := map[string]string{}
	for _, name := range types.Universe.Names() {
		if where, ok := u.pkg.Clash(name); ok && u.pkg.Taken(name) {
			positions[name] = where
		}
	}
	if len(positions) == 0 {
		return policy.Problem{}, false
	}
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(text)), text, nil, 0)
	for before := token.ILLEGAL; ; {
		_, tok, name := s.Scan()
		where, ok := positions[name]
		switch {
		case tok == token.EOF:
			return policy.Problem{}, false
		case tok == token.IDENT && ok && before != token.PERIOD:
			return policy.Problem{
				File: u.source, Pos: policy.Pos{Line: 1, Col: 1}, Rule: "P904", Severity: rules.Error,
				Text: fmt.Sprintf("generated code needs Go's own %s, but in this package %s %s: rename that", name, name, where),
			}, true
		}
		before = tok
	}
}
