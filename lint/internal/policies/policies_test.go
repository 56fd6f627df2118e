package policies_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
	"time"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/policies"
)

// source has policies of all kinds, and functions that change some of them.
const source = `package p

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

var whole = retry.Policy{
	Name:     "whole",
	Schedule: retry.Schedule{MaxAttempts: 4, Backoff: retry.BackoffFixed, InitialDelay: time.Second},
	Timeout:  time.Minute, AttemptTimeout: 5 * time.Second,
}

var limited = retry.Policy{Schedule: retry.Schedule{MaxAttempts: 4, InitialDelay: time.Minute}, DelayBudget: 90 * time.Second}

var centuries = retry.Policy{Schedule: retry.Schedule{MaxAttempts: 100, InitialDelay: time.Hour, MaxDelay: retry.None}}

var changed = retry.Policy{Schedule: retry.Schedule{MaxAttempts: 4}, Timeout: time.Minute}

var copied = whole

var scheduled = retry.Policy{Schedule: schedule, Timeout: time.Minute}

var schedule = retry.Schedule{MaxAttempts: 9}

var live = retry.NewLive(&retry.Policy{Schedule: retry.Schedule{MaxAttempts: 7}, Timeout: time.Hour})

func begin() retry.Call { return live.Load().Begin() }

func change() { changed.Timeout = time.Second }
`

func TestPolicies(t *testing.T) {
	pkg, set := build(t)
	const forever = 1<<63 - 1
	for name, want := range map[string]struct {
		attempts      int
		waits         time.Duration
		call, attempt time.Duration
	}{
		"whole":     {4, 3 * time.Second, time.Minute, 5 * time.Second},
		"limited":   {4, 90 * time.Second, 0, 0},
		"centuries": {100, forever, 0, 0},
		"changed":   {4, 0, 0, 0}, // another function sets its timeout
		"copied":    {1, 0, 0, 0},
		"scheduled": {1, 0, time.Minute, time.Minute},
	} {
		p := set.At(pkg.Var(name))
		if p == nil {
			t.Errorf("%s: not found", name)
			continue
		}
		if got := p.Attempts(); got != want.attempts {
			t.Errorf("%s: %d attempts, want %d", name, got, want.attempts)
		}
		for what, d := range map[string][2]time.Duration{
			"waits":           {p.LeastWaits(), want.waits},
			"limit of a call": {p.CallLimit().Duration, want.call},
			"of an attempt":   {p.AttemptLimit().Duration, want.attempt},
		} {
			if d[0] != d[1] {
				t.Errorf("%s: %s: %v, want %v", name, what, d[0], d[1])
			}
		}
	}
}

// A policy that may change while the program runs is taken as it was compiled.
func TestLive(t *testing.T) {
	pkg, set := build(t)
	for _, instr := range pkg.Func("begin").Blocks[0].Instrs {
		call, ok := instr.(*ssa.Call)
		if !ok || !policies.Begins(&call.Call) {
			continue
		}
		if p := set.Of(&call.Call); p == nil || p.Attempts() != 7 || p.CallLimit().Duration != time.Hour {
			t.Errorf("%v has policy %+v, want the compiled one", call, p)
		}
		return
	}
	t.Error("begin does not begin a call")
}

// build returns the package, and its policies.
func build(t *testing.T) (*ssa.Package, *policies.Set) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := &types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, _, err := ssautil.BuildPackage(config, fset, types.NewPackage("p", "p"), []*ast.File{file}, 0)
	if err != nil {
		t.Fatal(err)
	}
	fns := []*ssa.Function{pkg.Func("init"), pkg.Func("change"), pkg.Func("begin")}
	noFacts := func(*types.Func) *effect.Fact { return nil }
	return pkg, policies.New(fns, effect.New(fns, noFacts))
}
