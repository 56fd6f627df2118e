package flow

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// build returns the SSA form of a source without imports.
func build(tb testing.TB, name string, src any) (*ssa.Package, *ast.File) {
	tb.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		tb.Fatal(err)
	}
	pkg := types.NewPackage(file.Name.Name, "")
	built, _, err := ssautil.BuildPackage(&types.Config{}, fset, pkg, []*ast.File{file}, ssa.SanityCheckFunctions)
	if err != nil {
		tb.Fatal(err)
	}
	return built, file
}

// ending assumes that a call has ended with err, which is nil or not: its other results are
// nil if and only if err is not.
func ending(call *ssa.Call, err Value) Assumption {
	n := call.Call.Signature().Results().Len()
	return func(i int, _ *types.Var, _ types.Type) Value {
		if (i == n-1) == (err == NonNil) {
			return NonNil
		}
		return Nil
	}
}

// TestAfter compares the runs after op with the comments of testdata/after.go.
func TestAfter(t *testing.T) {
	pkg, file := build(t, "testdata/after.go", nil)
	prog := NewProgram(nil)
	again := map[bool]string{true: "again", false: "leaves"}
	tested := 0
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.Contains(fn.Doc.Text(), "failed: ") {
			continue
		}
		lines := strings.Split(strings.TrimSpace(fn.Doc.Text()), "\n")
		want := lines[len(lines)-1]
		f := pkg.Func(fn.Name.Name)
		op, loop := callIn(f)
		failed, passed := prog.After(loop, op, ending(op, NonNil)), prog.After(loop, op, ending(op, Nil))
		got := fmt.Sprintf("failed: %s, passed: %s", again[failed.Again], again[passed.Again])
		if got != want {
			t.Errorf("%s: got %s, want %s", fn.Name.Name, got, want)
		}
		tested++
	}
	if tested == 0 {
		t.Error("no function has a comment")
	}
}

// callIn returns the first call of op or dial that is in a loop, and the loop.
func callIn(fn *ssa.Function) (*ssa.Call, *Loop) {
	for _, l := range Loops(fn) {
		for _, b := range l.List {
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok && isOp(call) {
					return call, l
				}
			}
		}
	}
	return nil, nil
}

// TestSteady: what a flag guards that the first execution sets is executed before the second.
func TestSteady(t *testing.T) {
	pkg, _ := build(t, "testdata/after.go", nil)
	fn := pkg.Func("notFirst")
	op, loop := callIn(fn)
	run := NewProgram(nil).After(loop, op, ending(op, NonNil))
	i, ok := loop.Header.Instrs[len(loop.Header.Instrs)-1].(*ssa.If)
	if !ok {
		t.Fatal("the header does not branch")
	}
	if v := run.Value(i.Cond); !v.Equal(Bool(false)) || run.Takes(loop.Header, 0) {
		t.Errorf("the condition is %v in the steady state, want false", v)
	}
}

// TestLattice checks the laws of Join for one element of each kind.
func TestLattice(t *testing.T) {
	all := []Value{Bottom, Nil, NonNil, Bool(true), Bool(false), Top}
	for _, a := range all {
		for _, b := range all {
			ab := a.Join(b)
			if !ab.Equal(b.Join(a)) {
				t.Errorf("%v joined with %v depends on the order", a, b)
			}
			if !ab.Join(a).Equal(ab) || !ab.Join(b).Equal(ab) {
				t.Errorf("%v joined with %v is %v, which is not above both", a, b, ab)
			}
			for _, c := range all {
				if !ab.Join(c).Equal(a.Join(b.Join(c))) {
					t.Errorf("joining %v, %v and %v depends on the order", a, b, c)
				}
			}
		}
	}
}

// manyCalls returns a function with one loop that retries n calls.
func manyCalls(n int) string {
	var b strings.Builder
	b.WriteString("package many\n\nfunc op(n int) error { return nil }\nfunc log(error) {}\n\n")
	b.WriteString("func many() error {\n\tfor {\n")
	for i := range n {
		fmt.Fprintf(&b, "\t\tif err := op(%d); err != nil {\n\t\t\tlog(err)\n\t\t\tcontinue\n\t\t}\n", i)
	}
	b.WriteString("\t\treturn nil\n\t}\n}\n")
	return b.String()
}

// BenchmarkAfter measures the runs after each of n calls of one loop.
func BenchmarkAfter(b *testing.B) {
	for _, n := range []int{100, 400, 1500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			pkg, _ := build(b, "many.go", manyCalls(n))
			for b.Loop() {
				if got := runAll(pkg.Func("many")); got != n {
					b.Fatalf("%d of %d calls are executed again after a failure", got, n)
				}
			}
		})
	}
}

// runAll returns how many calls of the loops of a function are executed again after a failure.
func runAll(fn *ssa.Function) (again int) {
	prog := NewProgram(nil)
	for _, l := range Loops(fn) {
		for _, b := range l.List {
			for _, instr := range b.Instrs {
				call, ok := instr.(*ssa.Call)
				if !ok || call.Call.Value.Name() != "op" {
					continue
				}
				failed := prog.After(l, call, ending(call, NonNil))
				passed := prog.After(l, call, ending(call, Nil))
				if failed.Again && passed != nil {
					again++
				}
			}
		}
	}
	return again
}

func isOp(call *ssa.Call) bool {
	name := call.Call.Value.Name()
	return name == "op" || name == "dial"
}

// TestKeptVariables: what a failure leaves unchanged is what the loop began with.
func TestKeptVariables(t *testing.T) {
	pkg, _ := build(t, "kept.go", `package kept

func op() error { return nil }

func flag() {
	for done := false; !done; {
		if op() == nil {
			done = true
		}
	}
}

func captured() (read func() bool) {
	done := false
	read = func() bool { return done }
	for !done {
		if err := op(); err != nil {
			continue
		}
		done = true
	}
	return read
}`)
	for _, name := range []string{"flag", "captured"} {
		op, loop := callIn(pkg.Func(name))
		run := NewProgram(nil).After(loop, op, ending(op, NonNil))
		for _, b := range loop.List {
			for k, s := range b.Succs {
				if run.Takes(b, k) && !loop.Has(s) {
					t.Errorf("%s: the loop is left at block %d", name, b.Index)
				}
			}
		}
	}
}
