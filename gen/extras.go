package gen

import (
	"path/filepath"
	"slices"

	"github.com/retrygen/retrygen/gen/internal/emit"
)

// The names of the files that are generated on request: see Config.
const (
	TestsName  = "retry_gen_test.go" // test doubles of the bound types, and tests of the policies
	FaultsName = "retry_faults.go"   // test doubles of the bound types, for builds with the tag retryfaults
)

// FaultsTag is the build tag of FaultsName.
const FaultsTag = emit.FaultsTag

// An extra is a file that is generated on demand.
type extra struct {
	name   string
	has    func(*emit.File) bool // reports whether the file has anything to declare
	render func(emit.File) ([]byte, error)
}

var extras = []extra{
	{TestsName, (*emit.File).HasTests, emit.RenderTests},
	{FaultsName, (*emit.File).HasDoubles, emit.RenderFaults},
}

// outputNames are the names that generated files may have.
var outputNames = []string{OutputName, TestsName, FaultsName}

// isOutput reports whether generated files may have this name.
func isOutput(name string) bool { return slices.Contains(outputNames, name) }

// wants reports whether a file is to be generated even if it does not exist.
func (c *Config) wants(e extra) bool {
	return c.Tests && e.name == TestsName || c.Faults && e.name == FaultsName
}

// extras renders the files that are generated on demand, and those that exist already.
// It reports false if one of them cannot be generated.
func (r *run) extras(u *unit, file emit.File) (outputs []Output, ok bool) {
	for _, e := range extras {
		path := filepath.Join(u.dir, e.name)
		old, err := readOutput(path)
		if err == nil && linksOutside(path) {
			err = errOutside
		}
		switch {
		case err != nil && !r.wants(e):
			continue // not ours, and nobody has asked for it
		case err != nil:
			r.outputProblem(u, e.name, err)
			return nil, false
		case old == nil && !r.wants(e):
			continue
		}
		if !e.has(&file) {
			if r.wants(e) && e.name == FaultsName {
				r.result.Direct = append(r.result.Direct, u.source)
			}
			if old != nil { // of an earlier policy file
				outputs = append(outputs, Output{
					Path: relative(r.Dir, path), Old: old, Why: SourceName + " binds nothing that it would contain",
				})
			}
			continue
		}
		if !u.claimNames(file) {
			return nil, false
		}
		text, err := e.render(file)
		if err != nil {
			u.problem("retrygen generated invalid Go, which is a bug in retrygen: please report it: %v", err)
			return nil, false
		}
		if p, ok := redeclared(u, text); ok {
			u.problems = append(u.problems, p)
			return nil, false
		}
		outputs = append(outputs, Output{Path: relative(r.Dir, path), Old: old, New: text})
	}
	return outputs, true
}

// claimNames reports a problem if the package declares a name that the tests or the
// doubles need. Names in tests are not known: the compiler reports them.
func (u *unit) claimNames(file emit.File) bool {
	claim := func(name, what string) bool {
		clash, taken := u.pkg.Clash(name)
		if taken {
			u.problem("%s needs the name %s, which %s: rename that", what, name, clash)
		}
		return !taken
	}
	for _, p := range file.Policies {
		if !claim(emit.PlaysName(p.Name), "the test of policy "+p.Name) {
			return false
		}
	}
	for _, w := range file.Wrappers {
		if !w.Target.IsWhole() {
			continue
		}
		double, what := emit.FaultyName(w.Target.Name), "the double of "+w.Target.Name
		if !claim(double, what) || !claim(emit.ConstructorName(double), what) {
			return false
		}
	}
	return true
}
