package gen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// A unit is one policy file and the package that it serves.
type unit struct {
	dir      string // absolute
	source   string // relative path of the policy file
	file     *policy.File
	pkg      *bind.Package
	foreign  []string // import paths of other packages that it binds
	problems []policy.Problem
}

// failed reports whether the problems forbid to generate.
func (u *unit) failed(strict bool) bool {
	least := rules.Error
	if strict {
		least = rules.Warning
	}
	return len(policy.AtLeast(least, u.problems)) > 0
}

// refersTo has the package of a variable or type loaded.
func (u *unit) refersTo(s policy.Symbol) {
	if path, _, _ := bind.SplitRef(s.Name); path != "" {
		u.foreign = append(u.foreign, path)
	}
}

// problem notes what is wrong with the whole package.
func (u *unit) problem(format string, args ...any) {
	u.problems = append(u.problems, policy.Problem{
		File: u.source, Pos: policy.Pos{Line: 1, Col: 1}, Rule: "P911", Severity: rules.Error,
		Text: fmt.Sprintf(format, args...),
	})
}

// check reads the policy files.
func (r *run) check() {
	for _, path := range r.found.sources {
		u := &unit{dir: filepath.Dir(path), source: relative(r.Dir, path)}
		r.units = append(r.units, u)
		text, err := os.ReadFile(path)
		if err != nil {
			u.problem("this file cannot be read: %v", cause(err))
			continue
		}
		r.result.Sources[u.source] = text
		output := filepath.Join(u.dir, OutputName)
		if _, err := existing(output); err != nil {
			r.occupied(u, err)
		} else if outside(output) {
			r.occupied(u, errOutside)
		}
		file, problems, _ := policy.Read(u.source, text) // the whole file: see misspelt
		u.problems = append(u.problems, policy.AtLeast(rules.Warning, problems)...)
		if file == nil {
			continue
		}
		u.file = file
		for _, b := range file.Bindings {
			path, _, _ := bind.SplitSymbol(b.Symbol)
			if path = cmp.Or(path, bind.StandardPath(b.Symbol)); path != "" {
				u.foreign = append(u.foreign, path)
			}
		}
		for _, b := range file.Breakers {
			u.refersTo(b.From)
		}
		for _, b := range file.Budgets {
			u.refersTo(b.From)
		}
		for _, c := range file.Errors {
			for _, s := range slices.Concat(c.Is, c.As) {
				u.refersTo(s)
			}
			if len(c.GRPC) > 0 {
				u.foreign = append(u.foreign, emit.GRPCPackages...)
			}
		}
	}
}

// load loads the packages of the units, all at once. Those of units that have
// failed are read for the symbols of their own alone. The output of a failed unit
// stays on disk: for the others it is code like any other.
func (r *run) load(ctx context.Context) error {
	stays := map[string]bool{}
	var patterns []string
	whole := 0 // units that have not failed
	for _, u := range r.units {
		hasGo := hasGo(u.dir)
		if !u.failed(r.Strict) && !hasGo {
			u.problem("there is no Go package next to this file: move it into the folder of its package")
		}
		switch {
		case !u.failed(r.Strict):
			whole++
			patterns = append(append(patterns, u.dir), u.foreign...)
		default:
			stays[filepath.Join(u.dir, OutputName)] = true
			if hasGo && u.file != nil {
				patterns = append(patterns, u.dir)
			}
		}
	}
	if len(patterns) == 0 {
		return nil // the go command would take none for the current folder
	}
	slices.Sort(patterns)
	ours := func(name string, text []byte) bool { return isOurs(name, text) && !stays[name] }
	program, err := bind.Load(ctx, r.Dir, r.Tags, slices.Compact(patterns), ours)
	if err != nil {
		if whole == 0 && ctx.Err() == nil {
			return nil // the problems that there are come first
		}
		return err
	}
	promises := map[*bind.Package][]bind.Promise{}
	for _, u := range r.units {
		pkg, errs := program.In(u.dir)
		if u.failed(r.Strict) {
			u.misspelt(pkg)
			continue
		}
		r.unreadable(u, errs)
		if u.pkg = pkg; pkg != nil {
			promises[pkg] = promised(u)
		}
	}
	program.Promise(promises)
	r.program = program
	return nil
}

