package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// The import paths of what programs and generated code call for durable steps.
const (
	durablePath = runtimePath + "/durable"
	genapiPath  = durablePath + "/genapi"
)

// StepLoop reports RL508.
var StepLoop = newRule("steploop", runStepLoop, []string{"RL508"}, durableSteps)

func runStepLoop(pass *analysis.Pass, r *report) {
	identity := pass.ResultOf[durableSteps].(stepIdentities)
	for _, file := range pass.Files {
		if ast.IsGenerated(file) {
			continue
		}
		var loops []ast.Node // around the node, up to the innermost function
		ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fn, _ := typeutil.Callee(pass.TypesInfo, call).(*types.Func)
			step := identity.of(fn)
			if step == nil || call.Ellipsis.IsValid() {
				return true
			}
			loops = loops[:0]
			for _, outer := range stack {
				switch outer.(type) {
				case *ast.ForStmt, *ast.RangeStmt:
					loops = append(loops, outer)
				case *ast.FuncLit:
					loops = loops[:0]
				}
			}
			if len(loops) == 0 {
				return true
			}
			l := stepLoop{pass: pass, loop: loops[len(loops)-1]}
			if l.continues(call) && l.isSame(call, step) {
				r.at(call.Pos(), call.Pos(), Proven, "RL508", "each iteration calls the same step of %s: put what differs "+
					"into its id, or into the context by durable.Scope", fn.Name())
			}
			return true
		})
	}
}

// A stepLoop is a loop around a call of a durable step.
type stepLoop struct {
	pass *analysis.Pass
	loop ast.Node
}

func (l stepLoop) body() *ast.BlockStmt {
	if loop, ok := l.loop.(*ast.ForStmt); ok {
		return loop.Body
	}
	return l.loop.(*ast.RangeStmt).Body
}

// continues reports whether the iteration after a success of the call calls it
// again: the call is a statement of the body itself, its failure leaves the loop,
// and so does nothing else but another failure.
func (l stepLoop) continues(call *ast.CallExpr) bool {
	list := l.body().List
	i := slices.IndexFunc(list, func(s ast.Stmt) bool { return s.Pos() <= call.Pos() && call.End() <= s.End() })
	if i < 0 {
		return false
	}
	init, guard := list[i], ast.Stmt(nil)
	if check, ok := init.(*ast.IfStmt); ok {
		init, guard = check.Init, check
	} else if i+1 < len(list) {
		guard = list[i+1]
	}
	assign, ok := init.(*ast.AssignStmt)
	check, isIf := guard.(*ast.IfStmt)
	if !ok || !isIf || len(assign.Rhs) != 1 || assign.Rhs[0] != call || !isFailure(check) {
		return false
	}
	only := true
	ast.Inspect(l.body(), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.IfStmt:
			return !isFailure(n)
		case *ast.ReturnStmt:
			only = false
		case *ast.BranchStmt:
			only = only && n.Tok == token.CONTINUE && n.Label == nil
		}
		return true
	})
	return only
}

// isFailure reports whether a statement is if err != nil { … return }, without an
// else.
func isFailure(s *ast.IfStmt) bool {
	cond, ok := s.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.NEQ || s.Else != nil || len(s.Body.List) == 0 {
		return false
	}
	if null, ok := cond.Y.(*ast.Ident); !ok || null.Name != "nil" {
		return false
	}
	_, leaves := s.Body.List[len(s.Body.List)-1].(*ast.ReturnStmt)
	return leaves
}

// isSame reports whether the context and the id of the call are the same in each
// iteration.
func (l stepLoop) isSame(call *ast.CallExpr, step *stepIdentity) bool {
	for _, i := range append(slices.Clone(step.ID), step.Context) {
		if i >= len(call.Args) || !l.isInvariant(call.Args[i]) {
			return false
		}
	}
	return true
}

// isInvariant reports whether an argument is a constant, or a variable that is
// declared before the loop and not changed in it.
func (l stepLoop) isInvariant(arg ast.Expr) bool {
	if l.pass.TypesInfo.Types[arg].Value != nil {
		return true
	}
	id, ok := ast.Unparen(arg).(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := l.pass.TypesInfo.Uses[id].(*types.Var)
	if !ok || v.Pkg() == nil || v.Parent() == v.Pkg().Scope() || l.loop.Pos() <= v.Pos() && v.Pos() < l.loop.End() {
		return false
	}
	changed := false
	is := func(expr ast.Expr) bool {
		id, ok := ast.Unparen(expr).(*ast.Ident)
		return ok && l.pass.TypesInfo.Uses[id] == v
	}
	ast.Inspect(l.loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			changed = changed || slices.ContainsFunc(n.Lhs, is)
		case *ast.IncDecStmt:
			changed = changed || is(n.X)
		case *ast.RangeStmt:
			changed = changed || n.Key != nil && is(n.Key) || n.Value != nil && is(n.Value)
		case *ast.UnaryExpr:
			changed = changed || n.Op == token.AND && is(n.X)
		}
		return !changed
	})
	return !changed
}

