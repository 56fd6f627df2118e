package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/results"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/storm"
)

// simulateCommand is the command simulate.
func simulateCommand() *cli.Command {
	return &cli.Command{
		Name: "simulate", Args: "[policies]", Short: "simulate what policies do to a service during a disruption",
		Long: `
For each policy, it simulates a short disruption of the service that is called. It
prints whether calls succeed again afterwards, how much load the retries add, and
why. The same code as in production makes the retry decisions. The service is a
model, which the output describes. The same command prints the same results on every
machine.

To simulate services, loads and events of your own, write a scenario: see
docs/storms.md.`,
		Setup: simulate, Complete: policyNames,
	}
}

// simulate simulates what policies do to a system that is disturbed.
func simulate(flags *flag.FlagSet) cli.Run {
	s := simulator{color: cli.ColorFlag(flags)}
	cli.FolderFlag(flags)
	flags.StringVar(&s.file, "f", gen.SourceName, "the policy `file`")
	flags.StringVar(&s.scenario, "scenario", "", "simulate the services, loads and events in `file` instead")
	flags.StringVar(&s.compare, "compare", "",
		"also simulate another policy `file` or, with -scenario, another scenario")
	flags.StringVar(&s.sweep, "sweep", "",
		"simulate several values of a setting: `path=range`, such as budgets.calls.ratio=0.02..0.5")
	flags.StringVar(&s.require, "require", "",
		"exit with 1 unless all runs meet `conditions`, such as 'recovery<30s, amplification<1.5, failed<10%, p99<2s'")
	flags.BoolVar(&s.json, "json", false, "print results as JSON, for scripts")
	flags.BoolVar(&s.svg, "svg", false, "draw the results as an SVG image")
	flags.StringVar(&s.html, "html", "", "also write a page with charts to `file`")
	flags.IntVar(&s.seeds, "seeds", 5, "the `number` of runs; a condition is met if all runs meet it")
	return s.run
}

// The limits of a command. A run of maxEvents takes about ten minutes.
const (
	maxSeeds  = 1000
	maxEvents = 1_000_000_000
)

// A simulator holds the flags of the command simulate.
type simulator struct {
	file, scenario, compare, sweep, require, html string
	json, svg                                     bool
	seeds                                         int
	color                                         *cli.Color
}

func (s *simulator) run(args []string, stdout, stderr io.Writer) int {
	var required []storm.Requirement
	var err error
	switch {
	case s.seeds < 1 || s.seeds > maxSeeds:
		return fail(stderr, fmt.Errorf("-seeds is a number from 1 to %d", maxSeeds))
	case s.scenario != "" && len(args) > 0:
		return fail(stderr, errors.New("a scenario says which policies it has: name no policy with -scenario"))
	case s.json && s.svg:
		return fail(stderr, errors.New("-json and -svg both write to standard output: use one of them"))
	case s.compare != "" && s.sweep != "":
		return fail(stderr, errors.New("use one of -compare and -sweep"))
	case s.require != "":
		if required, err = storm.ParseRequirements(s.require); err != nil {
			return fail(stderr, fmt.Errorf("-require: %w", err))
		}
	}
	list, err := s.simulations(args)
	if found, ok := errors.AsType[*problems](err); ok {
		policy.Print(stderr, found.list, found.sources, s.color.On(stderr))
		summarize(stderr, found.list)
		return cli.Problems
	}
	if err == nil {
		err = s.simulate(list, stderr)
	}
	if err != nil {
		return fail(stderr, err)
	}
	r := results.Storms{Source: cmp.Or(s.scenario, s.file), List: list, Compares: s.compare != "" || s.sweep != ""}
	if err := s.write(&r, stdout); err != nil {
		return fail(stderr, err)
	}
	if !r.Meets(required, stderr) {
		return cli.Problems
	}
	return cli.OK
}

// write writes the results in the forms that the flags select.
func (s *simulator) write(r *results.Storms, stdout io.Writer) error {
	if s.html != "" {
		var page bytes.Buffer
		if err := r.Page().HTML(&page); err != nil {
			return err
		}
		if err := os.WriteFile(s.html, page.Bytes(), 0o666); err != nil {
			return err
		}
	}
	switch {
	case s.json:
		return results.WriteJSON(stdout, r.Verdicts())
	case s.svg:
		return r.Page().SVG(stdout)
	}
	r.Print(stdout)
	return nil
}

// problems are the errors of a policy file or scenario.
type problems struct {
	list    []policy.Problem
	sources map[string][]byte
}

