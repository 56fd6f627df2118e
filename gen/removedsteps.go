package gen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// ruleStepRemoved is the rule that removedSteps reports. It compares with the
// output of the last run, so that a run that changes nothing does not report it.
const ruleStepRemoved = "P920"

// removedSteps reports the names of durable steps in the output of the last run
// that no step of this run has, not even as an older name. Runs that recorded
// such a step would execute it again. It also reports steps that have their name
// and another function: calls in runs that recorded them fail.
func (r *resolver) removedSteps(old []byte) (problems []policy.Problem) {
	before := stepNames(old)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if s := r.steps[name]; s != nil {
			if f := before[name]; f != "" && name == s.name && f != s.function && r.steps[f] != s {
				problems = append(problems, policy.Problem{
					File: r.unit.source, Pos: s.pos, Rule: ruleStepRemoved, Severity: rules.Warning,
					Text: fmt.Sprintf("durable step %s was recorded by %s: if this is the same function, add formerly: %s, or its "+
						"calls in open runs fail", name, f, f),
				})
			}
			continue
		}
		p := policy.Problem{
			File: r.unit.source, Pos: policy.Pos{Line: 1, Col: 1}, Rule: ruleStepRemoved, Severity: rules.Warning,
			Text: fmt.Sprintf("no durable step is named %s now: if another replaces it, add formerly: %s there, or open runs "+
				"execute it again", name, name),
		}
		if only := r.onlyNewStep(before); only != nil {
			p.Pos = only.pos
			p.Text = fmt.Sprintf("this durable step may be the one that was named %s: if so, add formerly: %s, or open runs "+
				"execute it again", name, name)
		}
		problems = append(problems, p)
	}
	return problems
}

// onlyNewStep returns the step whose name is not in before, or nil unless there
// is exactly one.
func (r *resolver) onlyNewStep(before map[string]string) (only *namedStep) {
	for name, s := range r.steps {
		_, known := before[name]
		switch {
		case known:
		case only != nil && only != s:
			return nil
		default:
			only = s
		}
	}
	return only
}

// stepNames returns the current and older names of the durable steps in a
// generated file, with the functions of the current ones.
func stepNames(text []byte) map[string]string {
	names := map[string]string{}
	// A file with conflict marks is parsed up to the first mark.
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
		fields := map[string][]string{}
		for _, e := range literal.Elts {
			if field, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := field.Key.(*ast.Ident); ok {
					fields[key.Name] = stringsOf(field.Value)
				}
			}
		}
		for _, older := range fields["Formerly"] {
			names[older] = ""
		}
		for _, name := range fields["Name"] {
			names[name] = strings.Join(fields["Function"], "")
		}
		return false
	})
	return names
}

// stringsOf returns the values of the string literals in an expression.
func stringsOf(expr ast.Expr) (values []string) {
	ast.Inspect(expr, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok {
			if value, err := strconv.Unquote(text.Value); err == nil {
				values = append(values, value)
			}
		}
		return true
	})
	return values
}
