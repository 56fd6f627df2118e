package durablerun

import (
	"context"
	"log"
	"sync"

	"github.com/retrygen/retrygen/lint/testdata/src/durablerun/shop"
	"github.com/retrygen/retrygen/runtime/durable"
)

func goroutine(ctx context.Context, engine *durable.Engine, c *shop.Client) error {
	return engine.Run(ctx, "1", func(ctx context.Context) error {
		go func() { // want `nothing waits for this goroutine: when the run has returned, RetryClose fails with durable.ErrNoRun \(RL512\)`
			if err := shop.RetryClose(ctx, "today"); err != nil {
				log.Print(err)
			}
		}()
		go c.RetryShip(ctx, "1", 1, nil) // want `nothing waits for this goroutine: when the run has returned, RetryShip fails with durable.ErrNoRun \(RL512\)`
		go tell(ctx, c)                  // want `nothing waits for this goroutine: .* \(RL512\)`
		_, err := c.RetryCharge(ctx, "1", shop.Bill{})
		return err
	})
}

func tell(ctx context.Context, c *shop.Client) {
	if err := shop.Pay(ctx, c, "1", 1); err != nil {
		log.Print(err)
	}
}

func nopeGroup(ctx context.Context, c *shop.Client, orders []string) error {
	var wg sync.WaitGroup
	for _, order := range orders {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := c.RetryCharge(ctx, order, shop.Bill{}); err != nil {
				log.Print(err)
			}
		}()
	}
	wg.Wait()
	return nil
}

func nopeChannel(ctx context.Context, c *shop.Client) error {
	done := make(chan error, 1)
	go func() { done <- shop.RetryClose(ctx, "today") }()
	return <-done
}

func nopeWaits(ctx context.Context, c *shop.Client) error {
	go tell(ctx, c)
	<-ctx.Done()
	return ctx.Err()
}

func nopeOwnRun(ctx context.Context, engine *durable.Engine, c *shop.Client) {
	go func() {
		err := engine.Run(ctx, "1", func(ctx context.Context) error { return shop.RetryClose(ctx, "today") })
		if err != nil {
			log.Print(err)
		}
	}()
}
