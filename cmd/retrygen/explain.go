package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/retrygen/retrygen/docs"
	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/results"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// explain is the command explain: it describes a rule, or a resolved policy.
func explain(flags *flag.FlagSet) cli.Run {
	e := explainer{color: cli.ColorFlag(flags)}
	cli.FolderFlag(flags)
	flags.StringVar(&e.file, "f", gen.SourceName, "the policy `file` of the policy")
	flags.BoolVar(&e.svg, "svg", false, "draw the schedule of the policy as an SVG image")
	return func(args []string, stdout, stderr io.Writer) int {
		switch len(args) {
		case 0:
			return printRules(stdout, stderr)
		case 1:
			return e.explain(args[0], stdout, stderr)
		}
		return fail(stderr, errors.New("explain takes one rule or policy: retrygen explain P301"))
	}
}

// An explainer holds the flags of the command explain.
type explainer struct {
	file  string
	svg   bool
	color *cli.Color
}

// printRules lists the rules about policy files.
func printRules(stdout, stderr io.Writer) int {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, r := range policy.Rules() {
		fmt.Fprintf(table, "%s\t%s\n", r.ID, docs.Rule(r.ID).Title())
	}
	if err := table.Flush(); err != nil {
		return fail(stderr, err)
	}
	return cli.OK
}

// ruleIDs returns the ids of the rules about policy files.
func ruleIDs() (ids []string) {
	for _, r := range policy.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

// policyNames returns the policies of the file of the flag -f, for completion.
func policyNames(flags *flag.FlagSet, args []string, _ string) (names []string) {
	text, err := os.ReadFile(flags.Lookup("f").Value.String())
	if err != nil || len(args) > 0 {
		return nil
	}
	if file, _, _ := policy.Read("", text); file != nil {
		for _, p := range file.Policies {
			names = append(names, p.Name)
		}
	}
	return names
}

func (e *explainer) explain(name string, stdout, stderr io.Writer) int {
	var text []byte
	var err error
	e.file, text, err = readFile(e.file)
	var file *policy.File
	var found []policy.Problem
	if err == nil {
		file, found, _ = policy.Read(e.file, text)
		found = policy.AtLeast(rules.Error, found)
	}
	// A policy may have the name of a rule, such as p401, and then takes precedence.
	rule := policy.RuleByID(strings.ToUpper(name))
	p := file.Policy(name)
	switch {
	case p != nil && !p.Broken:
		if e.svg {
			if err := p.Picture(stdout); err != nil {
				return fail(stderr, err)
			}
		} else {
			results.Explain(stdout, file, p, runtime.GOMAXPROCS(0))
		}
		if len(found) > 0 {
			fmt.Fprintf(stderr, "retrygen: warning: %s has %s: run retrygen check %[1]s\n", e.file, policy.Summary(found))
		}
		return cli.OK
	case p == nil && rule != nil:
		fmt.Fprint(stdout, docs.Rule(rule.ID).Text())
		return cli.OK
	case p == nil && lintRule.MatchString(name):
		return fail(stderr, fmt.Errorf("%s is a rule of retrylint: run retrylint explain %[1]s", strings.ToUpper(name)))
	case err != nil:
		return fail(stderr, unread(e.file, name, err))
	case p == nil && file != nil && len(file.Policies) > 0:
		return fail(stderr, results.UnknownPolicy(name, "neither a rule nor a policy", file))
	}
	policy.Print(stderr, found, map[string][]byte{e.file: text}, e.color.On(stderr))
	summarize(stderr, found)
	return cli.Problems
}

// unread returns the error for a policy whose file cannot be read.
func unread(file, policy string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	hint := fmt.Sprintf("write retrygen explain -f FILE %s", policy)
	if other := misnamed(filepath.Dir(file)); other != "" {
		hint = "rename " + other + " to " + gen.SourceName
	}
	return fmt.Errorf("%q is not a rule, and there is no %s that may have a policy of that name: %s", policy, file, hint)
}

// lintRule matches the ids of the rules of retrylint, which retrygen cannot
// describe.
var lintRule = regexp.MustCompile(`^(?i:RL)\d{3}$`)
