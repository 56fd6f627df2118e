package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// checkFiles is the command check: it checks policy files, and files of other
// systems, without any Go code.
func checkFiles(flags *flag.FlagSet) cli.Run {
	c := checker{color: cli.ColorFlag(flags)}
	cli.FolderFlag(flags)
	flags.BoolVar(&c.json, "json", false, "print problems as JSON, for scripts")
	flags.StringVar(&c.sarif, "sarif", "", "also write problems as SARIF to `file`; - prints only that")
	flags.BoolVar(&c.strict, "strict", false, "exit with 1 on warnings, too")
	flags.BoolVar(&c.info, "info", false, "report findings that are information only, too")
	return c.run
}

// A checker holds the flags of the command check.
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
	found, sources, err := c.check(args, stderr)
	if err != nil {
		return fail(stderr, err)
	}
	isMisnamed := printMisnamed(stderr, slices.Sorted(maps.Keys(sources)))
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
	if isMisnamed || len(policy.AtLeast(fatal, found)) > 0 {
		return cli.Problems
	}
	return cli.OK
}

// check returns the sorted problems of files and folders, and the text of each
// file.
func (c *checker) check(names []string,
	stderr io.Writer) (found []policy.Problem, sources map[string][]byte, err error) {
	least := rules.Warning
	if c.info {
		least = rules.Info
	}
	progress := cli.NewProgress("retrygen", stderr)
	defer progress.End()
	sources = map[string][]byte{}
	for _, name := range names {
		progress.Step("looking for policy files in " + name)
		files, err := policyFiles(name)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			file, text, err := readFile(file)
			if err != nil {
				return nil, nil, err
			}
			sources[file] = text
			progress.Step("checking " + file)
			found = append(found, policy.AtLeast(least, checkText(file, text))...)
		}
	}
	policy.Sort(found)
	return found, sources, nil
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

// policyFiles returns name itself if it is a file. For a folder, it returns every
// policy file below it: retry.yaml, the misnamed retry.yml, and other YAML files
// that look like policy files. It is an error if there is none.
func policyFiles(name string) (files []string, err error) {
	if name == "-" {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != name &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "vendor" || d.Name() == "node_modules"):
			return fs.SkipDir
		case !d.IsDir() && (d.Name() == gen.SourceName || d.Name() == gen.Misnamed || looksLikePolicy(path)):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no %s in %s: retrygen init writes one, and files of other systems are named one by one",
			gen.SourceName, name)
	}
	return files, err
}

var (
	versionKey  = regexp.MustCompile(`(?m)^version:`)
	policiesKey = regexp.MustCompile(`(?m)^policies:`)
)

// looksLikePolicy reports whether a file is YAML with the keys version and
// policies.
func looksLikePolicy(path string) bool {
	if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && versionKey.Match(text) && policiesKey.Match(text)
}

// A problem is a problem of a policy file, in JSON.
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
