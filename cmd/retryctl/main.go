// Retryctl shows and changes what a store of package durable contains: runs, steps,
// dead letters, breakers and budgets.
//
// Usage: see retryctl help. The exit status is 0 for success. It is 1 if the store
// does not have what was asked for, if its state does not allow a change, or if
// retryctl verify finds a problem. It is 2 for a usage error or another failure.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/retrygen/retrygen/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	return program().Run(args, stdout, stderr)
}

// program returns the commands of retryctl.
func program() *cli.Program {
	p := &cli.Program{
		Name:  "retryctl",
		Short: "Retryctl shows and changes the state of durable retries.",
		Main:  &cli.Command{Short: "print the help text"},
		Commands: []*cli.Command{
			{
				Name: "runs", Short: "list runs",
				Long: `
Runs are listed by id, a page at a time: the last line of a page that is not the
last one is the command for the next one.`,
				Setup: runs,
			},
			{Name: "version", Short: "print the version", Setup: printVersion},
		},
		More: `
The store is that of -store, or of the environment variable RETRYCTL_STORE. It
is opened only if it exists:

  sqlite:/var/lib/payments/retry.db
  postgres://user@host:5432/database?schema=retry

Exit status: 0 done; 1 not found, not possible in this state, or problems found;
2 usage error or failure.
Documentation: https://github.com/retrygen/retrygen/tree/main/docs`,
	}
	p.Main.Setup = func(*flag.FlagSet) cli.Run {
		return func(args []string, stdout, stderr io.Writer) int {
			if err := p.Misspelled(".", args); err != nil {
				return p.UsageError(stderr, "%v", err)
			}
			if len(args) > 0 {
				return p.UsageError(stderr, "there is no command %s: retryctl help lists them", args[0])
			}
			return p.UsageError(stderr, "name a command: retryctl help lists them")
		}
	}
	return p
}

// printVersion prints the version of the module that this binary was built from.
func printVersion(*flag.FlagSet) cli.Run {
	return func(_ []string, stdout, _ io.Writer) int {
		version := "(devel)"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
			version = info.Main.Version
		}
		fmt.Fprintln(stdout, "retryctl", version)
		return cli.OK
	}
}
