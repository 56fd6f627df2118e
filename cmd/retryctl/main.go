// Retryctl shows and changes what a store of package durable contains: runs, steps,
// dead letters, breakers and budgets.
//
// Usage: see retryctl help. The exit status is 0 for success. It is 1 if the store
// does not have what was asked for, if its state does not allow a change, or if
// retryctl verify finds a problem. It is 2 for a usage error or another failure.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	return program().Run(args, stdout, stderr)
}

// program returns the commands of retryctl.
func program() *cli.Program {
	p := &cli.Program{
		Name:     "retryctl",
		Short:    "Retryctl shows and changes the state of durable retries.",
		Main:     &cli.Command{Short: "print the help text"},
		Commands: commands(),
		Hints: map[string]string{
			"list":    "run retryctl runs, or retryctl dead list",
			"requeue": "run retryctl dead requeue",
			"discard": "run retryctl dead discard",
			"show":    "run retryctl run ID",
			"version": "run retryctl -version",
		},
		More: `
Set the store with the flag -store or the environment variable RETRYCTL_STORE. It has
to exist:

  sqlite:/var/lib/payments/retry.db
  postgres://user@host:5432/database?schema=retry

Exit status: 0 done; 1 not found, not possible in this state, or problems found;
2 usage error, or the command could not run.
Documentation: https://github.com/retrygen/retrygen/tree/main/docs`,
	}
	p.Main.Setup = func(*flag.FlagSet) cli.Run {
		return func(args []string, stdout, stderr io.Writer) int {
			err := errors.New("name a command: retryctl help lists them")
			if len(args) > 0 {
				err = cmp.Or(p.Misspelled(args), fmt.Errorf("there is no command %s: retryctl help lists them", args[0]))
			}
			return cli.Fail(stderr, p.Name, err)
		}
	}
	return p
}

// commands returns the commands in the order of the help text.
func commands() []*cli.Command { return append(runCommands(), storeCommands()...) }

// runCommands returns the commands about runs and steps.
func runCommands() []*cli.Command {
	run, runs, step := completeIDs(false, false), completeIDs(false, true), completeIDs(true, false)
	dead := completeIDs(true, false, storage.StatusDead)
	return []*cli.Command{
		{Name: "runs", Short: "list runs", Long: runsHelp, Setup: listRuns},
		{Name: "run", Args: "RUN", Short: "show a run and its steps", Setup: showRun, Complete: run},
		{
			Name: "step", Args: "RUN STEP", Short: "show a step and every attempt",
			Setup: showStep, Complete: step,
		},
		{
			Name: "tail", Args: "[RUN]", Short: "print changes as they happen",
			Long: tailHelp, Setup: tail, Complete: run,
		},
		{Name: "stats", Short: "count attempts, recoveries and failures", Long: statsHelp, Setup: stats},
		{Name: "dead list", Short: "list dead letters", Long: deadHelp, Setup: deadList},
		{
			Name: "dead show", Args: "RUN STEP", Short: "show a dead letter and every attempt",
			Setup: deadShow, Complete: dead,
		},
		{
			Name: "dead requeue", Args: "[RUN STEP]", Short: "execute dead letters again",
			Long: requeueHelp, Setup: deadRequeue, Complete: dead,
		},
		{
			Name: "dead discard", Args: "[RUN STEP]", Short: "remove dead letters from the list for good",
			Long: discardHelp, Setup: deadDiscard, Complete: dead,
		},
		{
			Name: "pause", Args: "[RUN...]", Short: "stop runs until they are resumed",
			Long: pauseHelp, Setup: pause, Complete: runs,
		},
		{
			Name: "resume", Args: "[RUN...]", Short: "continue paused or failed runs",
			Long: resumeHelp, Setup: resume, Complete: runs,
		},
		{
			Name: "cancel", Args: "[RUN...]", Short: "end runs permanently",
			Long: cancelHelp, Setup: cancel, Complete: runs,
		},
		{
			Name: "resolve", Args: "RUN STEP", Short: "record what is known about a step in doubt",
			Long: resolveHelp, Setup: resolve, Complete: step,
		},
		{
			Name: "signal", Args: "RUN STEP [JSON]", Short: "send a value to a step that waits for it",
			Long: signalHelp, Setup: sendSignal, Complete: step,
		},
	}
}

// storeCommands returns the commands about what runs share, and about the whole store.
func storeCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "breakers", Args: "[BREAKER]", Short: "show the breakers that processes share",
			Setup: breakers,
		},
		{
			Name: "breakers open", Args: "BREAKER", Short: "force a breaker open until it is reset",
			Setup: breakersOpen,
		},
		{Name: "breakers reset", Args: "BREAKER", Short: "close a breaker", Setup: breakersReset},
		{
			Name: "override", Args: "TARGET", Short: "turn retries off, or hold breakers, for some time",
			Long: overrideHelp, Setup: overrideCommand,
		},
		{Name: "overrides", Short: "show the overrides in force", Setup: overrides},
		{Name: "overrides end", Args: "ID", Short: "end an override early", Setup: overridesEnd},
		{Name: "budgets", Short: "show the budgets in the store", Setup: budgets},
		{Name: "budgets reset", Args: "[BUDGET]", Short: "fill a budget", Setup: budgetsReset},
		{
			Name: "accept", Short: "let engines claim runs again after a failover",
			Long: acceptHelp, Setup: accept,
		},
		{Name: "owners", Short: "show the engines that execute runs", Setup: owners},
		{
			Name: "import prodigy", Args: "FILE...", Short: "continue workflows of Prodigy",
			Long: importHelp, Setup: importProdigy, Files: true,
		},
		{Name: "export", Short: "write everything as JSON", Long: exportHelp, Setup: export},
		{Name: "verify", Short: "check the store", Long: verifyHelp, Setup: verify},
		{Name: "vacuum", Short: "delete the results of runs whose retention has passed", Long: vacuumHelp, Setup: vacuum},
		{Name: "serve", Short: "show the store in a browser", Long: serveHelp, Setup: serve},
	}
}
