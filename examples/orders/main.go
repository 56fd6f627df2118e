// Orders calls an HTTP API that loses responses and then fails completely. With an
// idempotency key, a repeated request creates only one order. While the API is down,
// a fallback returns the orders of earlier calls.
//
//	go generate ./examples/orders && go run ./examples/orders
package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

func main() { run(context.Background(), os.Stdout) }

func run(ctx context.Context, out io.Writer) {
	api := &shop{byKey: map[string]Order{}}
	server := httptest.NewServer(api)
	defer server.Close()
	client := &Client{Base: server.URL, HTTP: server.Client()}
	ctx = retry.WithObserver(ctx, func(_ context.Context, e retry.Event) {
		next := "retrying in " + e.Wait.Round(time.Millisecond).String()
		if e.Kind == retry.EventStop {
			next = "stopping: " + string(e.Reason)
		}
		fmt.Fprintf(out, "  attempt %d: %v, %s (breaker %s)\n", e.Attempt, e.Err, next, e.BreakerState)
	})

	fmt.Fprintln(out, "create an order; the response is lost")
	order, err := client.RetryCreate(ctx, "tea")
	fmt.Fprintf(out, "  order %s of %s, error %v; the shop has %d\n", order.ID, order.Item, err, len(api.orders))

	fmt.Fprintln(out, "create an order without an item")
	_, err = client.RetryCreate(ctx, "")
	fmt.Fprintf(out, "  %v\n", err)

	fmt.Fprintln(out, "read an order, then again while the shop is down")
	for range 3 {
		order, err = client.RetryOrder(ctx, "1")
		fmt.Fprintf(out, "  order %s of %s, stale: %v, error %v\n", order.ID, order.Item, order.Stale, err)
		api.goDown()
	}
	fmt.Fprintf(out, "%d calls reached the shop\n", api.calls)
}
