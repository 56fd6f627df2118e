// Package gen compiles policy files into typed Go wrappers. A run is four
// steps: plan (which policy files, which packages), load and resolve (symbols
// to plain data), render (plain data to bytes), commit (bytes to disk). Only
// the last touches the disk. A policy file with a problem, or whose package has
// one, generates nothing; the others are not held up by it. A run in which
// nothing has changed since an earlier one ends after the plan.
package gen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
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

// A Result is what a run would write, and the problems for which it would not
// write more.
type Result struct {
	Problems []policy.Problem
	Policies int               // how many policy files there are
	Failed   []string          // those that generate nothing, for their problems
	Sources  map[string][]byte // text of files with problems, for printing these
	Files    []Output          // all other outputs, changed or not
	Bound    []Bound           // what is generated for what, in the order of the policy files
	dir      string
	read     []string // folders whose Go files it depends on, as far as they are known
	whole    []Output // those that Commit has written, or found as they should be
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

// Generate runs everything but the commit. The error is one that stops us;
// what is wrong in a policy file is in the Result's Problems.
func Generate(ctx context.Context, config Config) (*Result, error) {
	r := &Result{Sources: map[string][]byte{}, dir: config.Dir}
	found, err := find(ctx, config)
	if err != nil {
		return nil, err
	}
	if len(found.sources) == 0 && len(found.stale) == 0 {
		return nil, r.nothing(ctx, config)
	}
	memory := recollect(config, found)
	if before, ok := memory.unchanged(); ok && !config.List {
		r.read = before.Dirs
		return r, r.keep(found.sources, before.Problems, config.Strict)
	}
	units := r.check(found.sources)
	config.progress("reading Go packages")
	program, err := r.load(ctx, config, units)
	if err != nil {
		return nil, err
	}
	for i, u := range units {
		config.progress(fmt.Sprintf("generating %d of %d files", i+1, len(units)))
		if !u.failed(config.Strict) {
			r.generate(u)
		}
	}
	for _, path := range found.stale {
		if err := r.add(path, nil); err != nil {
			return nil, err
		}
	}
	r.judge(units, config.Strict)
	var ok bool
	if r.read, ok = program.Local(); ok && len(found.stale) == 0 {
		memory.remember(r.read, r.Problems, r.Files)
	}
	return r, nil
}

// nothing tells that no policy file stands beside the packages, or only one
// with another name.
func (r *Result) nothing(ctx context.Context, config Config) error {
	patterns := strings.Join(config.Patterns, " ")
	if patterns == "" {
		patterns = "./..."
	}
	fix := "retrygen init writes one to start from"
	if name := r.misnamed(ctx, config); name != "" {
		fix = "rename " + name + " to " + SourceName
	}
	return fmt.Errorf("no %s beside the packages of %s: %s", SourceName, patterns, fix)
}

// keep fills the result of a run that changes nothing.
func (r *Result) keep(sources []string, problems []policy.Problem, strict bool) error {
	var units []*unit
	for _, source := range sources {
		u := &unit{source: r.relative(source)}
		units = append(units, u)
		for _, p := range problems {
			if p.File == u.source {
				u.problems = append(u.problems, p)
			}
		}
		if len(u.problems) > 0 {
			text, err := os.ReadFile(source)
			if err != nil {
				return err
			}
			r.Sources[u.source] = text
		}
		if u.failed(strict) {
			continue
		}
		path := filepath.Join(filepath.Dir(source), OutputName)
		text, err := r.existing(path)
		if err != nil {
			return err
		}
		r.Files = append(r.Files, Output{Path: r.relative(path), Old: text, New: text})
	}
	r.judge(units, strict)
	return nil
}

// progress tells what the run does now.
func (c *Config) progress(step string) {
	if c.Progress != nil {
		c.Progress(step)
	}
}

// generate resolves and renders one unit.
func (r *Result) generate(u *unit) {
	file, bound, problems := resolve(u)
	u.problems = append(u.problems, problems...)
	if len(problems) > 0 {
		return
	}
	text, err := emit.Render(file)
	if err != nil {
		u.problem("retrygen made what is not Go, which is a fault of its own: report it, please: %v", err)
		return
	}
	if p, ok := hidden(u, text); ok {
		u.problems = append(u.problems, p)
		return
	}
	if err := r.add(filepath.Join(u.dir, OutputName), text); err != nil {
		r.occupied(u, err)
		return
	}
	for _, b := range bound {
		b.Declared = r.relative(b.Declared)
		r.Bound = append(r.Bound, b)
	}
}

// judge collects the problems of all units, and says which of these generate
// nothing.
func (r *Result) judge(units []*unit, strict bool) {
	r.Policies = len(units)
	for _, u := range units {
		if u.failed(strict) {
			r.Failed = append(r.Failed, u.source)
		}
		r.Problems = append(r.Problems, u.problems...)
	}
	policy.Sort(r.Problems)
}

func (r *Result) add(path string, text []byte) error {
	old, err := r.existing(path)
	if err != nil {
		return err
	}
	r.Files = append(r.Files, Output{Path: r.relative(path), Old: old, New: text})
	return nil
}

// errForeign says that a file stands where ours would, without our header.
var errForeign = errors.New("this file was not generated by retrygen and is not overwritten: rename it, or remove it")

// errOutside says that Commit would write to where nobody looks for it.
var errOutside = errors.New("this is a link to a file outside of the package, which is not overwritten: remove the link")

// outside reports whether the file at path is a link that leads out of its
// folder.
func outside(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false // there is none
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && filepath.Dir(real) != dir
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
		return nil, errForeign
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
