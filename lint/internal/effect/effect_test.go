package effect

import (
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

var update = flag.Bool("update", false, "write the effects that are found to the golden files")

// TestEffects compares the effects of all functions of a file with its golden file. The
// effects of a function are followed by how it may end.
func TestEffects(t *testing.T) {
	files, err := filepath.Glob("testdata/*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", nil)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".go"), func(t *testing.T) {
			got := describe(load(t, fset, imports, name))
			golden := strings.TrimSuffix(name, ".go") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// load returns the functions of a file, in their order, literals after what declares them.
func load(t *testing.T, fset *token.FileSet, imports types.Importer, name string) (fns []*ssa.Function) {
	t.Helper()
	file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	pkg := types.NewPackage("p", "p")
	built, info, err := ssautil.BuildPackage(&types.Config{Importer: imports}, fset, pkg, []*ast.File{file}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok {
			fns = appendWithin(fns, built.Prog.FuncValue(info.Defs[d.Name].(*types.Func)))
		}
	}
	return fns
}

func appendWithin(fns []*ssa.Function, fn *ssa.Function) []*ssa.Function {
	fns = append(fns, fn)
	for _, in := range fn.AnonFuncs {
		fns = appendWithin(fns, in)
	}
	return fns
}

func describe(fns []*ssa.Function) string {
	p := New(fns, nil)
	var b strings.Builder
	for _, fn := range fns {
		fmt.Fprintf(&b, "%s\n%s", strings.ReplaceAll(fn.RelString(fn.Package().Pkg), "*", ""), indent(p.effects[fn].String()))
		if p.EndsRetries(fn) {
			b.WriteString("\tends retries\n")
		}
		if p.EndsMeanwhile(fn) {
			b.WriteString("\tends meanwhile\n")
		}
		b.WriteString(loops(p, fn) + "\n")
	}
	return b.String()
}

// loops describes the calls that return errors in the loops of a function.
func loops(p *Package, fn *ssa.Function) string {
	var b strings.Builder
	for _, l := range flow.Loops(fn) {
		between := func(yield func(ssa.Instruction) bool) {
			for _, block := range l.List {
				for _, i := range block.Instrs {
					if !yield(i) {
						return
					}
				}
			}
		}
		for i := range between {
			op, ok := i.(*ssa.Call)
			if !ok || callOfError(op) == nil {
				continue
			}
			fmt.Fprintf(&b, "\tretries %s: repairs %t", op.Call.Value.Name(), p.Repairs(between, op))
			if p.Varies(op) {
				b.WriteString(", varies")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func callOfError(op *ssa.Call) *ssa.Call {
	results := op.Call.Signature().Results()
	if n := results.Len(); n == 0 || !flow.IsError(results.At(n-1).Type()) {
		return nil
	}
	return op
}

func indent(s string) string {
	if s == "" {
		return ""
	}
	return "\t" + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n\t") + "\n"
}

// String formats effects for tests, one line for each set that is not empty.
func (e *Effects) String() string {
	var b strings.Builder
	for i, name := range []string{"reads", "writes", "fails"} {
		for _, r := range byText(e.Regions(1 << i)) {
			fmt.Fprintf(&b, "%s %v\n", name, r)
		}
	}
	if e.Ends {
		b.WriteString("ends\n")
	}
	return b.String()
}

var kindNames = [...]string{"world", "clock", "signal", "context", "stream", "person", "global", "cell", "field",
	"element", "pointee", "reach"}

// String returns the name of a kind.
func (k Kind) String() string { return kindNames[k] }

// String formats a region for tests: field example.com/p.T.name of #1.
func (r Region) String() string {
	var b strings.Builder
	b.WriteString(r.Kind.String())
	if r.Name != "" {
		b.WriteString(" " + r.Name)
	}
	switch {
	case r.From.Param > 0:
		fmt.Fprintf(&b, " of #%d", r.From.Param)
	case r.From.Value != nil && r.Kind != Global:
		if a, ok := r.From.Value.(*ssa.Alloc); ok {
			fmt.Fprintf(&b, " of %s", a.Comment)
		} else {
			fmt.Fprintf(&b, " of a call")
		}
	}
	return b.String()
}

func byText(s Set) []Region {
	return slices.SortedFunc(maps.Keys(s), func(a, b Region) int { return strings.Compare(a.String(), b.String()) })
}
