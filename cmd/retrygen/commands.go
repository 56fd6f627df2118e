package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/schema"
)

// checkFiles checks policy files without any Go code.
func checkFiles(flags *flag.FlagSet) cli.Run {
	c := checker{color: cli.ColorFlag(flags)}
	flags.BoolVar(&c.json, "json", false, "print problems as JSON, for scripts")
	flags.StringVar(&c.sarif, "sarif", "", "also write problems as SARIF to `file`; - prints only that")
	flags.BoolVar(&c.strict, "strict", false, "exit with 1 on warnings, too")
	flags.BoolVar(&c.info, "info", false, "report findings that are information only, too")
	return c.run
}

// A checker is the command check with its flags.
type checker struct {
	json, strict, info bool
	sarif              string
	color              *cli.Color
}

func (c *checker) run(args []string, stdout, stderr io.Writer) int {
	if c.json && c.sarif == "-" {
		return fail(stderr, errors.New("-json and -sarif - both write to standard output: write -sarif FILE"))
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	found, sources, err := c.check(args)
	if err != nil {
		return fail(stderr, err)
	}
	if c.sarif != "" {
		if err := writeSARIF(c.sarif, stdout, found, sources); err != nil {
			return fail(stderr, err)
		}
	}
	switch {
	case c.json:
		if err := writeJSON(stdout, inJSON(found)); err != nil {
			return fail(stderr, err)
		}
	case c.sarif != "-":
		policy.Print(stdout, found, sources, c.color.On(stdout))
		summarize(stderr, found)
	}
	fatal := rules.Error
	if c.strict {
		fatal = rules.Warning
	}
	if len(policy.AtLeast(fatal, found)) > 0 {
		return cli.Problems
	}
	return cli.OK
}

// check returns the problems of files and folders, and the texts of all files.
func (c *checker) check(names []string) (found []policy.Problem, sources map[string][]byte, err error) {
	least := rules.Warning
	if c.info {
		least = rules.Info
	}
	sources = map[string][]byte{}
	for _, name := range names {
		files, err := policyFiles(name)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, nil, err
			}
			sources[file] = text
			_, all := policy.Check(file, text)
			found = append(found, policy.AtLeast(least, all)...)
		}
	}
	policy.Sort(found)
	return found, sources, nil
}

// policyFiles returns the file name, or every policy file below a folder: those
// named retry.yaml, and other YAML files that look like one.
func policyFiles(name string) (files []string, err error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != name && (strings.HasPrefix(d.Name(), ".") || d.Name() == "vendor" || d.Name() == "node_modules"):
			return fs.SkipDir
		case !d.IsDir() && (d.Name() == gen.SourceName || looksLikePolicy(path)):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no %s in %s: retrygen init writes one", gen.SourceName, name)
	}
	return files, err
}

var (
	versionKey  = regexp.MustCompile(`(?m)^version:`)
	policiesKey = regexp.MustCompile(`(?m)^policies:`)
)

// looksLikePolicy reports whether a file is YAML with the two keys that a policy
// file has.
func looksLikePolicy(path string) bool {
	if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && versionKey.Match(text) && policiesKey.Match(text)
}

// A problem is one of a policy file, in JSON.
type problem struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Paste    string `json:"paste,omitempty"`
}

