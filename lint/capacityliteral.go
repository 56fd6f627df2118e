package lint

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/retrygen/retrygen/lint/internal/vocab"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

const (
	capacityPath = runtimePath + "/capacity"
	hedgePath    = runtimePath + "/hedge"
)

// CapacityLiteral reports limits that cannot work (RL513). It also reports violations of the P
// rules that concern a single rate, throttle or hedge.
var CapacityLiteral = newRule("capacityliteral", runCapacityLiteral, []string{"RL513"}, inspect.Analyzer)

// A limitKind is a kind of capacity policy in Go code, with the constructor that takes it and
// the type that the constructor returns.
type limitKind struct {
	pkg         string
	policy      reflect.Type
	constructor string
	made        string
	zero        string // what the zero value of made does, if no program can want that; or ""

	// construct calls the constructor with a policy.
	construct func(policy any)
	// check returns the findings about a single policy.
	check func(policy any, known rules.Known) []rules.Finding
	// unread returns a field of a policy that has no effect, and the reason, or "".
	unread func(policy any, known rules.Known) (field, why string)
}

var limitKinds = []limitKind{
	{
		pkg: capacityPath, policy: reflect.TypeFor[capacity.LimiterPolicy](), constructor: "NewLimiter", made: "Limiter",
		zero:      "refuses every attempt",
		construct: func(p any) { capacity.NewLimiter(p.(capacity.LimiterPolicy)) },
		check:     func(any, rules.Known) []rules.Finding { return nil },
		unread:    unreadOfLimiter,
	},
	{
		pkg: capacityPath, policy: reflect.TypeFor[capacity.RatePolicy](), constructor: "NewRate", made: "Rate",
		zero:      "limits nothing",
		construct: func(p any) { capacity.NewRate(p.(capacity.RatePolicy)) },
		check: func(p any, known rules.Known) []rules.Finding {
			return rules.CheckRate(p.(capacity.RatePolicy), known)
		},
	},
	{
		pkg: capacityPath, policy: reflect.TypeFor[capacity.ThrottlePolicy](), constructor: "NewThrottle", made: "Throttle",
		construct: func(p any) { capacity.NewThrottle(p.(capacity.ThrottlePolicy)) },
		check: func(p any, known rules.Known) []rules.Finding {
			return rules.CheckThrottle(p.(capacity.ThrottlePolicy), known)
		},
	},
	{
		pkg: hedgePath, policy: reflect.TypeFor[hedge.Policy](), constructor: "New", made: "Hedge",
		zero:      "starts no second request",
		construct: func(p any) { hedge.New(p.(hedge.Policy)) },
		check: func(p any, known rules.Known) []rules.Finding {
			return rules.CheckHedge(p.(hedge.Policy), known)
		},
		unread: unreadOfHedge,
	},
}

// unreadOfLimiter returns a field of a limiter that has no effect because of its other fields.
func unreadOfLimiter(policy any, known rules.Known) (field, why string) {
	p := policy.(capacity.LimiterPolicy)
	switch {
	case p.Queue > 0 && p.MaxWait == capacity.NoWait && known("max_wait"):
		return "Queue", "MaxWait is NoWait"
	case p.Target != 0 || !known("target"):
	case p.Min != 0:
		return "Min", "there is no Target, so that Limit does not change"
	case p.Max != 0:
		return "Max", "there is no Target, so that Limit does not change"
	}
	return "", ""
}

// unreadOfHedge returns a field of a hedge that has no effect because of its other fields.
func unreadOfHedge(policy any, known rules.Known) (field, why string) {
	p := policy.(hedge.Policy)
	if p.AtLeast != 0 && p.After > 0 && p.Quantile == 0 && known("quantile") {
		return "AtLeast", "After is fixed"
	}
	return "", ""
}

