package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
)

// watch generates now and after every change of a file, until it is interrupted.
// A problem does not end it: the next save may fix it.
func watch(flags *flag.FlagSet) cli.Run {
	config := configFlags(flags)
	return func(args []string, stdout, stderr io.Writer) int {
		var err error
		if config.Dir, err = absolute(config.Dir); err != nil {
			return fail(stderr, err)
		}
		config.Patterns = args
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := gen.Watch(ctx, *config, func() *gen.Result { return regenerate(ctx, config, stdout, stderr) }); err != nil {
			return fail(stderr, err)
		}
		return cli.OK
	}
}

// regenerate generates once, and prints what changed.
func regenerate(ctx context.Context, config *gen.Config, stdout, stderr io.Writer) *gen.Result {
	result, err := generated(ctx, config, config.Patterns, stderr)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		fail(stderr, err)
		return nil
	}
	printProblems(stderr, result)
	printCoverage(stderr, result)
	changed := result.Changed()
	if err := result.Commit(); err != nil {
		fail(stderr, err)
		return result
	}
	for _, f := range changed {
		fmt.Fprintln(stdout, f.Action(), f.Path)
	}
	return result
}