func inJSON(list []policy.Problem) []problem {
	out := make([]problem, 0, len(list))
	for _, p := range list {
		out = append(out, problem{p.File, p.Line, p.Col, p.Rule, p.Severity.String(), p.Text, p.Paste})
	}
	return out
}

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// explain describes a rule, or what a policy means.
func explain(flags *flag.FlagSet) cli.Run {
	e := explainer{color: cli.ColorFlag(flags)}
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

// An explainer is the command explain with its flags.
type explainer struct {
	file  string
	svg   bool
	color *cli.Color
}

// printRules lists the rules about policy files.
func printRules(stdout, stderr io.Writer) int {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, r := range policy.Rules() {
		fmt.Fprintf(table, "%s\t%s\n", r.ID, r.Title)
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

func (e *explainer) explain(name string, stdout, stderr io.Writer) int {
	text, err := os.ReadFile(e.file)
	resolved, all := policy.Check(e.file, text)
	i := -1
	if resolved != nil {
		i = slices.IndexFunc(resolved.Policies, func(p policy.Policy) bool { return p.Name == name })
	}
	// A policy may be named p401.
	rule := policy.RuleByID(strings.ToUpper(name))
	switch {
	case i >= 0:
		if err := e.policy(resolved, &resolved.Policies[i], stdout); err != nil {
			return fail(stderr, err)
		}
		return cli.OK
	case rule != nil:
		fmt.Fprint(stdout, rule.Explain())
		return cli.OK
	case lintRule.MatchString(name):
		return fail(stderr, fmt.Errorf("%s is a rule of retrylint: run retrylint explain %[1]s", strings.ToUpper(name)))
	case err != nil:
		return fail(stderr, err)
	case resolved == nil:
		policy.Print(stderr, policy.AtLeast(rules.Warning, all), map[string][]byte{e.file: text}, e.color.On(stderr))
		return cli.Problems
	}
	var names []string
	for _, p := range resolved.Policies {
		names = append(names, p.Name)
	}
	return fail(stderr, fmt.Errorf("%q is neither a rule nor a policy of %s, which has %s", name, e.file, strings.Join(names, ", ")))
}

// policy describes a policy and its breaker, or draws its schedule.
func (e *explainer) policy(f *policy.File, p *policy.Policy, stdout io.Writer) error {
	if e.svg {
		return p.Picture(stdout)
	}
	p.Explain(stdout, e.file)
	f.ExplainSteps(stdout, p)
	for i := range f.Breakers {
		if b := &f.Breakers[i]; b.Name == p.Breaker {
			fmt.Fprintln(stdout)
			b.Explain(stdout, e.file)
		}
	}
	return nil
}

// lintRule is how the ids of retrylint's rules look, which only it has.
var lintRule = regexp.MustCompile(`^(?i:RL)\d{3}$`)

// starter is what retrygen init writes.
const starter = `# yaml-language-server: $schema=` + schema.ID + `
version: 1

# Classes of errors follow from types and statuses, not from words in a text.
match_text: false

# Settings under every policy. max_attempts counts the first attempt too.
defaults:
  max_attempts: 4
  initial_delay: 200ms # doubled for each retry, up to max_delay
  max_delay: 10s
  jitter: full # spread callers that failed together

policies:
  # Without a binding a policy becomes a generic function: Read(ctx, op).
  read:
    attempt_timeout: 2s
    timeout: 20s
    retry_on: [transient] # network, timeout, server_error, rate_limit

# Go symbols of the package in this folder, as go doc writes them:
# bind:
#   Fetch: read            # a function: RetryFetch
#   Client.Fetch: read     # a method: the method RetryFetch
#   Store:                 # an interface: NewRetryStore(next)
#     policy: read
#     methods: {Close: none}

# Scopes, error classes, breakers, budgets and groups:
# https://github.com/retrygen/retrygen/blob/main/docs/language.md
`

// initialize writes a policy file to start from. It never overwrites one.
func initialize(*flag.FlagSet) cli.Run {
	return func(args []string, stdout, stderr io.Writer) int {
		dir := "."
		switch len(args) {
		case 0:
		case 1:
			dir = args[0]
		default:
			return fail(stderr, errors.New("init takes one folder"))
		}
		name := filepath.Join(dir, gen.SourceName)
		if err := create(name, starter); err != nil {
			return fail(stderr, err)
		}
		get := ""
		if mod, text := upwards(dir, "go.mod"); mod != "" && !required.Match(text) {
			get = "run go get -tool " + module + "/cmd/retrygen, "
		}
		fmt.Fprintf(stdout, "wrote %s. Next: %sadd //go:generate go tool retrygen . to a file of the package, and run go generate.\n", name, get)
		return cli.OK
	}
}

// create writes a new file.
func create(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already and is not overwritten", name)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// printSchema prints the JSON Schema of policy files.
func printSchema(*flag.FlagSet) cli.Run {
	return func(_ []string, stdout, stderr io.Writer) int {
		if _, err := stdout.Write(schema.JSON()); err != nil {
			return fail(stderr, err)
		}
		return cli.OK
	}
}