func (p *problems) Error() string { return policy.Summary(p.list) }

// simulations returns what is to be simulated.
func (s *simulator) simulations(args []string) ([]results.Simulation, error) {
	name := cmp.Or(s.scenario, s.file)
	if s.sweep != "" {
		return s.swept(name, args)
	}
	list, err := s.variant(name, "", args, nil)
	if err != nil || s.compare == "" {
		return list, err
	}
	for i := range list {
		list[i].Variant = name
	}
	other, err := s.variant(s.compare, s.compare, args, nil)
	return append(other, list...), err
}

// swept returns the simulations of -sweep.
func (s *simulator) swept(name string, args []string) (list []results.Simulation, err error) {
	sweep, err := storm.ParseSweep(s.sweep)
	if err != nil {
		return nil, fmt.Errorf("-sweep: %w", err)
	}
	if sweep.IsOfScenario() && s.scenario == "" {
		return nil, fmt.Errorf("-sweep: %s is part of a scenario: name it with -scenario", sweep.Path)
	}
	for _, value := range sweep.Values {
		change := func(name string, text []byte, isScenario bool) ([]byte, error) {
			if isScenario != sweep.IsOfScenario() {
				return text, nil
			}
			return sweep.Apply(name, text, value)
		}
		each, err := s.variant(name, sweep.Path+"="+value, args, change)
		if err != nil {
			return nil, err
		}
		list = append(list, each...)
	}
	return list, nil
}

// A change changes the text of a policy file or scenario.
type change func(name string, text []byte, isScenario bool) ([]byte, error)

// variant returns the simulations of one policy file or scenario.
func (s *simulator) variant(name, variant string, args []string, c change) (list []results.Simulation, err error) {
	if s.scenario == "" {
		file, err := readPolicies(name, c)
		if err != nil {
			return nil, err
		}
		return results.DefaultStorms(file, variant, args)
	}
	title, text, err := readFile(name)
	if err == nil && c != nil {
		text, err = c(title, text, true)
	}
	if err != nil {
		return nil, err
	}
	system, found, err := storm.Read(title, text, func(path string) (*policy.File, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), filepath.FromSlash(path))
		}
		return readPolicies(path, c)
	})
	if len(found) > 0 {
		return nil, &problems{found, map[string][]byte{title: text}}
	}
	return []results.Simulation{{Variant: variant, System: system}}, err
}

// readPolicies returns the policies of a file.
func readPolicies(name string, c change) (*policy.File, error) {
	title, text, err := readFile(name)
	if err == nil && c != nil {
		text, err = c(title, text, false)
	}
	if err != nil {
		return nil, err
	}
	file, found := policy.Check(title, text)
	if file == nil {
		return nil, &problems{policy.AtLeast(rules.Error, found), map[string][]byte{title: text}}
	}
	return file, nil
}

// simulate simulates the systems, and shows the progress on a terminal.
func (s *simulator) simulate(list []results.Simulation, stderr io.Writer) error {
	o := storm.Options{Seeds: s.seeds, Parallel: runtime.GOMAXPROCS(0), MaxEvents: maxEvents}
	warn(list, o, stderr)
	progress := cli.NewProgress("retrygen", stderr)
	defer progress.End()
	for i := range list {
		c := &list[i]
		title := c.Policy
		if title == "" {
			title = c.System.Name
		}
		o.Progress = nil
		if progress.Shown() {
			o.Progress = func(done float64) {
				progress.Step(fmt.Sprintf("simulating %s, %d of %d: %.0f %%", title, i+1, len(list), 100*done))
			}
		}
		if err := c.Simulate(o); err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
	}
	return nil
}

// warn says before it starts that a simulation may take long or much memory.
func warn(list []results.Simulation, o storm.Options, stderr io.Writer) {
	const longest, largest = time.Minute, 2 << 30
	var total storm.Cost
	for i := range list {
		c := list[i].System.Cost(o)
		total.Time += c.Time
		total.Bytes = max(total.Bytes, c.Bytes)
	}
	if total.Time > longest || total.Bytes > largest {
		hint := "lower the rates, or end the scenario earlier"
		if o.Seeds > 1 {
			hint = "-seeds 1 takes less"
		}
		fmt.Fprintf(stderr, "retrygen: warning: this may take up to %s and %.1f GB, with -seeds %d: %s\n",
			duration.Format(total.Time.Round(time.Second)), float64(total.Bytes)/1e9, o.Seeds, hint)
	}
}
