package gen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// ruleGone is the rule about a change of what is generated: a run that changes
// nothing does not report it again.
const ruleGone = "P920"

// gone reports names of durable steps that the output of an earlier run has, and
// that the steps of this one neither have nor list as older names: what runs have
// recorded under these would be executed again.
func (r *resolver) gone(old []byte) (problems []policy.Problem) {
	before := stepNames(old)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if r.steps[name] != nil {
			continue
		}
		p := policy.Problem{
			File: r.unit.source, Pos: policy.Pos{Line: 1, Col: 1}, Rule: ruleGone, Severity: rules.Warning,
			Text: fmt.Sprintf("no durable step is named %s now: if another replaces it, add formerly: %s there, or open runs "+
				"execute it again", name, name),
		}
		if only := r.added(before); only != nil {
			p.Pos = only.pos
			p.Text = fmt.Sprintf("this durable step may be the one that was named %s: if so, add formerly: %s, or open runs "+
				"execute it again", name, name)
		}
		problems = append(problems, p)
	}
	return problems
}

// added returns the only step whose name is not among those before, or nil.
func (r *resolver) added(before map[string]bool) (only *namedStep) {
	for name, s := range r.steps {
		switch {
		case before[name]:
		case only != nil:
			return nil
		default:
			only = s
		}
	}
	return only
}

// stepNames returns the names of the durable steps in a generated file, with
// their older ones.
func stepNames(text []byte) map[string]bool {
	names := map[string]bool{}
	// Of a file with marks of a merge, there is what comes before these.
	file, _ := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if file == nil {
		return names
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if typ, ok := literal.Type.(*ast.SelectorExpr); !ok || typ.Sel.Name != "StepPolicy" {
			return true
		}
		for _, e := range literal.Elts {
			field, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			if key, ok := field.Key.(*ast.Ident); ok && (key.Name == "Name" || key.Name == "Formerly") {
				addStrings(names, field.Value)
			}
		}
		return false
	})
	return names
}

// addStrings adds the values of the string literals in an expression.
func addStrings(names map[string]bool, expr ast.Expr) {
	ast.Inspect(expr, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok {
			if name, err := strconv.Unquote(text.Value); err == nil {
				names[name] = true
			}
		}
		return true
	})
}
