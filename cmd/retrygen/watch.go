package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
)

// watch is the command watch. It generates now and after every change of a file,
// until it is interrupted. A problem does not end it, since the next change may fix
// it.
func watch(flags *flag.FlagSet) cli.Run {
	config := configFlags(flags)
	return func(args []string, stdout, stderr io.Writer) int {
		var err error
		if config.Dir, err = os.Getwd(); err != nil {
			return fail(stderr, err)
		}
		config.Patterns = args
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		w := watcher{config: config, stdout: stdout, stderr: stderr, stop: stop}
		if err := gen.Watch(ctx, config.Config, func() *gen.Result { return w.generate(ctx) }); err != nil {
			return fail(stderr, err)
		}
		return w.status
	}
}

// A watcher holds the state of the command watch.
type watcher struct {
	config         *config
	stdout, stderr io.Writer
	stop           func()
	status         int
	started        bool // it has printed what it watches
	failed         bool // the last run had problems
}

// generate generates once, and prints what changed.
func (w *watcher) generate(ctx context.Context) *gen.Result {
	result, err := generated(ctx, w.config, w.config.Patterns, w.stderr)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		if none := new(gen.NoPolicyError); errors.As(err, &none) && !w.started {
			w.stop() // there is nothing to wait for
			w.status = cli.Failed
		}
		w.failed = true
		fail(w.stderr, err)
		return nil
	}
	idle := result.Policies == 0 && !w.started // there are only outdated outputs to remove
	if !w.started && !idle {
		w.started = true
		fmt.Fprintf(w.stdout, "watching %s and the Go files of their packages; press Ctrl-C to stop\n",
			count(result.Policies, "policy file"))
	}
	w.config.printProblems(w.stderr, result)
	printCoverage(w.stderr, result)
	summarize(w.stderr, result.Problems)
	changed := result.Changed()
	if err := result.Commit(); err != nil {
		fail(w.stderr, err)
		return result
	}
	for _, f := range changed {
		fmt.Fprintln(w.stdout, f.Action(), f.Path)
	}
	if idle {
		w.stop()
		w.status = fail(w.stderr, &gen.NoPolicyError{Patterns: w.config.Patterns, Misnamed: result.Misnamed})
	}
	failed := len(result.Failed) > 0
	if w.failed && !failed {
		fmt.Fprintln(w.stdout, "all problems are fixed")
	}
	w.failed = failed
	return result
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
