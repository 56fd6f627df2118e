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

// A unit is one policy file and its package.
type unit struct {
	dir      string // absolute
	source   string // relative path of the policy file
	text     []byte // of the policy file
	file     *policy.File
	pkg      *bind.Package
	foreign  []string // import paths of other packages that it binds
	modules  modules  // of its go.mod, if the file has clients
	problems []policy.Problem
}

// failed reports whether the problems prevent generating.
func (u *unit) failed(strict bool) bool {
	least := rules.Error
	if strict {
		least = rules.Warning
	}
	return len(policy.AtLeast(least, u.problems)) > 0
}

// addForeign adds the package of a variable or type to those to be loaded.
func (u *unit) addForeign(s policy.Symbol) {
	if path, _, _ := bind.SplitRef(s.Name); path != "" {
		u.foreign = append(u.foreign, path)
	}
}

// problem reports a problem of the whole package.
func (u *unit) problem(format string, args ...any) {
	u.problems = append(u.problems, policy.Problem{
		File: u.source, Pos: policy.Pos{Line: 1, Col: 1}, Rule: "P911", Severity: rules.Error,
		Text: fmt.Sprintf(format, args...),
	})
}

// check reads the policy files, and reports their problems.
func (r *run) check() {
	for _, path := range r.found.sources {
		u := &unit{dir: filepath.Dir(path), source: relative(r.Dir, path)}
		r.units = append(r.units, u)
		text, err := os.ReadFile(path)
		if err != nil {
			u.problem("this file cannot be read: %v", cause(err))
			continue
		}
		u.text, r.result.Sources[u.source] = text, text
		output := filepath.Join(u.dir, OutputName)
		if _, err := readOutput(output); err != nil {
			r.outputProblem(u, OutputName, err)
		} else if linksOutside(output) {
			r.outputProblem(u, OutputName, errOutside)
		}
		file, problems, _ := policy.Read(u.source, text) // with errors, too: see checkDeclared
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
			u.addForeign(b.From)
		}
		for _, b := range file.Budgets {
			u.addForeign(b.From)
		}
		for _, l := range file.Concurrency {
			u.addForeign(l.From)
		}
		for _, rate := range file.Rates {
			u.addForeign(rate.From)
		}
		for _, t := range file.Throttles {
			u.addForeign(t.From)
		}
		for _, c := range file.Errors {
			for _, s := range slices.Concat(c.Is, c.As) {
				u.addForeign(s)
			}
			if len(c.GRPC) > 0 {
				u.foreign = append(u.foreign, emit.GRPCPackages...)
			}
		}
		u.addClients()
	}
}

// load loads the packages of all units at once. For a unit that has failed, it
// loads only the package itself, to check the names of its bound symbols. The
// output of a failed unit remains on disk, and counts as ordinary code for the
// other units.
func (r *run) load(ctx context.Context) error {
	kept := map[string]bool{}
	var patterns []string
	valid := 0 // number of units that have not failed
	for _, u := range r.units {
		hasGo := hasGo(u.dir)
		if !u.failed(r.Strict) && !hasGo {
			u.problem("there is no Go package next to this file: move it into the folder of its package")
		}
		switch {
		case !u.failed(r.Strict):
			valid++
			patterns = append(append(patterns, u.dir), u.foreign...)
		default:
			kept[filepath.Join(u.dir, OutputName)] = true
			if hasGo && u.file != nil {
				patterns = append(patterns, u.dir)
			}
		}
	}
	if len(patterns) == 0 {
		return nil // without patterns, the go command would load the current folder
	}
	slices.Sort(patterns)
	ours := func(name string, text []byte) bool { return isOurs(name, text) && !kept[name] }
	program, err := bind.Load(ctx, r.Dir, r.Tags, slices.Compact(patterns), ours)
	if err != nil {
		if valid == 0 && ctx.Err() == nil {
			return nil // report the problems of the units instead
		}
		return err
	}
	promises := map[*bind.Package][]bind.Promise{}
	for _, u := range r.units {
		pkg, errs := program.In(u.dir)
		if u.failed(r.Strict) {
			u.checkDeclared(pkg)
			continue
		}
		r.reportUnreadable(u, errs)
		if u.pkg = pkg; pkg != nil {
			promises[pkg] = promisedTypes(u)
		}
	}
	program.Promise(promises)
	r.program = program
	return nil
}

// checkDeclared reports the bound symbols of a failed unit that its package does
// not declare. Otherwise they would be reported only after the other problems are
// fixed. pkg may be nil.
func (u *unit) checkDeclared(pkg *bind.Package) {
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

// reportUnreadable reports the errors with which the go command could not read
// the package of a unit, at their positions if they have any.
func (r *run) reportUnreadable(u *unit, errs []packages.Error) {
	for _, e := range errs {
		text := strings.Join(strings.Fields(e.Msg), " ")
		file, pos, ok := parsePosition(e.Pos)
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

// parsePosition parses a position as the go command writes it.
func parsePosition(s string) (file string, pos policy.Pos, ok bool) {
	m := position.FindStringSubmatch(s)
	if m == nil {
		return "", pos, false
	}
	pos.Line, _ = strconv.Atoi(m[2])
	pos.Col, _ = strconv.Atoi(cmp.Or(m[3], "1"))
	return m[1], pos, true
}

var position = regexp.MustCompile(`^(.+?):(\d+)(?::(\d+))?$`)

// promisedTypes returns the types that will be generated for a unit.
func promisedTypes(u *unit) (list []bind.Promise) {
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
	if u.file.HasShared() {
		list = append(list, bind.Promise{Name: emit.SharedType})
	}
	return list
}

// hasGo reports whether dir has Go files other than tests and the output.
func hasGo(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return slices.ContainsFunc(files, func(name string) bool {
		return !strings.HasSuffix(name, "_test.go") && filepath.Base(name) != OutputName
	})
}

// outputProblem reports that an output of a unit cannot be read or replaced.
func (r *run) outputProblem(u *unit, name string, err error) {
	if slices.Contains([]error{errForeign, errFolder, errOutside}, err) {
		u.problems = append(u.problems, policy.Problem{
			File: relative(r.Dir, filepath.Join(u.dir, name)), Pos: policy.Pos{Line: 1, Col: 1}, Rule: "P911",
			Severity: rules.Error, Text: err.Error(),
		})
		return
	}
	u.problem("%s cannot be read: %v", name, cause(err))
}

// cause returns the cause of an *os.PathError without the path, which the caller's
// message contains. It returns other errors unchanged.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
