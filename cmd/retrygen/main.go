// Retrygen compiles retry policies, written in retry.yaml next to a Go package,
// into typed Go wrappers.
//
// Usage: see retrygen help. The exit status is 0 for success. It is 1 if a policy
// or its package has a problem, or, with -check, if a file would change. It is 2
// for a usage error or another failure.
package main

import (
	"errors"
	"flag"
	"io"
	"os"

	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/schema"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	return program().Run(args, stdout, stderr)
}

// program returns the commands of retrygen. A package with the name of a
// command is written as ./name.
func program() *cli.Program {
	return &cli.Program{
		Name:  "retrygen",
		Short: "Retrygen compiles retry policies into typed Go wrappers.",
		Main: &cli.Command{
			Args:  "[packages]",
			Short: "generate the wrappers of packages",
			Long: `
Without a command, retrygen looks for a retry.yaml in the folder of each package
(./... by default) and writes retry_gen.go next to it. If a policy file or its
package has a problem, retrygen writes nothing there; other packages are not
affected.

The flags -tests and -faults write additional files. Later runs keep such files up to
date without the flags. To stop this, remove the file.`,
			Setup: generate, Files: true,
		},
		Commands: commands(),
		Hints: map[string]string{
			"lint":     "run retrylint",
			"generate": "retrygen generates without a command: retrygen ./...",
			"validate": "run retrygen check",
			"format":   "run retrygen fmt",
			"rules":    "run retrygen explain",
			"test":     "run retrygen -tests, then go test",
			"version":  "run retrygen -version",
		},
		More: `
Exit status: 0 done; 1 problems found; 2 usage error, or it could not run.
Documentation: https://github.com/retrygen/retrygen/tree/main/docs`,
	}
}

// commands returns the commands in the order of the help text.
func commands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "check", Args: "[files, folders or patterns]", Short: "check policy files without any Go code",
			Long: `
In a folder (by default the current one), it checks all files with policies: policy
files, and files of other systems in YAML, JSON, Java properties and Terraform. It
skips files that git ignores and the folders vendor and node_modules. Files without
policies are only counted. In a pattern, ** matches any number of folders.

The file - is standard input: helm template . | retrygen check -

A file is a retrygen policy file if it is named retry.yaml, if it has version: 1
and policies or bind, or if it names the schema in a comment # yaml-language-server.
The kind of any other document is recognized by its content, and problems use the
names of its own fields. -info also lists the settings that are not checked, and
explains why a file cannot be read. retrygen help import lists the kinds.

A comment on the line of a problem, or on the line before, suppresses it:

  # retrygen:ignore P405 the reason why the policy is right`,
			Setup: checkFiles, Files: true,
		},
		{
			Name: "explain", Args: "[rule or policy]", Short: "describe a rule, or the effect of a policy",
			Long: `
For a policy, it prints the settings, the schedule and the worst case, even if another
policy in the file has a problem. For a rule, such as P301, it prints what the rule
reports, with an example. Without an argument, it lists all rules.`,
			Setup: explain, Words: ruleIDs, Complete: policyNames,
		},
		{
			Name: "export", Args: "-to kind [file]", Short: "convert a policy file to the format of another system",
			Long: exportHelp(), Setup: exportFile, Files: true,
		},
		{
			Name: "fmt", Args: "[files or folders]", Short: "rewrite policy files with the canonical spellings",
			Long: `
It prints the result. With -d it prints a diff instead, and with -w it rewrites the
files. The default is the current folder; the file - is standard input.`,
			Setup: formatFiles, Files: true,
		},
		{
			Name: "import", Args: "files", Short: "convert policies of other systems to a policy file",
			Long: importHelp(), Setup: importFiles, Files: true,
		},
		{
			Name: "init", Args: "[folder]", Short: "write a commented retry.yaml to start from",
			Setup: initialize, Files: true,
		},
		{
			Name: "list", Args: "[packages]", Short: "list which functions are bound to which policies, and where",
			Setup: list, Files: true,
		},
		lspCommand(),
		{
			Name: "schema", Args: "[scenario]", Short: "print the JSON Schema of policy files, or of scenarios",
			Setup: printSchema, Words: func() []string { return []string{"scenario"} },
		},
		simulateCommand(),
		uiCommand(),
		{
			Name: "watch", Args: "[packages]", Short: "generate now, and again whenever a file changes",
			Long: `
It watches the policy files, the Go files of their packages and of the packages that
these import from the same module, and go.mod. Stop it with Ctrl-C. If there is no
policy file, it exits at once.`,
			Setup: watch, Files: true,
		},
	}
}

// printSchema prints the JSON Schema of policy files or scenarios.
func printSchema(*flag.FlagSet) cli.Run {
	return func(args []string, stdout, stderr io.Writer) int {
		text := schema.JSON()
		switch {
		case len(args) == 1 && args[0] == "scenario":
			text = schema.ScenarioJSON()
		case len(args) > 0:
			return fail(stderr, errors.New("schema takes no arguments but the word scenario: it prints to standard output"))
		}
		if _, err := stdout.Write(text); err != nil {
			return fail(stderr, err)
		}
		return cli.OK
	}
}

// fail prints an error and returns cli.Failed.
func fail(stderr io.Writer, err error) int { return cli.Fail(stderr, "retrygen", err) }
