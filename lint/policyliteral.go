package lint

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/retrygen/retrygen/lint/internal/policies"
	"github.com/retrygen/retrygen/lint/internal/vocab"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

const runtimePath = "github.com/retrygen/retrygen/runtime"

// PolicyLiteral reports violations of the P rules in policies and gRPC service configs.
var PolicyLiteral = &analysis.Analyzer{
	Name: "policyliteral",
	Doc: `policyliteral: report retry.Policy literals that break a rule of policy files

A policy in Go code is checked like one in retry.yaml, by the same rules. So is
a gRPC service config that is a constant argument of grpc.WithDefaultServiceConfig.

## Example

	var read = retry.Policy{Schedule: retry.Schedule{MaxAttempts: retry.Unlimited}}

## Fixed

	var read = retry.Policy{
		Schedule:    retry.Schedule{MaxAttempts: retry.Unlimited},
		DelayBudget: time.Minute,
	}

## Not reported

- Policies in the code that retrygen generates: retrygen reports them in the policy file.
- Fields that are not constant.
- Fields that the package assigns to anywhere.`,
	URL:        pageOf("P300"),
	Requires:   []*analysis.Analyzer{inspect.Analyzer, directiveIndex},
	ResultType: used,
	Flags:      requestFlags(),
	Run:        runPolicyLiteral,
}

func runPolicyLiteral(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	r.serviceConfigs(root)
	if imports(pass, runtimePath) {
		r.policies(root)
	}
	return r.used, nil
}

// policies reports rule violations in the retry.Policy literals of a package.
func (r *report) policies(root inspector.Cursor) {
	pass := r.pass
	assigned := assignedFields(pass, root, runtimePath)
	for cur := range root.Preorder((*ast.CompositeLit)(nil)) {
		lit := cur.Node().(*ast.CompositeLit)
		if !vocab.IsType(pass.TypesInfo.TypeOf(lit), runtimePath, "Policy") || isOutput(fileOf(pass, lit.Pos())) {
			continue
		}
		// Have: retry.Policy{…}
		policy, values := new(retry.Policy), map[string]fieldValue{}
		if !readFields(pass, lit, reflect.ValueOf(policy).Elem(), values) {
			continue
		}
		known := func(f rules.Field) bool { return isKnown(f, policy, values, assigned) }
		for _, f := range rules.Check(policy, known) {
			if f.Severity == rules.Info && !informs(f.Rule) {
				continue
			}
			at := ast.Node(lit)
			if v, ok := values[goName(f.Field)]; ok {
				at = v.expr
			}
			r.at(at.Pos(), at.End(), Proven, f.Rule, "%s", f.In(inGo))
		}
	}
}

// assignedFields returns the names of the fields, of types in the packages at paths, that the
// analyzed package assigns to outside of literals.
func assignedFields(pass *analysis.Pass, root inspector.Cursor, paths ...string) map[string]bool {
	assigned := map[string]bool{}
	for obj := range assignments(pass, root) {
		v, ok := obj.(*types.Var)
		if ok && v.IsField() && v.Pkg() != nil && slices.Contains(paths, v.Pkg().Path()) {
			assigned[v.Name()] = true
		}
	}
	return assigned
}

// isKnown reports whether a field of a policy certainly has the value that its literal sets.
func isKnown(f rules.Field, p *retry.Policy, values map[string]fieldValue, assigned map[string]bool) bool {
	switch f {
	case "retry_after":
		// The default applies only to some errors. Which errors are retried must be known, too.
		if p.RetryAfter.Default != 0 &&
			(!isKnown("retry_on", p, values, assigned) || !isKnown("abort_on", p, values, assigned)) {
			return false
		}
	case "retry_on", "abort_on":
		// The program's own classes, and schedules by class, also decide which errors are
		// retried.
		for _, name := range []string{"Classes", "PerError"} {
			if _, written := values[name]; written || assigned[name] {
				return false
			}
		}
	}
	name := goName(f)
	if at, ok := policyType.FieldByName(name); ok && len(at.Index) > 1 {
		if value, written := values["Schedule"]; assigned["Schedule"] || written && !value.constant {
			return false
		}
	}
	value, written := values[name]
	return !assigned[name] && (!written || value.constant)
}

var policyType = reflect.TypeFor[retry.Policy]()

// goName returns the name of the retry.Policy field that a key of a policy file sets:
// MaxAttempts for max_attempts.
func goName(key rules.Field) string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(key), "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// inGo translates keys to the names of fields in Go code. A setting such as jitter: full, and
// the phrase for the delays as a whole, are written as in a policy file.
var inGo = rules.Words{Field: func(key rules.Field) (string, bool) {
	if strings.Contains(string(key), " ") {
		return string(key), true
	}
	return goName(key), true
}}

// A fieldValue is the value of one field in a literal.
type fieldValue struct {
	expr     ast.Expr
	constant bool
}

// readFields reads the constant fields of a policy literal, or of the literal of its schedule,
// into p. Fields that are not constant stay unset, and callers must not use them. It returns
// false if the literal has no field names.
func readFields(pass *analysis.Pass, lit *ast.CompositeLit, p reflect.Value, values map[string]fieldValue) bool {
	for _, elt := range lit.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		name := kv.Key.(*ast.Ident).Name
		if schedule, ok := ast.Unparen(kv.Value).(*ast.CompositeLit); ok && name == "Schedule" {
			if !readFields(pass, schedule, p, values) {
				return false
			}
			continue
		}
		field := p.FieldByName(name)
		values[name] = fieldValue{kv.Value, field.IsValid() && setConstant(pass, field, kv.Value)}
	}
	return true
}

// setConstant sets a bool, a number or a string from a constant expression, or a slice or a
// struct from a literal of constants. It reports whether it succeeded.
func setConstant(pass *analysis.Pass, to reflect.Value, expr ast.Expr) bool {
	switch to.Kind() {
	case reflect.Struct:
		lit, ok := ast.Unparen(expr).(*ast.CompositeLit)
		return ok && !slices.ContainsFunc(lit.Elts, func(elt ast.Expr) bool {
			kv, ok := elt.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			field := to.FieldByName(kv.Key.(*ast.Ident).Name)
			return !field.IsValid() || !setConstant(pass, field, kv.Value)
		})
	case reflect.Slice:
		list, ok := ast.Unparen(expr).(*ast.CompositeLit)
		if !ok {
			return false
		}
		values := reflect.MakeSlice(to.Type(), len(list.Elts), len(list.Elts))
		for i, elt := range list.Elts {
			if !setConstant(pass, values.Index(i), elt) {
				return false
			}
		}
		to.Set(values)
		return true
	}
	v := pass.TypesInfo.Types[expr].Value
	return v != nil && policies.SetConstant(to, v)
}
