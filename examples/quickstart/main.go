// Quickstart calls a local HTTP service that fails on purpose. The calls go through
// the wrappers that retrygen has generated from retry.yaml. The program prints every
// failed attempt and its time.
//
//	go generate ./examples/quickstart && go run ./examples/quickstart
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

//go:generate go run github.com/retrygen/retrygen/cmd/retrygen .

func main() { run(context.Background(), os.Stdout) }

func run(ctx context.Context, out io.Writer) {
	server := httptest.NewServer(newService())
	defer server.Close()
	client := &Client{Base: server.URL, HTTP: server.Client()}

	for _, city := range []string{"Oslo", "Bergen", "Lima", "Quito", "Atlant", "Cairo"} {
		line := timeline(out, "forecast for "+city)
		forecast, err := client.RetryForecast(line.watch(ctx), city)
		if err != nil {
			line.print("failed: %v", err)
			continue
		}
		line.print("done: %d °C", forecast.Celsius)
	}

	line := timeline(out, "journal")
	journal := NewRetryJournal(diskJournal{})
	if err := journal.Append("asked for 6 forecasts"); err != nil {
		line.print("failed: %v", err)
	}
	client.HTTP.Transport.(*http.Transport).CloseIdleConnections()
}

// A line prints the events of one call with the time since its start.
type line struct {
	out   io.Writer
	start time.Time
}

// timeline prints a title and returns a line that starts now.
func timeline(out io.Writer, title string) line {
	fmt.Fprintf(out, "\n%s\n", title)
	return line{out, time.Now()}
}

func (l line) print(format string, args ...any) {
	fmt.Fprintf(l.out, "%8s  %s\n", time.Since(l.start).Round(time.Millisecond), fmt.Sprintf(format, args...))
}

// watch returns a context whose retry events are printed.
func (l line) watch(ctx context.Context) context.Context {
	return retry.WithObserver(ctx, func(_ context.Context, e retry.Event) {
		switch {
		case e.Kind == retry.EventStop:
			l.print("attempt %d failed: %v; stopping: %s", e.Attempt, e.Err, e.Reason)
		default:
			l.print("attempt %d failed: %v; retrying in %v", e.Attempt, e.Err, e.Wait.Round(time.Millisecond))
		}
	})
}