// misspelt reports, of a unit that has failed, the symbols to bind that its
// package does not have, so that they do not first appear when all else is
// corrected. pkg may be nil.
func (u *unit) misspelt(pkg *bind.Package) {
	if u.file == nil || pkg == nil {
		return
	}
	var problems []policy.Problem
	for _, b := range u.file.Bindings {
		err := pkg.Declares(b.Symbol)
		reported := slices.ContainsFunc(u.problems, func(p policy.Problem) bool { return p.Pos == b.Pos && p.Rule == "P904" })
		if err == nil || reported {
			continue
		}
		problems = append(problems, policy.Problem{
			File: u.source, Pos: b.Pos, Rule: "P904", Severity: rules.Error,
			Text: fmt.Sprintf("%s cannot be bound: %v", b.Symbol, err),
		})
	}
	u.problems = append(u.problems, u.file.Suppress(problems)...)
}

// unreadable says of a unit what keeps its package from being read, if anything
// does: where that is, if the go command has said so.
func (r *run) unreadable(u *unit, errs []packages.Error) {
	for _, e := range errs {
		text := strings.Join(strings.Fields(e.Msg), " ")
		file, pos, ok := place(e.Pos)
		if !ok {
			u.problem("the package of this file cannot be read: %s", text)
			continue
		}
		name := relative(r.Dir, file)
		if text, err := os.ReadFile(file); err == nil {
			r.result.Sources[name] = text
		}
		u.problems = append(u.problems, policy.Problem{
			File: name, Pos: pos, Rule: "P911", Severity: rules.Error, Text: "the package does not parse: " + text,
		})
	}
}

// place reads a position as the go command writes it.
func place(s string) (file string, pos policy.Pos, ok bool) {
	m := position.FindStringSubmatch(s)
	if m == nil {
		return "", pos, false
	}
	pos.Line, _ = strconv.Atoi(m[2])
	pos.Col, _ = strconv.Atoi(cmp.Or(m[3], "1"))
	return m[1], pos, true
}

var position = regexp.MustCompile(`^(.+?):(\d+)(?::(\d+))?$`)

// promised returns the types that are generated for a unit.
func promised(u *unit) (list []bind.Promise) {
	for _, b := range u.file.Bindings {
		if name, isInterface, ok := u.pkg.WholeType(b.Symbol); ok {
			list = append(list, bind.Promise{Name: emit.WrapperName(name), Symbol: b.Symbol})
			if !isInterface {
				list = append(list, bind.Promise{Name: emit.MethodsName(name), Symbol: b.Symbol, Methods: true})
			}
		}
		if b.Group.Name != "" {
			list = append(list, bind.Promise{Name: emit.GroupName(b.Group.Name)})
		}
	}
	if len(u.file.Breakers)+len(u.file.Budgets) > 0 {
		list = append(list, bind.Promise{Name: emit.SharedType})
	}
	return list
}

// hasGo reports whether there are Go files in dir that are no tests and not ours.
func hasGo(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return slices.ContainsFunc(files, func(name string) bool {
		return !strings.HasSuffix(name, "_test.go") && filepath.Base(name) != OutputName
	})
}

// occupied says of a unit what is in the place of its output.
func (r *run) occupied(u *unit, err error) {
	if slices.Contains([]error{errForeign, errFolder, errOutside}, err) {
		u.problems = append(u.problems, policy.Problem{
			File: relative(r.Dir, filepath.Join(u.dir, OutputName)), Pos: policy.Pos{Line: 1, Col: 1}, Rule: "P911",
			Severity: rules.Error, Text: err.Error(),
		})
		return
	}
	u.problem("%s cannot be read: %v", OutputName, cause(err))
}

// cause leaves out of an error of the system what its message says already.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