func runCapacityLiteral(pass *analysis.Pass, r *report) {
	if !imports(pass, capacityPath) && !imports(pass, hedgePath) {
		return
	}
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	assigned := assignedFields(pass, root, capacityPath, hedgePath)
	for cur := range root.Preorder((*ast.CompositeLit)(nil), (*ast.CallExpr)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.CallExpr:
			// Have: new(capacity.Limiter)
			if b, ok := typeutil.Callee(pass.TypesInfo, n).(*types.Builtin); ok && b.Name() == "new" {
				r.zeroLimit(n, pass.TypesInfo.TypeOf(n.Args[0]))
			}
		case *ast.CompositeLit:
			t := pass.TypesInfo.TypeOf(n)
			if len(n.Elts) == 0 {
				r.zeroLimit(n, t)
			}
			for i := range limitKinds {
				if kind := &limitKinds[i]; vocab.IsType(t, kind.pkg, kind.policy.Name()) {
					r.limitPolicy(kind, cur, assigned)
				}
			}
		}
	}
}

// zeroLimit reports the zero value of a type whose values must be created with its constructor.
func (r *report) zeroLimit(at ast.Expr, t types.Type) {
	for _, kind := range limitKinds {
		if kind.zero != "" && vocab.IsType(t, kind.pkg, kind.made) && !isPointer(t) {
			r.at(at.Pos(), at.End(), Proven, "RL513", "the zero %s %s: make it with %s", kind.made, kind.zero, kind.constructor)
		}
	}
}

func isPointer(t types.Type) bool { _, ok := types.Unalias(t).(*types.Pointer); return ok }

// limitPolicy reports what is wrong with a policy literal. It looks only at fields whose values
// are constants.
func (r *report) limitPolicy(kind *limitKind, cur inspector.Cursor, assigned map[string]bool) {
	lit := cur.Node().(*ast.CompositeLit)
	policy, values := reflect.New(kind.policy).Elem(), map[string]fieldValue{}
	if isOutput(fileOf(r.pass, lit.Pos())) || !readFields(r.pass, lit, policy, values) {
		return
	}
	isConstant := func(name string) bool {
		value, written := values[name]
		return !assigned[name] && (!written || value.constant)
	}
	known := func(f rules.Field) bool { return isConstant(goName(f)) }
	at := func(field string) ast.Node {
		if v, ok := values[field]; ok {
			return v.expr
		}
		return lit
	}
	for _, f := range kind.check(policy.Interface(), known) {
		n := at(goName(f.Field))
		r.at(n.Pos(), n.End(), Proven, f.Rule, "%s", f.In(inGo))
	}
	if kind.unread != nil {
		if field, why := kind.unread(policy.Interface(), known); field != "" && isConstant(field) {
			n := at(field)
			r.at(n.Pos(), n.End(), Proven, "RL513", "%s has no effect, since %s: remove it", field, why)
		}
	}
	if !r.isArgument(cur, kind) {
		return // other code may set the missing fields later
	}
	for i := range kind.policy.NumField() {
		// No constructor panics because of a policy's name or its list of error classes.
		if f := kind.policy.Field(i); f.Name != "Name" && f.Type.Kind() != reflect.Slice && !isConstant(f.Name) {
			return
		}
	}
	if why := panicOf(func() { kind.construct(policy.Interface()) }); why != "" {
		r.at(lit.Pos(), lit.End(), Proven, "RL513", "%s panics: %s", kind.constructor, why)
	}
}

// isArgument reports whether a literal is passed directly to the constructor of its kind.
func (r *report) isArgument(cur inspector.Cursor, kind *limitKind) bool {
	call, ok := cur.Parent().Node().(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := typeutil.StaticCallee(r.pass.TypesInfo, call)
	return fn != nil && vocab.NameOf(fn) == vocab.Name{Pkg: kind.pkg, Func: kind.constructor}
}

// panicOf returns the text with which a constructor of this module panics, without the prefix
// that names its package. If the constructor does not panic, it returns "".
func panicOf(construct func()) (why string) {
	defer func() {
		if v := recover(); v != nil {
			why = fmt.Sprint(v)
			if _, text, ok := strings.Cut(why, ": "); ok {
				why = text
			}
		}
	}()
	construct()
	return ""
}
