// Retrygen compiles retry policies, written in retry.yaml beside a Go package,
// into typed Go wrappers.
//
// Usage: see retrygen help. The exit status is 0 when all is done, 1 when a
// policy or its package has a problem or, with -check, when a file would change, and 2 when
// retrygen was misused or could not do its work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

const usage = `retrygen compiles retry policies into typed Go wrappers.

usage: retrygen [flags] [packages]

It looks for retry.yaml beside the packages (./... if none are named) and
writes retry_gen.go there. A policy file with a problem, or whose package has
one, generates nothing; the others are not held up by it.

flags:
  -check    write nothing; print what would change as a diff, exit 1 if anything would
  -diff     write nothing; print what would change as a diff
  -n        write nothing; name the files that would be written or removed
  -json     print problems and files as JSON
  -C dir    run in dir
  -tags t   build tags, as for go build
  -strict   warnings fail the run
  -version  print the version

other commands, with -C, -tags and -strict too:
  retrygen list [-json] [packages]
                                tell what is bound to which policy, by which wrapper, and where
  retrygen watch [packages]     generate now and whenever a policy file or a Go file changes

other commands:
  retrygen check [-json] [-sarif file] [-strict] [-info] [files or folders]
                                judge policy files alone; -sarif - writes SARIF to standard output
  retrygen explain RULE         tell what a rule says, as P301
  retrygen explain [-f file] POLICY
                                tell what a policy comes to: settings, schedule, worst case
  retrygen fmt [-d] [-w] [files or folders]
                                rewrite policy files to the canonical spellings: printed, as a diff
                                (exit 1 if there is any), or in place; without names, standard input
  retrygen init [folder]        write a retry.yaml to start from
  retrygen schema               print the JSON Schema of policy files

exit status: 0 done, 1 problems found, 2 misused or failed
`

const (
	done     = 0
	problems = 1
	failed   = 2
)

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if c, ok := commands[args[0]]; ok {
			return c(args[1:], stdout, stderr)
		}
		if args[0] == "help" {
			args = []string{"-help"}
		}
	}
	flags := newFlags("retrygen")
	config := configFlags(flags)
	var m mode
	flags.BoolVar(&m.check, "check", false, "")
	flags.BoolVar(&m.diff, "diff", false, "")
	flags.BoolVar(&m.names, "n", false, "")
	flags.BoolVar(&m.json, "json", false, "")
	version := flags.Bool("version", false, "")
	if status, ok := parse(flags, args, stdout, stderr); !ok {
		return status
	}
	if *version {
		fmt.Fprintln(stdout, "retrygen", moduleVersion())
		return done
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return m.run(ctx, config, flags.Args(), stdout, stderr)
}

// newFlags returns a flag set that leaves all printing to us.
func newFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parse parses the flags. ok is false when the run ends there, with status.
func parse(flags *flag.FlagSet, args []string, stdout, stderr io.Writer) (status int, ok bool) {
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return done, false
	case err != nil:
		fmt.Fprintf(stderr, "retrygen: %v: retrygen help lists the flags\n", err)
		return failed, false
	}
	for _, arg := range flags.Args() {
		if len(arg) > 1 && arg[0] == '-' {
			fmt.Fprintf(stderr, "retrygen: %s stands behind %s: flags come first\n", arg, flags.Arg(0))
			return failed, false
		}
	}
	return done, true
}

// fail prints what stopped the run.
func fail(stderr io.Writer, err error) int {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "retrygen: %s\n", strings.TrimSpace(line))
	}
	return failed
}

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
