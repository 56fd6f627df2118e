// Retrylint reports harmful retries in Go code, in retry.Policy literals and in
// policy files.
//
// Usage: see retrylint help. It runs on its own or with go vet -vettool. The exit
// status is 0 if there are no findings, 1 if there are, and 2 for a usage error or
// a package that cannot be loaded.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/diagnostic"
	"github.com/retrygen/retrygen/lint"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if calledByVet(args) {
		runTool(args) // does not return
	}
	return program().Run(args, stdout, stderr)
}

// program returns the commands of retrylint. A package with the name of a
// command is written as ./name.
func program() *cli.Program {
	return &cli.Program{
		Name:  "retrylint",
		Short: "Retrylint reports harmful retries in Go code and in policy files.",
		Main: &cli.Command{
			Args:  "[packages] [policy files]",
			Short: "check packages and policy files",
			Long: `
It checks packages (./... by default) and their tests. Arguments that end in .yaml or
.yml are policy files. It also works as a vet tool:

  go vet -vettool=$(which retrylint) [packages]

A comment on the line of a finding, or on the line before, suppresses it:

  //retrylint:ignore RL101 the reason why the code is right`,
			Setup: lintPackages, Files: true,
		},
		Commands: []*cli.Command{
			{
				Name: "explain", Args: "[rule]", Short: "describe a rule with an example, or list all rules",
				Setup: explain, Words: ruleIDs,
			},
		},
		Hints: map[string]string{
			"check":   "retrylint checks without a command: retrylint ./...",
			"run":     "retrylint checks without a command: retrylint ./...",
			"lint":    "retrylint checks without a command: retrylint ./...",
			"fix":     "run retrylint -fix",
			"rules":   "run retrylint explain",
			"version": "run retrylint -version",
		},
		More: `
Exit status: 0 no findings; 1 findings; 2 usage error, or it could not run.
Documentation: https://github.com/retrygen/retrygen/tree/main/docs`,
	}
}

// lintPackages checks packages and policy files.
func lintPackages(flags *flag.FlagSet) cli.Run {
	config := checkConfig{printer: printer{color: cli.ColorFlag(flags)}}
	var enable string
	cli.FolderFlag(flags)
	flags.StringVar(&config.baseline, "baseline", "",
		"do not report the findings that are listed in `file`; write it if it does not exist")
	flags.TextVar(&config.confidence, "confidence", lint.Library,
		"the weakest evidence to report: `proven`, library or named; named findings may be wrong")
	flags.BoolVar(&config.diff, "diff", false, "write nothing; print a diff of what -fix would change")
	flags.StringVar(&config.disable, "disable", "", "do not report these rules: `RL102,RL103`")
	flags.StringVar(&enable, "enable", "", "report these rules, which are off by default: `RL110,P302`")
	flags.BoolVar(&config.fix, "fix", false,
		"apply the automatic fixes, which change only cancellation, overflows and limits that never apply")
	flags.BoolVar(&config.github, "github", false, "print findings as GitHub annotations")
	flags.BoolVar(&config.json, "json", false, "print findings as a JSON array, for scripts")
	flags.StringVar(&config.sarif, "sarif", "", "also write findings as SARIF to `file`; with -, print only SARIF")
	flags.StringVar(&config.tags, "tags", "", "build `tags`, as for go build")
	flags.BoolVar(&config.tests, "tests", true, "do not check tests")
	flags.BoolVar(&config.verbose, "v", false,
		"print the packages that are analyzed; findings of other packages come from a cache")
	return func(args []string, stdout, stderr io.Writer) int {
		config.args = args
		if err := config.validate(enable); err != nil {
			return fail(stderr, err)
		}
		if err := program().Misspelled(args); err != nil {
			return fail(stderr, err)
		}
		n, err := check(config, stdout, stderr)
		switch {
		case err != nil:
			if left, ok := errors.AsType[*uncompiled](err); ok {
				fmt.Fprintln(stderr, strings.Join(left.lines, "\n"))
			}
			return fail(stderr, err)
		case n > 0:
			return cli.Problems
		}
		return cli.OK
	}
}

// validate returns an error for flags that exclude each other and for unknown
// rules. It stores the rules in enable.
func (c *checkConfig) validate(enable string) error {
	for _, id := range diagnostic.SplitRules(c.disable + "," + enable) {
		if ruleByID(id) == nil {
			return fmt.Errorf("there is no rule %q: retrylint explain lists them", id)
		}
	}
	if c.json && (c.github || c.sarif == "-") || c.github && c.sarif == "-" {
		return errors.New("-json, -github and -sarif - cannot be combined: use one of them")
	}
	c.enabled = diagnostic.SplitRules(enable)
	return nil
}

// fail prints an error and returns cli.Failed.
func fail(stderr io.Writer, err error) int { return cli.Fail(stderr, "retrylint", err) }

// explain is the command explain: it describes a rule, or lists all rules.
func explain(*flag.FlagSet) cli.Run {
	return func(args []string, stdout, stderr io.Writer) int {
		switch len(args) {
		case 0:
			return listRules(stdout, stderr)
		case 1:
			return explainRule(strings.ToUpper(args[0]), stdout, stderr)
		}
		return fail(stderr, errors.New("explain takes one rule: retrylint explain RL101"))
	}
}

func explainRule(id string, stdout, stderr io.Writer) int {
	page := docs.Rule(id)
	if page == "" {
		return fail(stderr, fmt.Errorf("there is no rule %q: retrylint explain lists them", id))
	}
	fmt.Fprint(stdout, page.Text())
	return cli.OK
}

// allRules returns the rules about Go code, and those about policies.
func allRules() []rules.Rule { return slices.Concat(lint.Rules, policy.Rules()) }

// ruleByID returns a rule, or nil.
func ruleByID(id string) *rules.Rule {
	if r := lint.RuleByID(id); r != nil {
		return r
	}
	return policy.RuleByID(id)
}

// severityOf returns the severity of the findings of a rule in Go code.
func severityOf(id string) rules.Severity {
	if r := policy.RuleByID(id); r != nil && lint.RuleByID(id) == nil {
		return r.Severity
	}
	return lint.SeverityOf(id)
}

// listRules prints the id and the title of all rules.
func listRules(stdout, stderr io.Writer) int {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, r := range allRules() {
		title := docs.Rule(r.ID).Title()
		if lint.IsNamed(r.ID) {
			title += " (with -confidence named)"
		} else if severityOf(r.ID) == rules.Info {
			title += " (off by default: -enable " + r.ID + ")"
		}
		fmt.Fprintf(table, "%s\t%s\n", r.ID, title)
	}
	if err := table.Flush(); err != nil {
		return fail(stderr, err)
	}
	return cli.OK
}

// ruleIDs returns the ids of all rules.
func ruleIDs() (ids []string) {
	for _, r := range allRules() {
		ids = append(ids, r.ID)
	}
	return ids
}
