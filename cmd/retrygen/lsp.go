package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/retrygen/retrygen/cmd/retrygen/internal/lsp"
	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

func lspCommand() *cli.Command {
	return &cli.Command{
		Name: "lsp", Short: "serve an editor over the Language Server Protocol",
		Long: `
An editor starts it, and they exchange messages over standard input and output. While you
type, it reports the problems of the policy file. After you save, it also reports the
problems that the Go code shows. It completes keys, values, names and Go symbols, describes
what is under the pointer, and shows the worst case above each policy. It also finds
definitions, and corrects misspelled and deprecated words. It checks the files of other
systems as the command check does.`,
		Setup: serveEditor,
	}
}

// serveEditor serves the editor that has started the program.
func serveEditor(*flag.FlagSet) cli.Run {
	return func(args []string, stdout, stderr io.Writer) int {
		if len(args) > 0 {
			return fail(stderr, errors.New("lsp takes no arguments: an editor starts it and writes to its standard input"))
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		config := lsp.Config{Version: cli.Version(), IsOwn: isOwn, Foreign: foreignProblems}
		switch err := lsp.Serve(ctx, config, os.Stdin, stdout); {
		case errors.Is(err, lsp.ErrNoShutdown):
			fail(stderr, err)
			return cli.Problems // the protocol asks for 1
		case err != nil:
			return fail(stderr, err)
		}
		return cli.OK
	}
}

// foreignProblems returns the problems of a file of another system, as the command check
// does for the files of a folder.
func foreignProblems(name string, text []byte) []policy.Problem {
	if !mayHavePolicies(name) || !foreign.MayHavePolicies(text) {
		return nil
	}
	f, problems := foreign.Check(name, text, foreign.Options{})
	if len(f.Policies) == 0 {
		return nil
	}
	return policy.AtLeast(rules.Warning, problems)
}