// A stepIdentity is a fact about a generated wrapper of a durable step: the
// parameters that tell its calls apart.
type stepIdentity struct {
	Context int   // has the run and the scope
	ID      []int // of the call
}

// AFact marks a fact.
func (*stepIdentity) AFact() {}

// durableSteps finds the generated wrappers of durable steps.
var durableSteps = &analysis.Analyzer{
	Name:       "durablesteps",
	Doc:        "durablesteps: find the parameters that identify durable steps",
	FactTypes:  []analysis.Fact{new(stepIdentity)},
	ResultType: reflect.TypeFor[stepIdentities](),
	Run: func(pass *analysis.Pass) (any, error) {
		if imports(pass, durablePath) || imports(pass, genapiPath) {
			for _, file := range pass.Files {
				if ast.IsGenerated(file) {
					exportSteps(pass, file)
				}
			}
		}
		return stepIdentities{pass}, nil
	},
}

// stepIdentities are the durable steps that a package knows.
type stepIdentities struct{ pass *analysis.Pass }

// of returns what identifies the calls of a function, or nil.
func (s stepIdentities) of(fn *types.Func) *stepIdentity {
	if fn == nil || fn.Pkg() == nil {
		return nil
	}
	if fn.Pkg().Path() == durablePath && fn.Name() == "Step" {
		return &stepIdentity{0, []int{1}}
	}
	if found := new(stepIdentity); s.pass.ImportObjectFact(fn.Origin(), found) {
		return found
	}
	return nil
}

// exportSteps exports the facts about the wrappers in a generated file, except
// those whose calls may be repeated.
func exportSteps(pass *analysis.Pass, file *ast.File) {
	repeat := map[string]bool{} // variables of steps
	for _, decl := range file.Decls {
		if vars, ok := decl.(*ast.GenDecl); ok && vars.Tok == token.VAR {
			for _, spec := range vars.Specs {
				spec := spec.(*ast.ValueSpec)
				ast.Inspect(spec, func(n ast.Node) bool {
					if field, ok := n.(*ast.KeyValueExpr); ok && isNamed(field.Key, "Repeat") {
						repeat[spec.Names[0].Name] = true
					}
					return true
				})
			}
		}
	}
	for _, decl := range file.Decls {
		wrapper, ok := decl.(*ast.FuncDecl)
		if !ok || wrapper.Body == nil {
			continue
		}
		fn, _ := pass.TypesInfo.Defs[wrapper.Name].(*types.Func)
		var call *ast.CallExpr
		repeated := false
		ast.Inspect(wrapper.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				repeated = repeated || repeat[n.Name]
			case *ast.CallExpr:
				callee, _ := typeutil.Callee(pass.TypesInfo, n).(*types.Func)
				if callee != nil && callee.Pkg() != nil && callee.Pkg().Path() == genapiPath && isStepCall(callee.Name()) {
					call = n
				}
			}
			return true
		})
		if fn == nil || call == nil || repeated || len(call.Args) < 3 {
			continue
		}
		if step := identityIn(pass, fn, call); step != nil {
			pass.ExportObjectFact(fn, step)
		}
	}
}

// identityIn returns what identifies the step that a wrapper calls, or nil.
func identityIn(pass *analysis.Pass, wrapper *types.Func, call *ast.CallExpr) *stepIdentity {
	params := wrapper.Signature().Params()
	index := func(expr ast.Expr) int {
		root := expr
		if of, ok := root.(*ast.CallExpr); ok { // req.Context()
			root = of.Fun
		}
		if field, ok := root.(*ast.SelectorExpr); ok {
			root = field.X
		}
		id, ok := root.(*ast.Ident)
		if !ok {
			return -1
		}
		for i := range params.Len() {
			if params.At(i) == pass.TypesInfo.Uses[id] {
				return i
			}
		}
		return -1
	}
	id, ok := call.Args[2].(*ast.CallExpr)
	step := &stepIdentity{Context: index(call.Args[0])}
	if !ok || step.Context < 0 {
		return nil
	}
	for _, arg := range id.Args {
		i := index(arg)
		if i < 0 {
			return nil
		}
		step.ID = append(step.ID, i)
	}
	return step
}

// isStepCall reports whether a function of package genapi calls a step.
func isStepCall(name string) bool { return name == "Call" || name == "CallAfter" }

func isNamed(expr ast.Expr, name string) bool {
	id, ok := expr.(*ast.Ident)
	return ok && id.Name == name
}
