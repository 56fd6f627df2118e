package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
)

// work executes the run. It continues the run of an earlier process that died.
func work(ctx context.Context, out io.Writer, database, url string, orders int) (err error) {
	store, err := sqlite.Open(database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	engine, err := durable.New(store, durable.OnEvent(timeline(out)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	return engine.Run(ctx, "settle", func(ctx context.Context) error {
		return settle(ctx, &Bank{URL: url}, orders)
	})
}

// settle pays the open orders, five at a time.
func settle(ctx context.Context, bank *Bank, n int) error {
	// The list is recorded: another process sees the same orders.
	orders, err := durable.Step(ctx, "orders", nil, func(context.Context) ([]string, error) { return openOrders(n), nil })
	if err != nil {
		return err
	}
	var (
		wg    sync.WaitGroup
		room  = make(chan struct{}, 5)
		mu    sync.Mutex
		total error
	)
	for i, order := range orders {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if _, err := bank.RetryCharge(ctx, order, 100*(i+1)); err != nil {
				mu.Lock()
				defer mu.Unlock()
				total = errors.Join(total, fmt.Errorf("order %s: %w", order, err))
			}
		})
	}
	wg.Wait()
	return total
}

// openOrders returns the ids of n orders.
func openOrders(n int) []string {
	orders := make([]string, n)
	for i := range orders {
		orders[i] = strconv.Itoa(i + 1)
	}
	return orders
}

// timeline returns a function that prints the events of an engine.
func timeline(out io.Writer) func(context.Context, events.Event) {
	var mu sync.Mutex
	return func(_ context.Context, e events.Event) {
		mu.Lock()
		defer mu.Unlock()
		order := "order " + e.Step[strings.LastIndex(e.Step, "/")+1:]
		wait := e.Wait.Round(10 * time.Millisecond)
		switch e.Kind {
		case events.EventRecovered:
			fmt.Fprintf(out, "process %d continues the run\n", e.Fence)
		case events.EventWaiting:
			fmt.Fprintf(out, "resumed: %s, attempt %d, waiting the remaining %v\n", order, e.Attempt, wait)
		case events.EventLost:
			fmt.Fprintf(out, "resumed: %s, attempt %d was lost: trying again in %v\n", order, e.Attempt, wait)
		case events.EventFailed:
			fmt.Fprintf(out, "failed:  %s, attempt %d (%s): trying again in %v\n", order, e.Attempt, e.Class, wait)
		case events.EventExhausted, events.EventDeadLetter, events.EventStoreError:
			fmt.Fprintf(out, "%s: %s: %v\n", e.Kind, order, e.Err)
		case events.EventSucceeded:
			if e.Attempt > 1 {
				fmt.Fprintf(out, "charged: %s, attempt %d\n", order, e.Attempt)
			}
		}
	}
}

// die kills the process at a random time within the given duration, without cleanup.
func die(within time.Duration) {
	time.AfterFunc(rand.N(within), func() {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
	})
}
