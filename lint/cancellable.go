package lint

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// shortestDelay is the shortest wait that is worth ending early.
const shortestDelay = 250 * time.Millisecond

// cancellableCalls finds the calls of helpers of this module that retry what they are
// given, and leave when a context ends, or take none, as libraries of which the same is
// known.
var cancellableCalls = &analysis.Analyzer{
	Name:       "cancellablecalls",
	Doc:        "cancellablecalls: find calls of helpers that retry until a context ends, or without one",
	Requires:   []*analysis.Analyzer{ssaForm, attempts},
	FactTypes:  []analysis.Fact{new(cancellable)},
	ResultType: reflect.TypeFor[map[*ssa.Call]*library](),
	Run:        runCancellableCalls,
}

// cancellable is a fact about a function: it retries one of its parameters, and leaves
// when one of its contexts ends, whatever else ends it, or has a twin that does, or takes
// none although it waits for long.
type cancellable struct {
	Op      int    // the index of the parameter that is retried
	Context int    // the index of the context, or -1
	Twin    string // the function of its package that it gives a context which never ends, or ""
	Delay   int    // if it takes none: the index of that which tells how long to wait, or -1
}

// AFact marks a fact.
func (*cancellable) AFact() {}

// String shows the fact to tests.
func (c *cancellable) String() string {
	if c.isDeaf() {
		return fmt.Sprintf("waits(%d, for %d)", c.Op, c.Delay)
	}
	return fmt.Sprintf("leaves(%d, with %d %s)", c.Op, c.Context, c.Twin)
}

// isDeaf reports whether the function takes no context.
func (c *cancellable) isDeaf() bool { return c.Context < 0 && c.Twin == "" }

func runCancellableCalls(pass *analysis.Pass) (any, error) {
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	helpers := cancellableLoops(pass.ResultOf[attempts].(*attempt.Package))
	found := map[*ssa.Call]*library{}
	// A helper may call helpers that come later.
	for grown := true; grown; {
		grown = false
		for _, fn := range fns {
			for _, call := range callsOf(fn) {
				if made := deafAround(fn, call); made != nil && helpers[fn] == nil {
					helpers[fn], grown = made, true
				}
				c := helperFact(pass, helpers, call.Call.StaticCallee())
				if c == nil || c.isDeaf() && !isOfModule(pass, call.Call.StaticCallee()) {
					continue
				}
				if !c.isDeaf() || c.Delay < 0 || retryloop.Least(call.Call.Args[c.Delay]) >= shortestDelay {
					found[call] = &library{op: c.Op, ctx: c.Context, deaf: c.isDeaf()}
				}
				if c.Twin != "" {
					found[call].twins = []string{c.Twin}
				}
				if made := c.handedOn(fn, call); made != nil && helpers[fn] == nil {
					helpers[fn], grown = made, true
				}
			}
		}
	}
	exportFacts(pass, helpers)
	return found, nil
}

// cancellableLoops returns the functions with a loop that retries one of their parameters, and
// leaves when a context ends, or takes none and waits for long.
func cancellableLoops(p *attempt.Package) map[*ssa.Function]*cancellable {
	helpers := map[*ssa.Function]*cancellable{}
	for _, t := range p.Attempts {
		r := t.Retries()
		if r == nil || helpers[t.Fn] != nil {
			continue
		}
		c := &cancellable{Op: slices.Index(t.Fn.Params, r.Op), Context: slices.Index(t.Fn.Params, r.Context)}
		if r.Context == nil {
			if r.Wait < shortestDelay || takesContext(t.Fn) {
				continue
			}
			c.Delay = slices.Index(t.Fn.Params, r.Delay)
		}
		helpers[t.Fn] = c
	}
	return helpers
}

// handedOn returns what fn is if it has a helper retry a parameter of its own: until a context
// of its own ends, or, where the helper is of the same package, never.
func (c *cancellable) handedOn(fn *ssa.Function, call *ssa.Call) *cancellable {
	op := slices.Index(fn.Params, retryloop.HandsOn(origin(call.Call.Args[c.Op])))
	switch {
	case op >= 0 && c.isDeaf() && !takesContext(fn):
		delay := -1
		if c.Delay >= 0 && retryloop.Least(call.Call.Args[c.Delay]) < shortestDelay {
			told, _ := call.Call.Args[c.Delay].(*ssa.Parameter)
			if delay = slices.Index(fn.Params, told); delay < 0 {
				return nil
			}
		}
		return &cancellable{Op: op, Context: -1, Delay: delay}
	case op < 0 || c.Context < 0:
		return nil
	}
	switch ctx := call.Call.Args[c.Context].(type) {
	case *ssa.Parameter:
		if k := slices.Index(fn.Params, ctx); k >= 0 {
			return &cancellable{Op: op, Context: k}
		}
	case *ssa.Call:
		twin := retryloop.Generic(call.Call.StaticCallee())
		if twin.Pkg == fn.Pkg && twin.Signature.Recv() == nil && twin.Parent() == nil && isRootContext(ctx) {
			return &cancellable{Op: op, Context: -1, Twin: twin.Name()}
		}
	}
	return nil
}

// deafAround returns what fn is if it takes no context, and has a library that could be given one
// retry a literal that calls a parameter of fn.
func deafAround(fn *ssa.Function, call *ssa.Call) *cancellable {
	l := libraryOf(&call.Call)
	if l == nil || takesContext(fn) || !l.hasNoContext(call.Call.Args) {
		return nil
	}
	op := slices.IndexFunc(fn.Params, func(p *ssa.Parameter) bool {
		return retryloop.Calls(origin(call.Call.Args[l.op]), p)
	})
	if op < 0 {
		return nil
	}
	return &cancellable{Op: op, Context: -1, Delay: -1}
}

// takesContext reports whether a function has a context by which its caller may end it, one of
// another type, or what has one, as a literal may capture one.
func takesContext(fn *ssa.Function) bool {
	return fn.Parent() != nil || slices.ContainsFunc(fn.Params, func(p *ssa.Parameter) bool {
		methods := types.NewMethodSet(p.Type())
		return methods.Lookup(nil, "Done") != nil && methods.Lookup(nil, "Err") != nil ||
			methods.Lookup(nil, "Context") != nil
	})
}

// isOfModule reports whether a function is of the module of the package: its signature can be
// changed.
func isOfModule(pass *analysis.Pass, fn *ssa.Function) bool {
	pkg := retryloop.Generic(fn).Object().Pkg()
	if pkg == pass.Pkg {
		return true
	}
	return pass.Module != nil && pass.Module.Path != "" && strings.HasPrefix(pkg.Path()+"/", pass.Module.Path+"/")
}
