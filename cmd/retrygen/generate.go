package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/results"
	"github.com/retrygen/retrygen/policy"
)

// A mode selects what happens to generated code. The zero mode writes it.
type mode struct{ check, diff, names, json bool }

// A config holds the flags of every command that loads packages.
type config struct {
	gen.Config
	color *cli.Color
}

// configFlags defines the flags of every command that loads packages.
func configFlags(flags *flag.FlagSet) *config {
	c := config{color: cli.ColorFlag(flags)}
	cli.FolderFlag(flags)
	flags.StringVar(&c.Tags, "tags", "", "build `tags`, as for go build")
	flags.BoolVar(&c.Strict, "strict", false, "treat warnings as errors")
	return &c
}

// generate generates the wrappers of packages, and prints or writes them.
func generate(flags *flag.FlagSet) cli.Run {
	config := configFlags(flags)
	var m mode
	flags.BoolVar(&m.check, "check", false,
		"write nothing; print a diff of what would change, and exit with 1 if there is one")
	flags.BoolVar(&m.diff, "diff", false, "write nothing; print a diff of what would change")
	flags.BoolVar(&m.names, "n", false, "write nothing; print the names of files that would be written or removed")
	flags.BoolVar(&m.json, "json", false, "print results as JSON, for scripts")
	flags.BoolVar(&config.Tests, "tests", false,
		"also write "+gen.TestsName+": tests of the policies' schedules, and test doubles that follow a script")
	flags.BoolVar(&config.Faults, "faults", false,
		"also write "+gen.FaultsName+": test doubles that follow a script, for builds with -tags "+gen.FaultsTag)
	return func(args []string, stdout, stderr io.Writer) int {
		if m.json && (m.diff || m.names) || m.diff && m.names {
			return fail(stderr, errors.New("-diff, -n and -json cannot be combined: use one of them"))
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		return m.run(ctx, config, args, stdout, stderr)
	}
}

// run generates the wrappers, and prints or writes them according to the mode.
func (m mode) run(ctx context.Context, config *config, patterns []string, stdout, stderr io.Writer) int {
	result, err := new(gen.Result), program().Misspelled(patterns)
	if err == nil {
		result, err = generated(ctx, config, patterns, stderr)
	}
	if err != nil {
		err = withHint(err, patterns)
		if m.json {
			err = errors.Join(err, results.WriteJSON(stdout, report(new(gen.Result), err)))
		}
		return fail(stderr, err)
	}
	writes := !m.check && !m.diff && !m.names
	if writes {
		err = result.Commit()
	}
	if m.json {
		err = errors.Join(err, results.WriteJSON(stdout, report(result, err)))
	} else {
		m.print(config, result, stdout, stderr)
		if writes {
			printRemoved(stderr, result)
		}
		if err == nil && writes {
			printRequirement(stderr, result)
		}
		summarize(stderr, result.Problems)
	}
	switch {
	case err != nil:
		return fail(stderr, err)
	case len(result.Failed)+len(result.Misnamed) > 0, m.check && len(result.Changed()) > 0:
		return cli.Problems
	}
	return cli.OK
}

// print prints the problems of a run, and the changes that it would write.
func (m mode) print(config *config, result *gen.Result, stdout, stderr io.Writer) {
	config.printProblems(stderr, result)
	printCoverage(stderr, result)
	for _, source := range result.Direct {
		fmt.Fprintf(stderr, "retrygen: %s has no double: its wrappers call functions directly; bind an interface\n", source)
	}
	switch {
	case m.names:
		for _, f := range result.Changed() {
			fmt.Fprintln(stdout, f.Action(), f.Path)
		}
	case m.diff, m.check:
		stdout.Write(result.Diff())
	}
	if m.check && len(result.Changed()) > 0 {
		fmt.Fprintln(stderr, "retrygen: generated code is not up to date: run go generate")
	}
}

// printRemoved prints the files that a run has removed, since no argument names
// them.
func printRemoved(stderr io.Writer, result *gen.Result) {
	for _, f := range result.Files {
		if f.Done && f.Action() == "remove" {
			fmt.Fprintf(stderr, "retrygen: removed %s: %s\n", f.Path, f.Why)
		}
	}
}

// printProblems prints the problems. If there are several policy files, it also
// prints which of them generate nothing.
func (c *config) printProblems(stderr io.Writer, result *gen.Result) {
	policy.Print(stderr, result.Problems, result.Sources, c.color.On(stderr))
	printMisnamed(stderr, result.Misnamed)
	n := len(result.Failed)
	if n == 0 || result.Policies == 1 {
		return
	}
	const maxNames = 5
	names := strings.Join(result.Failed[:min(n, maxNames)], ", ")
	if n > maxNames {
		names += fmt.Sprintf(" and %d more", n-maxNames)
	}
	verb := "generates"
	if n > 1 {
		verb = "generate"
	}
	fmt.Fprintf(stderr, "retrygen: %d of %d policy files %s nothing: %s\n", n, result.Policies, verb, names)
}

// summarize prints the number of problems by severity, or nothing if there are
// none.
func summarize(stderr io.Writer, problems []policy.Problem) {
	if len(problems) > 0 {
		fmt.Fprintln(stderr, "retrygen:", policy.Summary(problems))
	}
}

// printCoverage prints how many methods of a bound type are retried, if patterns
// choose them, or if the user may expect more. It omits types whose output is
// unchanged.
func printCoverage(stderr io.Writer, result *gen.Result) {
	unchanged := map[string]bool{} // folders
	for _, f := range result.Files {
		unchanged[path.Dir(f.Path)] = !f.Changed()
	}
	for _, c := range result.Coverage {
		if (c.Doubtful || c.Patterns) && !unchanged[path.Dir(c.Source)] {
			fmt.Fprintln(stderr, "retrygen:", c)
		}
	}
}

// generated runs the generator, with progress on a terminal.
func generated(ctx context.Context, config *config, patterns []string, stderr io.Writer) (*gen.Result, error) {
	c := config.Config
	c.Patterns = patterns
	var err error
	if c.Dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	if cache, err := os.UserCacheDir(); err == nil {
		c.Cache = filepath.Join(cache, "retrygen")
	}
	p := cli.NewProgress("retrygen", stderr)
	defer p.End()
	c.Progress = p.Step
	result, err := gen.Generate(ctx, c)
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted: nothing was written")
	}
	return result, err
}

