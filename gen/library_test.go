package gen

import (
	"fmt"
	"go/types"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// TestLibrary binds all that some packages of the standard library export: what
// cannot be bound is said with its place, and all that can compiles.
func TestLibrary(t *testing.T) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes},
		"database/sql", "encoding/json", "go/scanner", "iter", "maps", "net", "net/http", "os", "reflect", "slices",
		"strings", "sync/atomic", "text/template/parse")
	if err != nil {
		t.Fatal(err)
	}
	m := newModule(t, nil)
	files := map[string][]string{} // lines of each policy file
	for i, pkg := range loaded {
		dir := fmt.Sprintf("p%d", i)
		m.write(dir+"/p.go", "package "+dir+"\n")
		lines := strings.Split(`version: 1
breakers: {up: {}}
budgets: {share: {ratio: 0.2}}
policies: {plain: {}, guarded: {breaker: up, jitter: full}, share: {breaker: up, budget: share, jitter: full}}
bind:`, "\n")
		for i, symbol := range exported(pkg) {
			policy := []string{"plain", "guarded", "share"}[i%3]
			lines = append(lines, fmt.Sprintf("  %s: {policy: %s, idempotent: true}", symbol, policy))
		}
		files[dir+"/retry.yaml"] = lines
	}
	var result *Result
	for range 3 { // what has no name free has one when another cannot be bound
		for name, lines := range files {
			m.write(name, strings.Join(lines, "\n")+"\n")
		}
		if result, err = Generate(t.Context(), Config{Dir: m.dir}); err != nil {
			t.Fatal(err)
		}
		wrong := map[string][]int{}
		for _, p := range policy.AtLeast(rules.Error, result.Problems) {
			if p.Rule != "P904" && p.Rule != "P912" || p.Line < 6 {
				t.Errorf("%v", p)
			}
			wrong[p.File] = append(wrong[p.File], p.Line)
		}
		for name, numbers := range wrong {
			n := 0
			files[name] = slices.DeleteFunc(files[name], func(string) bool { n++; return slices.Contains(numbers, n) })
		}
	}
	if len(result.Files) != len(loaded) || len(result.Bound) < 830 {
		t.Errorf("%d outputs of %d packages, %d functions and methods", len(result.Files), len(loaded), len(result.Bound))
	}
	if err := result.Commit(); err != nil {
		t.Fatal(err)
	}
	// What copies a lock there does so here.
	cmd := exec.Command("go", "vet", "-copylocks=false", "./...")
	cmd.Dir = m.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// exported returns the functions, types and methods that a package exports, as
// they are bound.
func exported(pkg *packages.Package) (symbols []string) {
	scope := pkg.Types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		_, isFunc := obj.(*types.Func)
		_, isType := obj.(*types.TypeName)
		if !obj.Exported() || !isFunc && !isType {
			continue
		}
		symbol := pkg.PkgPath + "." + name
		symbols = append(symbols, symbol)
		if isFunc || types.IsInterface(obj.Type()) {
			continue
		}
		for m := range types.NewMethodSet(types.NewPointer(obj.Type())).Methods() {
			if m.Obj().Exported() {
				symbols = append(symbols, symbol+"."+m.Obj().Name())
			}
		}
	}
	return symbols
}
