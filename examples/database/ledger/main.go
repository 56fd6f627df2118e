// Ledger writes to one SQLite database from many goroutines at once. Most of their
// calls fail because the database is busy. With the wrappers, every transfer is made
// exactly once.
//
//	go tool retrygen . && go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	retry "github.com/retrygen/retrygen/runtime"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(2)
	}
}

const writers, transfers = 8, 25

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ledger, err := Open(ctx, filepath.Join(dir, "ledger.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	if _, err := ledger.(*sqlLedger).db.ExecContext(ctx,
		`INSERT INTO accounts VALUES ('alice', 1000), ('bob', 0)`); err != nil {
		return err
	}
	var busy, failed atomic.Int64
	ctx = retry.WithObserver(ctx, func(_ context.Context, e retry.Event) {
		if e.Class == "busy" {
			busy.Add(1)
		}
	})
	wrapped := NewRetryLedger(ledger)
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			for range transfers {
				if err := wrapped.Transfer(ctx, "alice", "bob", 1); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	wait.Wait()
	balance, err := wrapped.Balance(ctx, "bob")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d transfers, %d failed, bob has %d\n", writers*transfers, failed.Load(), balance)
	fmt.Fprintf(out, "the database was busy: %v\n", busy.Load() > 0)

	err = wrapped.Transfer(ctx, "bob", "alice", 5000)
	fmt.Fprintf(out, "transfer of more than the balance: %v\n", err)
	return nil
}
