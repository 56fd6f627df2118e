package durablerun

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/durablerun/shop"
	"github.com/retrygen/retrygen/runtime/durable"
)

func main(engine *durable.Engine, c *shop.Client) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if _, err := c.RetryCharge(ctx, "1", shop.Bill{}); err != nil { // want `RetryCharge needs a run, and this context never has one: .* \(RL509\)`
		log.Print(err)
	}
	if err := shop.Pay(ctx, c, "1", 1); err != nil { // want `Pay needs a run, and this context never has one: .* \(RL509\)`
		log.Print(err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	if _, err := c.RetryPrice(ctx, "1"); err != nil { // want `RetryPrice needs a run, and this context never has one: .* \(RL509\)`
		log.Print(err)
	}
	if err := durable.Sleep(ctx, "a while", time.Second); err != nil { // want `Sleep needs a run, and this context never has one: .* \(RL509\)`
		log.Print(err)
	}
	if err := nopeRun(ctx, engine, c); err != nil {
		log.Print(err)
	}
	if err := nopeAsks(ctx, c); err != nil {
		log.Print(err)
	}
}

func handler(c *shop.Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := c.RetryCharge(r.Context(), r.FormValue("order"), shop.Bill{}); err != nil { // want `RetryCharge needs a run, and this context never has one: .* \(RL509\)`
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

func detached(engine *durable.Engine, c *shop.Client) error {
	return engine.Run(context.Background(), "1", func(ctx context.Context) error {
		_, err := c.RetryCharge(context.Background(), "1", shop.Bill{}) // want `RetryCharge needs a run, and this context never has one: .* \(RL509\)`
		return err
	})
}

func nopeRun(ctx context.Context, engine *durable.Engine, c *shop.Client) error {
	return engine.Run(ctx, "1", func(ctx context.Context) error {
		_, err := c.RetryCharge(context.WithoutCancel(ctx), "1", shop.Bill{})
		return err
	})
}

// nopeAsks calls a step only if there is a run.
func nopeAsks(ctx context.Context, c *shop.Client) error {
	if _, ok := durable.Current(ctx); !ok {
		return nil
	}
	_, err := c.RetryCharge(ctx, "1", shop.Bill{})
	return err
}

func nopeStart(r *http.Request, engine *durable.Engine) error {
	return durable.Start(r.Context(), engine, "copy", "1", "eu")
}

func nopeCaller(ctx context.Context, c *shop.Client) error {
	_, err := c.RetryCharge(ctx, "1", shop.Bill{})
	return err
}

// nopeRequest has the context of a request that the program makes itself.
func nopeRequest(r *http.Request, c *shop.Client) error {
	_, err := c.RetryCharge(r.Context(), "1", shop.Bill{})
	return err
}
