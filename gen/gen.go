// Package gen compiles policy files into typed Go wrappers. A run is four
// steps: plan (which policy files, which packages), load and resolve (symbols
// to plain data), render (plain data to bytes), commit (bytes to disk). Only
// the last touches the disk, and only if all before it went well for every
// file. A run in which nothing has changed since an earlier one ends after the
// plan.
package gen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// The names of the policy file of a package and of what is generated from it.
const (
	SourceName = "retry.yaml"
	OutputName = "retry_gen.go"
)

// A Config says what to generate.
type Config struct {
	Dir      string   // where patterns are relative to; absolute
	Patterns []string // of packages; none means ./...
	Tags     string   // build tags, as for go build
	Strict   bool     // warnings fail the run
	List     bool     // fill Result.Bound, for which packages are always loaded
	Cache    string   // folder where runs are remembered; empty: none is

	Progress func(step string) // told what a run does now, if not nil
}

// A Result is what a run would write, or the problems for which it would write
// nothing.
type Result struct {
	Problems []policy.Problem
	Failed   bool              // the problems forbid to generate; Files is empty
	Sources  map[string][]byte // text of the policy files, for printing problems
	Files    []Output          // all outputs, changed or not, by path
	Bound    []Bound           // what is generated for what, in the order of the policy files
	dir      string
}

// An Output is one generated file.
type Output struct {
	Path string // relative to Config.Dir
	Old  []byte // nil: does not exist
	New  []byte // nil: is to be removed, its policy file is gone
}

// Changed reports whether the file has to be written or removed.
func (o Output) Changed() bool { return !bytes.Equal(o.Old, o.New) || (o.New == nil) != (o.Old == nil) }

// Action says what Commit does to the file: write, remove or keep.
func (o Output) Action() string {
	switch {
	case !o.Changed():
		return "keep"
	case o.New == nil:
		return "remove"
	}
	return "write"
}

// A Bound is one thing that is served by a policy. Places are file:line:col.
type Bound struct {
	Symbol   string // as the policy file names it; empty for a generic function
	Policy   string // empty: called as it is
	Wrapper  string // RetryFetch, (*Client).RetryFetch, RetryStore.Get
	At       string // in the policy file
	Declared string // where the symbol is; empty for a generic function
}

// CompileError is returned when Go packages cannot be read.
type CompileError = bind.CompileError

// ErrNothing is returned when no policy file stands beside the packages.
var ErrNothing = errors.New("no " + SourceName + " beside these packages")

// A unit is one policy file and the package that it serves.
type unit struct {
	dir     string // absolute
	source  string // relative path of the policy file
	file    *policy.File
	pkg     *bind.Package
	foreign []string // import paths of other packages that it binds
}

// Generate runs everything but the commit. The error is one that stops us;
// what is wrong in a policy file is in the Result's Problems.
func Generate(ctx context.Context, config Config) (*Result, error) {
	r := &Result{Sources: map[string][]byte{}, dir: config.Dir}
	found, err := find(ctx, config)
	if err != nil {
		return nil, err
	}
	if len(found.sources) == 0 && len(found.stale) == 0 {
		return nil, ErrNothing
	}
	memory := recollect(config, found)
	if problems, ok := memory.unchanged(); ok && !config.List {
		return r, r.keep(found.sources, problems, config.Strict)
	}
	units, err := r.check(found.sources)
	if err != nil {
		return nil, err
	}
	if r.judge(config.Strict); r.Failed {
		return r, nil
	}
	config.progress("reading Go packages")
	program, err := load(ctx, config, units)
	if err != nil {
		return nil, err
	}
	for i, u := range units {
		config.progress(fmt.Sprintf("generating %d of %d files", i+1, len(units)))
		if err := r.generate(u); err != nil {
			return nil, err
		}
	}
	for _, path := range found.stale {
		if err := r.add(path, nil); err != nil {
			return nil, err
		}
	}
	if r.judge(config.Strict); r.Failed {
		r.Files = nil
		return r, nil
	}
	if dirs, ok := program.Local(); ok && len(found.stale) == 0 {
		memory.remember(dirs, r.Problems, r.Files)
	}
	return r, nil
}

// keep fills the result of a run that changes nothing.
func (r *Result) keep(sources []string, problems []policy.Problem, strict bool) error {
	r.Problems = problems
	if r.judge(strict); r.Failed {
		sources = nil
	}
	for _, p := range problems {
		text, err := os.ReadFile(r.absolute(p.File))
		if err != nil {
			return err
		}
		r.Sources[p.File] = text
	}
	for _, source := range sources {
		path := filepath.Join(filepath.Dir(source), OutputName)
		text, err := r.existing(path)
		if err != nil {
			return err
		}
		r.Files = append(r.Files, Output{Path: r.relative(path), Old: text, New: text})
	}
	return nil
}

