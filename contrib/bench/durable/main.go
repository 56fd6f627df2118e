// Durable measures durable steps alongside SQLite itself, DBOS and River, and prints the
// tables of the README.
//
//	go run .                                 # on SQLite: 15 minutes
//	go run . -on postgres                    # on a PostgreSQL server that it starts
//	go run . -on postgres://user@host/db     # on this one, in a database of its own
//	go run . -rows step,resume -scale 0.1    # two tables, with a tenth of the work
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		os.Exit(child(os.Args[2], os.Args[3:]))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("durable", flag.ContinueOnError)
	flags.SetOutput(errs)
	rows := flags.String("rows", "", "tables to make, separated by commas (default all)")
	scale := flags.Float64("scale", 1, "multiply the number of operations by this factor")
	rounds := flags.Int("rounds", 5, "measure each contender this many times, and print medians")
	on := flags.String("on", "sqlite", `sqlite; postgres, which starts a server; or the URL of a PostgreSQL server, `+
		"in which the database "+pgDatabase+" is dropped and created")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || flags.NArg() > 0 || *scale <= 0 || *rounds < 1:
		fmt.Fprintln(errs, "durable: want -scale above 0, -rounds above 0, and no arguments: see -help")
		return 2
	}
	tables, pg := sqliteTables(), &server{}
	if *on != "sqlite" {
		tables = postgresTables(pg)
	}
	tables, err := choose(tables, *rows)
	if err != nil {
		fmt.Fprintln(errs, "durable:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	defer pg.close()
	switch *on {
	case "sqlite":
	case "postgres":
		err = pg.start(ctx, "fsync=on")
	default:
		pg.url = *on
	}
	if err != nil {
		fmt.Fprintln(errs, "durable:", err)
		return 1
	}
	for _, t := range tables {
		figures, err := t.measure(ctx, *scale, *rounds)
		if err != nil {
			fmt.Fprintf(errs, "durable: %s: %v\n", t.name, err)
			return 1
		}
		t.print(out, figures)
	}
	return 0
}

// choose returns the tables with these names, separated by commas.
func choose(tables []table, names string) ([]table, error) {
	if names == "" {
		return tables, nil
	}
	var chosen []table
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(tables, func(t table) bool { return t.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no table %q", name)
		}
		chosen = append(chosen, tables[i])
	}
	return chosen, nil
}
