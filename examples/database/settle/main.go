// Settle pays 50 orders at a bank that fails on purpose. It runs the payments in a
// worker process, which kills itself at random times, and restarts the worker until
// all orders are paid. At the end it verifies that every order was charged once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("settle", flag.ContinueOnError)
	flags.SetOutput(stderr)
	orders := flags.Int("orders", 50, "number of orders")
	kills := flags.Int("kills", 10, "number of times that the process kills itself")
	within := flags.Duration("within", time.Second, "time within which a worker kills itself")
	database := flags.String("database", "", "database file (for the program itself)")
	worker := flags.String("worker", "", "URL of the bank: execute the run (for the program itself)")
	mustDie := flags.Bool("die", false, "kill the process at a random time (for the program itself)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *worker != "":
		if *mustDie {
			die(*within)
		}
		err = work(ctx, stdout, *database, *worker, *orders)
	default:
		err = supervise(ctx, stdout, stderr, *orders, *kills, *within)
	}
	if err != nil {
		fmt.Fprintln(stderr, "settle:", err)
		return 1
	}
	return 0
}

// supervise starts workers until one has paid all orders.
func supervise(
	ctx context.Context, stdout, stderr io.Writer, orders, kills int, within time.Duration,
) error {
	dir, err := os.MkdirTemp("", "settle")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	database := filepath.Join(dir, "settle.db")
	bank := newService()
	defer bank.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	killed := 0
	for {
		args := []string{
			"-worker", bank.URL, "-database", database, "-orders", fmt.Sprint(orders), "-within", within.String(),
		}
		dying := killed < kills
		if dying {
			args = append(args, "-die")
		}
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Stdout, cmd.Stderr = stdout, stderr
		err := cmd.Run()
		if _, ok := errors.AsType[*exec.ExitError](err); ok && dying && ctx.Err() == nil {
			killed++
			fmt.Fprintf(stdout, "--- the process was killed (%d)\n", killed)
			continue
		}
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case err != nil:
			return fmt.Errorf("the worker: %w", err)
		}
		break
	}
	if err := bank.verify(orders); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "done: %d orders, each charged once; %d processes were killed, %d answers lost,\n"+
		"%d repeated requests recognized by their key\n", orders, killed, bank.lost, bank.repeated)
	return nil
}
