package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/retrygen/retrygen/gen"
)

// watch generates now and whenever a file changes, until it is interrupted. A
// problem does not end it: the next save may mend it.
func watch(args []string, stdout, stderr io.Writer) int {
	flags := newFlags("watch")
	config := configFlags(flags)
	if status, ok := parse(flags, args, stdout, stderr); !ok {
		return status
	}
	var err error
	if config.Dir, err = filepath.Abs(config.Dir); err != nil {
		return fail(stderr, err)
	}
	config.Patterns = flags.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err = gen.Watch(ctx, *config, func() *gen.Result {
		result, err := generate(ctx, config, config.Patterns, stderr)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			fail(stderr, err)
			return nil
		}
		printProblems(stderr, result)
		changed := result.Changed()
		if err := result.Commit(); err != nil {
			fail(stderr, err)
			return result
		}
		for _, f := range changed {
			fmt.Fprintln(stdout, f.Action(), f.Path)
		}
		return result
	})
	if err != nil {
		return fail(stderr, err)
	}
	return done
}
