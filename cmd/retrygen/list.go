package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/results"
)

// list is the command list. It prints the bound symbols with their policies, durable steps, wrappers and
// positions, and how many methods of each bound type are retried.
func list(flags *flag.FlagSet) cli.Run {
	config := configFlags(flags)
	config.List = true
	asJSON := flags.Bool("json", false, "print the list as JSON, for scripts")
	return func(args []string, stdout, stderr io.Writer) int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		result, err := generated(ctx, config, args, stderr)
		if err != nil {
			return fail(stderr, err)
		}
		config.printProblems(stderr, result)
		switch {
		case *asJSON:
			err = results.WriteJSON(stdout, boundInJSON(result.Bound))
		case len(result.Bound) > 0 || len(result.Failed) == 0:
			err = printBound(stdout, result.Bound, result.Coverage)
		default:
			printCoverage(stderr, result)
		}
		if !*asJSON {
			summarize(stderr, result.Problems)
		}
		switch {
		case err != nil:
			return fail(stderr, err)
		case len(result.Failed) > 0:
			return cli.Problems
		}
		return cli.OK
	}
}

// printBound prints the list as a table, and then the coverage of each type. The
// column of steps is omitted if there are none.
func printBound(w io.Writer, list []gen.Bound, coverage []gen.Coverage) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	durable := slices.ContainsFunc(list, func(b gen.Bound) bool { return b.Step != "" })
	row := func(symbol, policy, step, wrapper, at, declared string) {
		columns := []string{symbol, policy, step, wrapper, at, declared}
		if !durable {
			columns = slices.Delete(columns, 2, 3)
		}
		fmt.Fprintln(table, strings.Join(columns, "\t"))
	}
	row("SYMBOL", "POLICY", "STEP", "WRAPPER", "BOUND AT", "DECLARED AT")
	for _, b := range list {
		row(cmp.Or(b.Symbol, "-"), cmp.Or(b.Policy, "none"), cmp.Or(b.Step, "-"), b.Wrapper, b.At, cmp.Or(b.Declared, "-"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, c := range coverage {
		fmt.Fprintln(w, c)
	}
	return nil
}

func boundInJSON(list []gen.Bound) any {
	type bound struct {
		Symbol   string `json:"symbol,omitempty"`
		Policy   string `json:"policy,omitempty"`
		Step     string `json:"step,omitempty"`
		Wrapper  string `json:"wrapper"`
		At       string `json:"bound_at"`
		Declared string `json:"declared_at,omitempty"`
	}
	out := make([]bound, 0, len(list))
	for _, b := range list {
		out = append(out, bound(b))
	}
	return out
}