// An output is one generated file, in JSON.
type output struct {
	File   string `json:"file"`
	Action string `json:"action"` // write, remove or keep
}

// A coverage is the number of methods of a bound type that are retried, in JSON.
type coverage struct {
	File      string `json:"file"` // the policy file
	Symbol    string `json:"symbol"`
	Methods   int    `json:"methods"`
	Retried   int    `json:"retried"`
	Forwarded int    `json:"forwarded"`
	Refused   int    `json:"refused"`
}

// report returns the value that -json prints. err is the error that stopped the
// run, or nil.
func report(r *gen.Result, err error) any {
	methods := make([]coverage, 0, len(r.Coverage))
	for _, c := range r.Coverage {
		methods = append(methods, coverage{c.Source, c.Symbol, c.Methods, c.Retried, c.Forwarded, c.Refused})
	}
	outputs := make([]output, 0, len(r.Files))
	for _, f := range r.Files {
		outputs = append(outputs, output{f.Path, f.Action()})
	}
	stopped := ""
	if err != nil {
		stopped = cli.Text(err)
	}
	return struct {
		Problems []results.Problem `json:"problems"`
		Failed   []string          `json:"failed,omitempty"`   // policy files that generate nothing
		Misnamed []string          `json:"misnamed,omitempty"` // files that would be policy files under their right name
		Outputs  []output          `json:"outputs"`
		// Coverage has the bound types; none if nothing has changed since an earlier run.
		Coverage []coverage `json:"coverage,omitempty"`
		Error    string     `json:"error,omitempty"`
	}{results.Problems(r.Problems), r.Failed, r.Misnamed, outputs, methods, stopped}
}
