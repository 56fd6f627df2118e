// Package gen compiles policy files into typed Go wrappers.
//
// [Generate] finds the policy files and their packages, loads the packages, resolves the
// bound symbols to plain data, and renders the data as generated files. [Result.Commit]
// writes these files. Generate itself does not write to the disk.
//
// If a policy file or its package has a problem, nothing is generated from that file. The
// other files are not affected. If nothing has changed since an earlier call, Generate
// returns without loading any package.
package gen

import (
	"bytes"
	"context"
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

// The names of a package's policy file and its generated file.
const (
	SourceName = "retry.yaml"
	OutputName = "retry_gen.go"
	Misnamed   = "retry.yml" // a common misspelling; such a file is reported in Result.Misnamed, but not read
)

// A Config describes what to generate.
type Config struct {
	Dir      string   // absolute path of the folder to which patterns are relative
	Patterns []string // package patterns, as for go build; none means ./...
	Tags     string   // build tags, as for go build
	Strict   bool     // treat warnings as errors
	List     bool     // fill Result.Bound; this always loads the packages
	Tests    bool     // also write TestsName; an existing file is always kept up to date
	Faults   bool     // also write FaultsName; an existing file is always kept up to date
	Cache    string   // folder for the records of earlier runs; empty means no cache

	Progress func(step string) // called before each step of a run; may be nil
}

// A Result contains the files that a run would write, and the problems that it has found.
// It is plain data, and nothing in it refers to the run.
type Result struct {
	Dir      string            // the Dir of the Config
	Problems []policy.Problem  // problems of the policy files, sorted
	Policies int               // number of policy files
	Failed   []string          // policy files from which nothing is generated because of their problems
	Misnamed []string          // files named retry.yml, which are not read
	Sources  map[string][]byte // contents of the files with problems, keyed by path, for printing excerpts
	Files    []Output          // outputs of all policy files that have not failed, whether changed or not
	Bound    []Bound           // the generated wrappers and functions, in the order of the policy files
	Coverage []Coverage        // coverage of bound types; empty if nothing has changed since an earlier run
	Direct   []string          // policy files that bind no whole type, although FaultsName was requested
	Read     []string          // folders whose Go files the result depends on; may be incomplete
}

// An Output is one generated file.
type Output struct {
	Path string // relative to Result.Dir
	Old  []byte // text on disk; nil if the file does not exist
	New  []byte // text to write; nil to remove the file
	Why  string // why the file is removed
	Done bool   // Commit has written or removed the file, or found it up to date
}

// Changed reports whether the file has to be written or removed.
func (o Output) Changed() bool { return !bytes.Equal(o.Old, o.New) || (o.New == nil) != (o.Old == nil) }

// Action returns what Commit does to the file: write, remove or keep.
func (o Output) Action() string {
	switch {
	case !o.Changed():
		return "keep"
	case o.New == nil:
		return "remove"
	}
	return "write"
}

// A Bound describes one generated wrapper or generic function. Positions are
// file:line:col.
type Bound struct {
	Symbol   string // the bound symbol, as in the policy file; empty for a generic function
	Policy   string // name of its policy; empty if the symbol is called unchanged
	Step     string // name of the durable step; empty if calls are not durable
	Wrapper  string // name of the wrapper, such as RetryFetch, Client.RetryFetch or RetryStore.Get
	At       string // position in the policy file
	Declared string // position of the declaration of Symbol; empty for a generic function
}

// Changed returns the files that Commit would write or remove.
func (r *Result) Changed() []Output {
	return slices.DeleteFunc(slices.Clone(r.Files), func(f Output) bool { return !f.Changed() })
}

// Diff returns a unified diff of everything that Commit would change.
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

// A run is the state of one call of Generate.
type run struct {
	Config
	found   found
	cache   *runCache
	units   []*unit
	program *bind.Program
	result  Result
}

// Generate compiles the policy files selected by a configuration. It does not write
// files: see [Result.Commit]. Problems in policy files are in the Result. The error, such
// as a [*NoPolicyError], reports that Generate could not finish.
func Generate(ctx context.Context, config Config) (*Result, error) {
	r := &run{Config: config, result: Result{Dir: config.Dir, Sources: map[string][]byte{}}}
	switch unchanged, err := r.plan(ctx); {
	case err != nil:
		return nil, err
	case unchanged:
		return &r.result, nil
	}
	r.progress("reading Go packages")
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	for i, u := range r.units {
		r.progress(fmt.Sprintf("generating %d of %d files", i+1, len(r.units)))
		if !u.failed(r.Strict) {
			r.generate(u)
		}
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return &r.result, nil
}

// progress reports the next step of the run.
func (r *run) progress(step string) {
	if r.Progress != nil {
		r.Progress(step)
	}
}

// plan finds the policy files and checks them. It reports whether nothing has
// changed since an earlier run; the result is then complete.
func (r *run) plan(ctx context.Context) (unchanged bool, err error) {
	if r.found, err = find(ctx, r.Config); err != nil {
		return false, err
	}
	for _, path := range r.found.misnamed {
		r.result.Misnamed = append(r.result.Misnamed, relative(r.Dir, path))
	}
	if len(r.found.sources) == 0 && len(r.found.stale) == 0 {
		return false, &NoPolicyError{r.Patterns, r.result.Misnamed}
	}
	r.cache = openCache(r.Config, r.found)
	if before, ok := r.cache.unchanged(); ok && !r.List {
		r.result.Read = before.Dirs
		return true, r.keepOutputs(before.Problems)
	}
	r.check()
	return false, nil
}

// A NoPolicyError reports that none of the packages has a policy file.
type NoPolicyError struct {
	Patterns []string // patterns of the packages
	Misnamed []string // files named retry.yml, which are not read
}

// Error describes the error, and how to create a policy file.
func (e *NoPolicyError) Error() string {
	patterns := strings.Join(e.Patterns, " ")
	if patterns == "" {
		patterns = "./..."
	}
	fix := "retrygen init writes one to start from"
	if len(e.Misnamed) > 0 {
		fix = "rename " + e.Misnamed[0] + " to " + SourceName
	}
	return fmt.Sprintf("no %s next to the packages of %s: %s", SourceName, patterns, fix)
}

// keepOutputs fills the result of a run in which nothing has changed.
func (r *run) keepOutputs(problems []policy.Problem) error {
	for _, source := range r.found.sources {
		u := &unit{source: relative(r.Dir, source)}
		r.units = append(r.units, u)
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
			r.result.Sources[u.source] = text
		}
		if u.failed(r.Strict) {
			continue
		}
		path := filepath.Join(filepath.Dir(source), OutputName)
		text, err := readOutput(path)
		if err != nil {
			return err
		}
		r.result.Files = append(r.result.Files, Output{Path: relative(r.Dir, path), Old: text, New: text})
	}
	r.collectProblems()
	return nil
}

// generate resolves and renders one unit.
func (r *run) generate(u *unit) {
	resolved := resolve(u)
	u.problems = append(u.problems, resolved.problems...)
	r.result.Coverage = append(r.result.Coverage, resolved.coverage...)
	if u.failed(r.Strict) {
		return
	}
	path := filepath.Join(u.dir, OutputName)
	old, err := readOutput(path)
	if err != nil {
		r.outputProblem(u, OutputName, err)
		return
	}
	if u.problems = append(u.problems, resolved.removedSteps(old)...); u.failed(r.Strict) {
		return
	}
	text, err := emit.Render(resolved.file)
	if err != nil {
		u.problem("retrygen generated invalid Go, which is a bug in retrygen: please report it: %v", err)
		return
	}
	if p, ok := redeclared(u, text); ok {
		u.problems = append(u.problems, p)
		return
	}
	out := Output{Path: relative(r.Dir, path), Old: old, New: text}
	if !out.Changed() {
		u.problems = policy.AtLeast(rules.Warning, u.problems) // notes are given once
	}
	extra, ok := r.extras(u, resolved.file)
	if !ok {
		return
	}
	r.result.Files = append(append(r.result.Files, out), extra...)
	for _, b := range resolved.bound {
		b.Declared = relative(r.Dir, b.Declared)
		r.result.Bound = append(r.result.Bound, b)
	}
}

// finish adds the outputs to be removed and the problems of all units, and
// records the run.
func (r *run) finish() error {
	for _, path := range r.found.stale {
		old, err := readOutput(path)
		if err != nil {
			return err
		}
		r.result.Files = append(r.result.Files, Output{
			Path: relative(r.Dir, path), Old: old, Why: "there is no " + SourceName + " next to it",
		})
	}
	r.collectProblems()
	var ok bool
	if r.result.Read, ok = r.program.Local(); ok && len(r.found.stale) == 0 {
		// A later run that changes nothing reports these problems again, but no notes.
		problems := policy.AtLeast(rules.Warning, r.result.Problems)
		problems = slices.DeleteFunc(problems, func(p policy.Problem) bool { return p.Rule == ruleStepRemoved })
		r.cache.save(r.result.Read, problems, r.result.Files)
	}
	return nil
}

// collectProblems collects the problems of all units, and lists the units that
// fail because of them.
func (r *run) collectProblems() {
	r.result.Policies = len(r.units)
	for _, u := range r.units {
		if u.failed(r.Strict) {
			r.result.Failed = append(r.result.Failed, u.source)
		}
		r.result.Problems = append(r.result.Problems, u.problems...)
	}
	policy.Sort(r.result.Problems)
}