// progress tells what the run does now.
func (c *Config) progress(step string) {
	if c.Progress != nil {
		c.Progress(step)
	}
}

// generate resolves and renders one unit.
func (r *Result) generate(u *unit) error {
	file, bound, problems := resolve(u)
	r.Problems = append(r.Problems, problems...)
	if len(problems) > 0 {
		return nil
	}
	for _, b := range bound {
		b.Declared = r.relative(b.Declared)
		r.Bound = append(r.Bound, b)
	}
	text, err := emit.Render(file)
	if err != nil {
		return err
	}
	if p, ok := hidden(u, text); ok {
		r.Problems = append(r.Problems, p)
		return nil
	}
	return r.add(filepath.Join(u.dir, OutputName), text)
}

// judge sorts the problems and says whether they forbid to generate.
func (r *Result) judge(strict bool) {
	policy.Sort(r.Problems)
	least := rules.Error
	if strict {
		least = rules.Warning
	}
	r.Failed = slices.ContainsFunc(r.Problems, func(p policy.Problem) bool { return p.Severity >= least })
}

// check reads the policy files.
func (r *Result) check(paths []string) ([]*unit, error) {
	var units []*unit
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if _, err := r.existing(filepath.Join(filepath.Dir(path), OutputName)); err != nil {
			return nil, err
		}
		name := r.relative(path)
		r.Sources[name] = text
		file, problems := policy.Check(name, text)
		r.Problems = append(r.Problems, policy.AtLeast(rules.Warning, problems)...)
		if file == nil {
			continue
		}
		u := &unit{dir: filepath.Dir(path), source: name, file: file}
		for _, b := range file.Bindings {
			path, _, _ := bind.SplitSymbol(b.Symbol)
			if path = cmp.Or(path, bind.StandardPath(b.Symbol)); path != "" {
				u.foreign = append(u.foreign, path)
			}
		}
		for _, c := range file.Errors {
			for _, s := range slices.Concat(c.Is, c.As) {
				if path, _, _ := bind.SplitRef(s.Name); path != "" {
					u.foreign = append(u.foreign, path)
				}
			}
			if len(c.GRPC) > 0 {
				u.foreign = append(u.foreign, emit.GRPCPackages...)
			}
		}
		units = append(units, u)
	}
	return units, nil
}

// load gives every unit its package, in one load.
func load(ctx context.Context, config Config, units []*unit) (program *bind.Program, err error) {
	var patterns []string
	for _, u := range units {
		if hasGo(u.dir) {
			patterns = append(patterns, u.dir)
		}
		patterns = append(patterns, u.foreign...)
	}
	if len(patterns) == 0 {
		return nil, nil // the go command would take none for the current folder
	}
	slices.Sort(patterns)
	if program, err = bind.Load(ctx, config.Dir, config.Tags, slices.Compact(patterns), isOurs); err != nil {
		return nil, err
	}
	promises := map[*bind.Package][]bind.Promise{}
	for _, u := range units {
		// A folder without Go gets its problem where its bindings are resolved.
		if !hasGo(u.dir) {
			continue
		}
		if u.pkg, err = program.In(u.dir); err != nil {
			return nil, err
		}
		promises[u.pkg] = promised(u)
	}
	program.Promise(promises)
	return program, nil
}

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

// hasGo reports whether there are Go files in dir that are no tests.
func hasGo(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return slices.ContainsFunc(files, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
}

func (r *Result) add(path string, text []byte) error {
	old, err := r.existing(path)
	if err != nil {
		return err
	}
	r.Files = append(r.Files, Output{Path: r.relative(path), Old: old, New: text})
	return nil
}

// existing returns the text of an output of an earlier run, nil if there is
// none. A file of somebody else's is an error.
func (r *Result) existing(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !isOurs(path, text):
		return nil, &ForeignFileError{r.relative(path)}
	case text == nil:
		return []byte{}, nil
	}
	return lineFeeds(text), nil
}

// lineFeeds undoes what a checkout may have made of line ends: a file that
// differs in nothing else is as it should be.
func lineFeeds(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// relative shortens a path below the run's folder, with forward slashes, as
// positions are printed.
func (r *Result) relative(path string) string {
	if rel, err := filepath.Rel(r.dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// absolute undoes relative.
func (r *Result) absolute(path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.dir, path)
}

// Changed returns the files that Commit would write or remove.
func (r *Result) Changed() []Output {
	return slices.DeleteFunc(slices.Clone(r.Files), func(f Output) bool { return !f.Changed() })
}

// Diff returns a unified diff of all that Commit would change.
func (r *Result) Diff() []byte {
	var b bytes.Buffer
	for _, f := range r.Changed() {
		from, to := f.Path, f.Path
		if f.Old == nil {
			from = os.DevNull
		}
		if f.New == nil {
			to = os.DevNull
		}
		b.Write(diff.Diff(from, f.Old, to, f.New))
	}
	return b.Bytes()
}
