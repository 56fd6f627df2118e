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

// serveEditor is the command lsp.
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
