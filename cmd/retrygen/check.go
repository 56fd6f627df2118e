package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/diagnostic"
	"github.com/retrygen/retrygen/internal/results"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// checkFiles is the command check: it checks policy files, and files of other
// systems, without any Go code.
func checkFiles(flags *flag.FlagSet) cli.Run {
	c := checker{color: cli.ColorFlag(flags)}
	cli.FolderFlag(flags)
	c.from.want = anyKind
	flags.StringVar(&c.baseline, "baseline", "",
		"do not report the problems that are listed in `file`; write it if it does not exist")
	flags.StringVar(&c.disable, "disable", "", "do not report these rules: `P405,P303`")
	flags.Func("exclude",
		"skip files that match this `pattern`, written as in .gitignore; may be repeated", c.lister.Exclude)
	flags.Var(&c.from, "from", "the `kind` of all files, instead of recognizing it by their content; not for folders")
	flags.BoolVar(&c.github, "github", false, "print problems as GitHub annotations")
	flags.BoolVar(&c.json, "json", false, "print problems as JSON, for scripts")
	flags.StringVar(&c.sarif, "sarif", "", "also write problems as SARIF to `file`; with -, print only SARIF")
	flags.BoolVar(&c.strict, "strict", false, "exit with 1 if there are warnings")
	flags.BoolVar(&c.info, "info", false, "also report findings that are only information")
	return c.run
}

// A checker holds the flags of the command check.
type checker struct {
	selector
	json, github, strict, info bool
	sarif, baseline, disable   string
	color                      *cli.Color
}

func (c *checker) run(args []string, stdout, stderr io.Writer) int {
	if err := c.validate(); err != nil {
		return fail(stderr, err)
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	t, err := c.check(args, stderr)
	if err != nil {
		return fail(stderr, err)
	}
	t.problems = c.selected(t.problems)
	if c.baseline != "" {
		t.problems, err = diagnostic.NotIn(c.baseline, "retrygen", t.problems, func(p policy.Problem) string {
			return p.Diagnostic().Key(t.sources[p.File])
		}, stderr)
		if err != nil {
			return fail(stderr, fmt.Errorf("-baseline: %w", err))
		}
	}
	isMisnamed := printMisnamed(stderr, t.own)
	if err := c.print(t, stdout, stderr); err != nil {
		return fail(stderr, err)
	}
	if t.failed != nil {
		return fail(stderr, fmt.Errorf("not everything was checked:\n%w", t.failed))
	}
	fatal := rules.Error
	if c.strict {
		fatal = rules.Warning
	}
	if isMisnamed || len(policy.AtLeast(fatal, t.problems)) > 0 {
		return cli.Problems
	}
	return cli.OK
}

// validate returns an error for flags that exclude each other and for unknown rules.
func (c *checker) validate() error {
	for _, id := range diagnostic.SplitRules(c.disable) {
		if policy.RuleByID(id) == nil {
			return fmt.Errorf("there is no rule %q: retrygen explain lists them", id)
		}
	}
	if c.json && (c.github || c.sarif == "-") || c.github && c.sarif == "-" {
		return errors.New("-json, -github and -sarif - all write to standard output: use one of them")
	}
	return nil
}

// selected returns the problems that the flags ask for, sorted.
func (c *checker) selected(problems []policy.Problem) []policy.Problem {
	least := rules.Warning
	if c.info {
		least = rules.Info
	}
	disabled := diagnostic.SplitRules(c.disable)
	problems = slices.DeleteFunc(policy.AtLeast(least, problems), func(p policy.Problem) bool {
		return slices.Contains(disabled, p.Rule)
	})
	policy.Sort(problems)
	return problems
}

// print prints the problems in the forms that the flags select, and the summary.
func (c *checker) print(t *tally, stdout, stderr io.Writer) error {
	if c.sarif != "" {
		if err := writeSARIF(c.sarif, stdout, t.problems, t.sources); err != nil {
			return err
		}
	}
	switch {
	case c.json:
		if err := results.WriteJSON(stdout, results.Problems(t.problems)); err != nil {
			return err
		}
	case c.github:
		for _, p := range t.problems {
			p.Diagnostic().Annotate(stdout)
		}
	case c.sarif != "-":
		policy.Print(stdout, t.problems, t.sources, c.color.On(stdout))
	}
	if !c.json && c.sarif != "-" {
		t.summarize(stderr)
	}
	return nil
}

// readFile returns the text of a file, or of standard input for the name -, with
// the name for messages. It is an error if the file is Go code.
func readFile(name string) (title string, text []byte, err error) {
	switch {
	case name == "-":
		text, err = io.ReadAll(os.Stdin)
		return "<standard input>", text, err
	case filepath.Ext(name) == ".go":
		return name, nil, fmt.Errorf(
			"%s is Go code, not a policy file: name a YAML or JSON file, or run retrylint for Go code", name)
	}
	text, err = os.ReadFile(name)
	return name, text, err
}
