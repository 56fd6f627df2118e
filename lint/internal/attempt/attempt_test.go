package attempt

import (
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/retrygen/retrygen/lint/internal/effect"
)

var update = flag.Bool("update", false, "write the attempts that are found to the golden file")

// TestAttempts compares the attempts of testdata/attempts.go with its golden file.
func TestAttempts(t *testing.T) {
	fset := token.NewFileSet()
	p, fns := find(t, fset, "testdata/attempts.go", nil)
	var got strings.Builder
	for _, fn := range fns {
		for _, a := range append(p.Attempts, p.Recursions...) {
			if a.Fn == fn {
				fmt.Fprintf(&got, "%s: %s\n", fn.Name(), describe(fset, a))
			}
		}
	}
	const golden = "testdata/attempts.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

// find returns the attempts of a file, and its functions in their order.
func find(tb testing.TB, fset *token.FileSet, name string, src any) (*Package, []*ssa.Function) {
	tb.Helper()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		tb.Fatal(err)
	}
	pkg := types.NewPackage("p", "p")
	conf := &types.Config{Importer: importer.ForCompiler(fset, "gc", nil)}
	built, info, err := ssautil.BuildPackage(conf, fset, pkg, []*ast.File{file}, 0)
	if err != nil {
		tb.Fatal(err)
	}
	var fns []*ssa.Function
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok {
			fns = append(fns, built.Prog.FuncValue(info.Defs[d.Name].(*types.Func)))
		}
	}
	effects := effect.New(fns, func(*types.Func) *effect.Fact { return nil })
	return Find(pkg, fns, effects, func(*types.Func) *Summary { return nil }), fns
}

// describe returns what an attempt is in one line.
func describe(fset *token.FileSet, a *Attempt) string {
	words := []string{a.Name(), a.Change.String()}
	for i, name := range []string{"leaves", "joint", "progress", "polls"} {
		if a.Ends&(1<<i) != 0 {
			words = append(words, name)
		}
	}
	if a.IsDaemon() {
		words = append(words, "daemon")
	}
	if a.Traps() {
		words = append(words, "trapped")
	}
	if a.OneClass() {
		words = append(words, "one class")
	}
	for _, b := range a.Loop.List {
		if why, ok := a.Decisions[b]; ok {
			words = append(words, "by "+why.String())
		}
	}
	for _, w := range a.Waits {
		word := fmt.Sprintf("waits at line %d", fset.Position(w.At.Pos()).Line)
		if w.Max != NoLimit {
			word += fmt.Sprintf(" for %v", w.Max)
		}
		if w.Heeds {
			word += ", heeds"
		}
		words = append(words, word)
	}
	if ctx := a.Context(); ctx != nil {
		words = append(words, "has a context")
	}
	words = append(words, a.Evidence.String())
	if r := a.Retries(); r != nil {
		words = append(words, describeRetries(r))
	}
	return strings.Join(words, "; ")
}

func describeRetries(r *Retries) string {
	text := "retries " + r.Op.Name()
	if r.Until != NoError {
		text += map[Success]string{True: " until true", False: " until false"}[r.Until]
	}
	if r.Endless {
		text += " without a bound"
	}
	if r.Context != nil {
		text += " but " + r.Context.Name()
	}
	if r.Delay != nil {
		text += " after " + r.Delay.Name()
	} else if r.Wait > 0 {
		text += fmt.Sprintf(" after %v", r.Wait)
	}
	return text
}

// manyCalls returns a function with one loop that retries n calls.
func manyCalls(n int) string {
	var b strings.Builder
	b.WriteString("package p\n\nfunc op(n int) error { println(n); return nil }\n\nfunc many() error {\n\tfor {\n")
	for i := range n {
		fmt.Fprintf(&b, "\t\tif err := op(%d); err != nil {\n\t\t\tprintln(err)\n\t\t\tcontinue\n\t\t}\n", i)
	}
	b.WriteString("\t\treturn nil\n\t}\n}\n")
	return b.String()
}

// TestManyCalls: there is no limit of the operations of a loop.
func TestManyCalls(t *testing.T) {
	const n = 300
	p, _ := find(t, token.NewFileSet(), "many.go", manyCalls(n))
	if len(p.Attempts) != n {
		t.Errorf("%d calls of %d are attempts", len(p.Attempts), n)
	}
}

// BenchmarkFind measures all operations of one loop.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{100, 400, 1500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				p, _ := find(b, token.NewFileSet(), "many.go", manyCalls(n))
				if len(p.Attempts) != n {
					b.Fatalf("%d calls of %d are attempts", len(p.Attempts), n)
				}
			}
		})
	}
}

var whys = [...]string{"outcome", "class", "answer", "fixed", "setting", "other", "count", "clock", "context", "signal",
	"flag", "item", "awaited", "unknown", "person", "renewed", "elapsed", "dead"}

// String returns the elements of the set, with a | between them.
func (w Why) String() string {
	var names []string
	for i, name := range whys {
		if w&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

var changes = [...]string{Same: "same", Counted: "counted", Changed: "changed"}

// String returns the name of the change.
func (c Change) String() string { return changes[c] }
