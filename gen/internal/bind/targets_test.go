package bind

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite what the files in testdata want")

// TestTargets looks up the symbols in the file symbols of each archive, and
// compares what is found with the file want.
func TestTargets(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var symbols []string
			want := &txtar.File{}
			dir := t.TempDir()
			for i, f := range archive.Files {
				switch f.Name {
				case "symbols":
					symbols = strings.Fields(string(f.Data))
				case "want":
					want = &archive.Files[i]
				default:
					path := filepath.Join(dir, filepath.FromSlash(f.Name))
					if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, f.Data, 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
			got := targets(t, dir, symbols)
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if d := diff.Diff(string(want.Data), got); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		})
	}
}

// targets describes what the symbols are for the package in dir.
func targets(t *testing.T, dir string, symbols []string) string {
	t.Helper()
	patterns := []string{dir}
	for _, symbol := range symbols {
		path, _, _ := SplitSymbol(symbol)
		if path = cmp.Or(path, StandardPath(symbol)); path != "" {
			patterns = append(patterns, path)
		}
	}
	program, err := Load(t.Context(), dir, "", patterns, func(string, []byte) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	pkg, errs := program.In(dir)
	if pkg == nil {
		t.Fatal(errs)
	}
	var b strings.Builder
	for _, symbol := range symbols {
		target, err := pkg.Lookup(symbol)
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", symbol, err)
			continue
		}
		switch kind := [...]string{"function", "method", "interface", "type"}[target.Kind]; target.Kind {
		case Interface, Concrete:
			fmt.Fprintf(&b, "%s: %s\n", symbol, kind)
			for _, m := range target.Methods {
				fmt.Fprintf(&b, "\t%s %s\n", m.Name, signatureText(m.Func))
			}
		default:
			fmt.Fprintf(&b, "%s: %s %s\n", symbol, kind, signatureText(target.Func))
		}
	}
	return b.String()
}

// signatureText writes a signature, and what is known of the function.
func signatureText(f Func) string {
	var b strings.Builder
	b.WriteString(show(f))
	note := func(when bool, format string, args ...any) {
		if when {
			fmt.Fprintf(&b, "; "+format, args...)
		}
	}
	note(f.Ctx >= 0, "context %d", f.Ctx)
	note(f.CtxType != "", "which is %s", f.CtxType)
	note(f.Request >= 0, "request %d", f.Request)
	if f.Held != nil {
		note(f.Held.Member != "", "context of %d%s", f.Held.Param, f.Held.Member)
		note(f.Held.Member == "", "context of %s %d out of reach", f.Held.Type, f.Held.Param)
		note(f.Held.Setter != "", "set by %s", f.Held.Setter)
	}
	note(f.HasError, "error")
	note(f.Command, "command")
	note(f.TakesError, "takes an error")
	note(f.Stream != "", "stream %s", f.Stream)
	if f.Status != nil {
		note(true, "status in %s%s", cmp.Or(f.Status.Param, f.Status.Type), f.Status.Member)
	}
	for _, in := range f.Inputs {
		note(true, "input %s", in.Text)
	}
	note(f.Carried != Stateless, "leaves %s", [...]string{"", "less to read", "a part", "a transaction", "a start",
		"an empty queue"}[f.Carried])
	note(f.NoFailure != "", "%s", f.NoFailure)
	return b.String()
}
