package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/schema"
)

// A command is a subcommand: its arguments without its name, to a status.
type command func(args []string, stdout, stderr io.Writer) int

// commands are found by the first argument; a package of such a name is
// reached as ./name.
var commands = map[string]command{
	"check": checkFiles, "explain": explain, "fmt": formatFiles, "init": initialise, "list": list, "schema": printSchema, "watch": watch,
}

// checkFiles judges policy files alone, without any Go.
func checkFiles(args []string, stdout, stderr io.Writer) int {
	flags := newFlags("check")
	asJSON := flags.Bool("json", false, "")
	sarifFile := flags.String("sarif", "", "")
	strict := flags.Bool("strict", false, "")
	info := flags.Bool("info", false, "")
	if status, ok := parse(flags, args, stdout, stderr); !ok {
		return status
	}
	if *asJSON && *sarifFile == "-" {
		fmt.Fprintln(stderr, "retrygen: -json and -sarif - both write to standard output: write -sarif FILE")
		return failed
	}
	names := flags.Args()
	if len(names) == 0 {
		names = []string{"."}
	}
	least := rules.Warning
	if *info {
		least = rules.Info
	}
	var found []policy.Problem
	sources := map[string][]byte{}
	for _, name := range names {
		files, err := policyFiles(name)
		if err != nil {
			return fail(stderr, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return fail(stderr, err)
			}
			sources[file] = text
			_, all := policy.Check(file, text)
			found = append(found, policy.AtLeast(least, all)...)
		}
	}
	policy.Sort(found)
	if *sarifFile != "" {
		if err := writeSARIF(*sarifFile, stdout, found, sources); err != nil {
			return fail(stderr, err)
		}
	}
	switch {
	case *asJSON:
		if err := writeJSON(stdout, inJSON(found)); err != nil {
			return fail(stderr, err)
		}
	case *sarifFile != "-":
		policy.Print(stdout, found, sources)
	}
	fatal := rules.Error
	if *strict {
		fatal = rules.Warning
	}
	if len(policy.AtLeast(fatal, found)) > 0 {
		return problems
	}
	return done
}

// policyFiles returns the file name, or every policy file below a folder.
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
		case !d.IsDir() && d.Name() == gen.SourceName:
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no %s in %s: retrygen init writes one", gen.SourceName, name)
	}
	return files, err
}

// A problem is one of a policy file, in JSON.
type problem struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

func inJSON(list []policy.Problem) []problem {
	out := make([]problem, 0, len(list))
	for _, p := range list {
		out = append(out, problem{p.File, p.Line, p.Col, p.Rule, p.Severity.String(), p.Text})
	}
	return out
}

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// explain tells what a rule says, or what a policy comes to.
func explain(args []string, stdout, stderr io.Writer) int {
	flags := newFlags("explain")
	file := flags.String("f", gen.SourceName, "")
	if status, ok := parse(flags, args, stdout, stderr); !ok {
		return status
	}
	if flags.NArg() != 1 {
		fmt.Fprintln(stderr, "retrygen: explain takes the id of a rule or the name of a policy: retrygen explain P301")
		return failed
	}
	name := flags.Arg(0)
	text, err := os.ReadFile(*file)
	resolved, all := policy.Check(*file, text)
	named := func(p policy.Policy) bool { return p.Name == name }
	// A policy may be called p401.
	if r := policy.RuleByID(strings.ToUpper(name)); r != nil && (resolved == nil || !slices.ContainsFunc(resolved.Policies, named)) {
		fmt.Fprint(stdout, r.Explain())
		return done
	}
	if lintRule.MatchString(name) && (resolved == nil || !slices.ContainsFunc(resolved.Policies, named)) {
		fmt.Fprintf(stderr, "retrygen: %s is a rule of retrylint: retrylint -explain %[1]s tells it\n", strings.ToUpper(name))
		return failed
	}
	if err != nil {
		return fail(stderr, err)
	}
	if resolved == nil {
		policy.Print(stderr, policy.AtLeast(rules.Warning, all), map[string][]byte{*file: text})
		return problems
	}
	i := slices.IndexFunc(resolved.Policies, named)
	if i < 0 {
		var names []string
		for _, p := range resolved.Policies {
			names = append(names, p.Name)
		}
		fmt.Fprintf(stderr, "retrygen: %q is neither a rule nor a policy of %s, which has %s\n", name, *file, strings.Join(names, ", "))
		return failed
	}
	p := &resolved.Policies[i]
	p.Explain(stdout, *file)
	for j := range resolved.Breakers {
		if b := &resolved.Breakers[j]; b.Name == p.Breaker {
			fmt.Fprintln(stdout)
			b.Explain(stdout, *file)
		}
	}
	return done
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

# Go symbols of the package beside this file, as go doc writes them:
# bind:
#   Fetch: read            # a function: RetryFetch
#   Client.Fetch: read     # a method: the method RetryFetch
#   Store:                 # an interface: NewRetryStore(next)
#     policy: read
#     methods: {Close: none}

# Scopes, error classes, breakers, budgets and groups:
# https://github.com/retrygen/retrygen/blob/main/docs/language.md
`

// initialise writes a policy file to start from, never over another.
func initialise(args []string, stdout, stderr io.Writer) int {
	flags := newFlags("init")
	if status, ok := parse(flags, args, stdout, stderr); !ok {
		return status
	}
	dir := "."
	switch flags.NArg() {
	case 0:
	case 1:
		dir = flags.Arg(0)
	default:
		fmt.Fprintln(stderr, "retrygen: init takes one folder")
		return failed
	}
	name := filepath.Join(dir, gen.SourceName)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s exists already: it is left as it is", name)
		}
		return fail(stderr, err)
	}
	_, err = f.WriteString(starter)
	if err = errors.Join(err, f.Close()); err != nil {
		return fail(stderr, err)
	}
	get := ""
	if mod, text := upwards(dir, "go.mod"); mod != "" && !required.Match(text) {
		get = "run go get -tool " + module + "/cmd/retrygen, "
	}
	fmt.Fprintf(stdout, "%s is written. Next: %sput //go:generate go tool retrygen . into a file of the package, and run go generate.\n", name, get)
	return done
}

// printSchema prints the JSON Schema of policy files.
func printSchema(args []string, stdout, stderr io.Writer) int {
	flags := newFlags("schema")
	if status, ok := parse(flags, args, stdout, stderr); !ok {
		return status
	}
	if _, err := stdout.Write(schema.JSON()); err != nil {
		return fail(stderr, err)
	}
	return done
}
