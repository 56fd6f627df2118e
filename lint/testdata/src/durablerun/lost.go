package durablerun

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/retrygen/retrygen/lint/testdata/src/durablerun/shop"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/job"
)

func variable(ctx context.Context, c *shop.Client, open func(context.Context) ([]string, error)) error {
	var orders []string
	_, err := durable.Step(ctx, "orders", nil, func(ctx context.Context) (int, error) { // want `a resumed run does not execute this step again, and orders is not set: return it from the step \(RL511\)`
		var err error
		orders, err = open(ctx)
		return len(orders), err
	})
	if err != nil {
		return err
	}
	for _, order := range orders {
		if _, err := c.RetryCharge(ctx, order, shop.Bill{}); err != nil {
			return err
		}
	}
	return nil
}

func field(ctx context.Context, c *shop.Client) error {
	var bill shop.Bill
	if _, err := durable.Step(ctx, "bill", nil, func(ctx context.Context) (int, error) { // want `a resumed run does not execute this step again, and bill is not set: .* \(RL511\)`
		bill.Cents = 100
		return 0, nil
	}); err != nil {
		return err
	}
	_, err := c.RetryCharge(ctx, "1", bill)
	return err
}

func ofRun(ctx context.Context, engine *durable.Engine, c *shop.Client) (string, error) {
	var receipt string
	err := engine.Run(ctx, "1", func(ctx context.Context) (err error) { // want `a finished run is not executed again, and receipt is not set: return it, by durable.Run \(RL511\)`
		receipt, err = c.RetryCharge(ctx, "1", shop.Bill{})
		return err
	})
	if err != nil {
		return "", err
	}
	return receipt, nil
}

func units(ctx context.Context, c *shop.Client, g *job.Group, orders []string) (int, error) {
	var mu sync.Mutex
	cents, receipts := 0, map[string]string{}
	out, err := durable.Group(ctx, g, orders, func(ctx context.Context, order string) (string, error) { // want `a resumed run does not execute finished units again, and cents lacks them: return the result of a unit \(RL511\)`
		receipt, err := c.RetryCharge(ctx, order, shop.Bill{})
		mu.Lock()
		defer mu.Unlock()
		cents += len(receipt)
		return receipt, err
	}, nil)
	if err != nil {
		return 0, err
	}
	_, err = durable.Group(ctx, g, orders, func(ctx context.Context, order string) (string, error) { // want `a resumed run does not execute finished units again, and receipts lacks them: .* \(RL511\)`
		receipt, err := c.RetryCharge(ctx, order, shop.Bill{})
		mu.Lock()
		defer mu.Unlock()
		receipts[order] = receipt
		return receipt, err
	}, nil)
	log.Print(receipts)
	return cents + out.Completed, err
}

// nopeCache asks whether there is an entry.
func nopeCache(ctx context.Context, c *shop.Client, orders []string) error {
	prices := map[string]int{}
	for _, order := range orders {
		if _, err := durable.Step(durable.Scope(ctx, order), "price", nil, func(ctx context.Context) (int, error) {
			prices[order] = len(order)
			return 0, nil
		}); err != nil {
			return err
		}
		if p, ok := prices[order]; ok {
			log.Print(p)
		}
	}
	return nil
}

func nopeReturned(ctx context.Context, open func(context.Context) ([]string, error)) (int, error) {
	var orders []string
	orders, err := durable.Step(ctx, "orders", nil, func(ctx context.Context) (found []string, err error) {
		orders, err = open(ctx)
		return orders, err
	})
	return len(orders), err
}

func nopeError(ctx context.Context, open func(context.Context) error) error {
	var last error
	_, err := durable.Step(ctx, "open", nil, func(ctx context.Context) (int, error) {
		last = open(ctx)
		return 0, last
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

func nopeMissing(ctx context.Context, dial func() (*shop.Client, error)) (err error) {
	var c *shop.Client
	if _, err = durable.Step(ctx, "dial", nil, func(ctx context.Context) (int, error) {
		c, err = dial()
		return 0, err
	}); err != nil {
		return err
	}
	if c == nil {
		if c, err = dial(); err != nil {
			return err
		}
	}
	_, err = c.RetryCharge(ctx, "1", shop.Bill{})
	return err
}

// nopeHandler keeps what a worker has executed.
func nopeHandler(engine *durable.Engine) *[]string {
	var done []string
	durable.Handle(engine, "done", func(ctx context.Context, order string) (int, error) {
		done = append(done, order)
		return 0, nil
	})
	log.Print(done)
	return &done
}

// nopeExecutions counts how often this process executes a step.
func nopeExecutions(ctx context.Context) (int, error) {
	executions := 0
	_, err := durable.Step(ctx, "count", nil, func(ctx context.Context) (int, error) {
		executions++
		return 0, nil
	})
	if err != nil {
		return 0, err
	}
	return executions, nil
}

func nopeInside(ctx context.Context) error {
	n := 0
	_, err := durable.Step(ctx, "count", nil, func(ctx context.Context) (int, error) {
		n++
		log.Print(n)
		return 0, nil
	})
	return err
}

// nopeAsksWhether knows whether the step was executed.
func nopeAsksWhether(ctx context.Context) error {
	attempt, id := 0, ""
	if _, err := durable.Step(ctx, "a", nil, func(ctx context.Context) (int, error) {
		info, _ := durable.Current(ctx)
		attempt, id = info.Attempt, info.Step
		return 0, nil
	}); err != nil {
		return err
	}
	if attempt > 0 {
		log.Print(id)
	}
	return nil
}

// nopeNeverSucceeds executes a run that does not finish.
func nopeNeverSucceeds(ctx context.Context, engine *durable.Engine) error {
	var err error
	if again := engine.Run(ctx, "1", func(ctx context.Context) error {
		err = shop.RetryClose(ctx, "today")
		return errAgain
	}); again != errAgain {
		return again
	}
	return err
}

var errAgain = errors.New("again")
